// SPDX-License-Identifier: GPL-2.0-or-later
//! A kernel's `vmlinux`: which code it has, at which addresses it was linked.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use object::read::{ReadCache, ReadRef};
use object::{Architecture, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionIndex, elf};

use crate::code::Code;
use crate::perf;

/// Symbols of which perf tells where they are while the kernel runs.
const MARKS: [&str; 2] = ["_text", "_stext"];

/// Where the table of static keys begins and ends (`include/asm-generic/vmlinux.lds.h`).
const STATIC_KEYS: [&str; 2] = ["__start___jump_table", "__stop___jump_table"];

/// What is read of a `vmlinux`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    pub code: Code,
    /// Hexadecimal; empty when it has none.
    pub build_id: String,
    /// Whether it says from which lines its code was made.
    pub has_lines: bool,
    /// Addresses of the jumps and nops of static keys, which the kernel patches while it runs.
    pub static_keys: Vec<u64>,
    /// Addresses of the symbols that perf tells the place of.
    pub marks: HashMap<String, u64>,
}

impl Image {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One sentence with the file and the reason.
    pub fn load(path: &Path) -> Result<Self, String> {
        let of_file = |reason: String| format!("{} {reason}", path.display());
        let file = File::open(path);
        let file = file.map_err(|error| of_file(format!("cannot be read: {error}")))?;
        Self::read(&ReadCache::new(file)).map_err(of_file)
    }

    /// Reads an image.
    ///
    /// # Errors
    ///
    /// Why it is none: a sentence without its subject.
    pub fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Self, String> {
        let no_image = |error| format!("is no vmlinux ({error})");
        let file = object::File::parse(data).map_err(no_image)?;
        if file.architecture() != Architecture::X86_64 || !file.is_64() {
            return Err("is not for x86-64, the only architecture that is read".to_owned());
        }
        let mut symbols: HashMap<SectionIndex, Vec<u64>> = HashMap::new();
        let mut marks = HashMap::new();
        for symbol in file.symbols() {
            if let Some(section) = symbol.section_index() {
                symbols.entry(section).or_default().push(symbol.address());
            }
            let mut names = MARKS.iter().chain(&STATIC_KEYS);
            if let Some(name) = names.find(|name| symbol.name() == Ok(**name)) {
                marks.insert((*name).to_owned(), symbol.address());
            }
        }
        if symbols.is_empty() {
            return Err("has no symbols: the vmlinux of the build is needed".to_owned());
        }
        let build_id = file.build_id().map_err(no_image)?.unwrap_or_default();
        let build_id = perf::hexadecimal(build_id).unwrap_or_default();
        Ok(Self {
            code: read_code(&file, symbols)?,
            build_id,
            static_keys: read_static_keys(&file, &marks),
            has_lines: file.section_by_name(".debug_line").is_some(),
            marks,
        })
    }

    /// The address that a symbol was linked at: one of those that perf tells.
    #[must_use]
    pub fn mark(&self, name: &str) -> Option<u64> {
        self.marks.get(name).copied()
    }
}

fn read_code<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    mut symbols: HashMap<SectionIndex, Vec<u64>>,
) -> Result<Code, String> {
    let executable = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => false,
    };
    let sections: Vec<_> = file
        .sections()
        .filter(|section| executable(section.flags()) && section.size() > 0)
        .collect();
    let start = sections.iter().map(ObjectSection::address).min();
    let ends = sections.iter().map(|s| s.address().checked_add(s.size()));
    let end = ends.max().flatten();
    let mut code = Code::new(start.unwrap_or_default(), end.unwrap_or_default())?;
    for section in sections {
        let bytes = section.data().map_err(|error| {
            let name = section.name().unwrap_or_default();
            format!("has a section {name} that is corrupt ({error})")
        })?;
        let mut within = symbols.remove(&section.index()).unwrap_or_default();
        within.sort_unstable();
        within.dedup();
        code.disassemble(section.address(), bytes, &within);
    }
    Ok(code)
}

/// The places in the table: `struct jump_entry` of `include/linux/jump_label.h`, which begins with
/// the distance from itself to the place, since Linux 4.19.
fn read_static_keys<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    marks: &HashMap<String, u64>,
) -> Vec<u64> {
    const ENTRY: usize = 16;
    let [Some(start), Some(stop)] = STATIC_KEYS.map(|name| marks.get(name).copied()) else {
        return Vec::new();
    };
    let bytes = stop.saturating_sub(start);
    let table = file
        .sections()
        .find_map(|section| section.data_range(start, bytes).ok().flatten());
    let entries = table.unwrap_or_default().chunks_exact(ENTRY);
    let places = (start..).step_by(ENTRY).zip(entries);
    places
        .filter_map(|(at, entry)| {
            let distance = i32::from_le_bytes(*entry.first_chunk()?);
            Some(at.wrapping_add_signed(distance.into()))
        })
        .collect()
}
