// SPDX-License-Identifier: GPL-2.0-or-later
//! What code is called, whatever its layout: see [`kernsmith_trace::Block::name`].
//!
//! A function's number is made of its name and, where only its own file knows it, of the file's
//! name; of several with the same ones, of which it is in the table of symbols, whose order no order
//! of functions changes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use kernsmith_frontend::CpuModel;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, FileKind, SectionIndex};

use crate::options::Options;

/// Functions begin at multiples of this, as compilers have them.
const ALIGN: u64 = 16;

/// Code of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    /// What is at `start` is called this.
    name: u32,
}

/// The functions of a kernel or program, by address.
#[derive(Debug, Clone, Default)]
pub struct Names(Vec<Function>);

impl Names {
    /// Those of the image, where anybody looks at them: a trace or the model.
    ///
    /// # Errors
    ///
    /// As of [`Self::of_file`].
    pub fn asked(options: &Options, model: &CpuModel) -> Result<Self, String> {
        let predicts = model.decoupled.as_ref().map(|one| &one.predictor);
        let by_function = predicts.is_some_and(|predictor| predictor.by_function);
        match &options.image {
            Some(image) if by_function || options.trace.is_some() => Self::of_file(image),
            _ => Ok(Self::default()),
        }
    }

    /// All functions in an ELF file's table of symbols; of a stripped one, or of an image of another
    /// format, none.
    ///
    /// # Errors
    ///
    /// One sentence when it cannot be read, or is damaged.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let told = |reason: String| format!("image {}: {reason}", path.display());
        let file = File::open(path).map_err(|error| told(error.to_string()))?;
        let file = ReadCache::new(file);
        let functions = match FileKind::parse(&file) {
            Ok(FileKind::Elf64) => functions_of::<FileHeader64<Endianness>>(&file),
            Ok(FileKind::Elf32) => functions_of::<FileHeader32<Endianness>>(&file),
            _ => Ok(Vec::new()),
        };
        let functions = functions.map_err(|error| told(error.to_string()))?;
        Ok(Self::new(functions))
    }

    /// What begins inside of another one is its part; of several at one place, the longest counts.
    fn new(mut functions: Vec<Function>) -> Self {
        functions.sort_by_key(|one| (one.start, Reverse(one.end), one.name));
        let mut reached = 0;
        functions.retain_mut(|one| {
            let ahead = reached.max(one.start) - one.start;
            one.start += ahead;
            one.name = one.name.wrapping_add(ahead as u32);
            let more = one.end > reached;
            reached = reached.max(one.end);
            more
        });
        Self(functions)
    }

    /// What is at an address is called.
    #[must_use]
    pub fn of(&self, address: u64) -> u32 {
        let behind = self.0.partition_point(|one| one.start <= address);
        let last = behind.checked_sub(1).map(|place| self.0[place]);
        match last.filter(|one| address < one.end) {
            Some(function) => function
                .name
                .wrapping_add((address - function.start) as u32),
            None => address as u32,
        }
    }
}

/// All symbols of code, as they stand in the table. Strings are read at once: a kernel has some
/// hundred thousand.
fn functions_of<Elf: FileHeader<Endian = Endianness>>(
    file: &ReadCache<File>,
) -> object::Result<Vec<Function>> {
    let header = Elf::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let table = sections.symbols(endian, file, elf::SHT_SYMTAB)?;
    let strings = match table.string_section() {
        SectionIndex(0) => &[],
        section => sections.section(section)?.data(endian, file)?,
    };
    let name_at = |offset: u32| {
        let name = strings.get(offset as usize..).unwrap_or_default();
        name.split(|byte| *byte == 0).next().unwrap_or_default()
    };
    let is_code = |index, symbol| -> object::Result<bool> {
        let Some(section) = table.symbol_section(endian, symbol, index)? else {
            return Ok(false);
        };
        let flags = sections.section(section)?.sh_flags(endian);
        Ok(flags.contains(elf::SHF_EXECINSTR))
    };
    let mut functions = Vec::new();
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut file_name: &[u8] = &[];
    for (index, symbol) in table.enumerate() {
        let name = name_at(symbol.st_name(endian));
        if symbol.st_type() == elf::STT_FILE {
            file_name = name;
            continue;
        }
        let (start, size) = (
            symbol.st_value(endian).into(),
            symbol.st_size(endian).into(),
        );
        if size == 0 || !is_code(index, symbol)? {
            continue;
        }
        let of_file = if symbol.is_local() { file_name } else { &[] };
        let alike = digest(digest(SEED, of_file), name);
        let number = seen.entry(alike).or_insert(0);
        let name = digest(alike, &number.to_le_bytes());
        *number += 1;
        functions.push(Function {
            start,
            end: start.saturating_add(size),
            name: ((name >> 32 ^ name) & !(ALIGN - 1)) as u32,
        });
    }
    Ok(functions)
}

/// FNV-1a, 64 bits, to go on with; and its beginning.
fn digest(hash: u64, bytes: &[u8]) -> u64 {
    let ended = bytes.iter().chain(&[0]);
    ended.fold(hash, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn function(start: u64, end: u64, name: u32) -> Function {
        Function { start, end, name }
    }

    #[test]
    fn a_place_has_the_name_of_its_function_and_how_far_it_is_in_it() {
        let names = Names::new(vec![function(200, 232, 64), function(100, 150, 4096)]);
        let of = |address| names.of(address);
        assert_eq!([100, 149, 150, 199].map(of), [4096, 4145, 150, 199]);
        assert_eq!([200, 231, 232, 1 << 40].map(of), [64, 95, 232, 0]);
    }

    /// This test's own program.
    fn program() -> Vec<u8> {
        std::fs::read(std::env::current_exe().expect("it runs")).expect("it is there")
    }

    fn names_in(content: &[u8], name: &str) -> Result<Names, String> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::write(&path, content).expect("a temporary file");
        let names = Names::of_file(&path);
        std::fs::remove_file(path).expect("it can be removed");
        names
    }

    #[test]
    fn the_functions_of_a_program_have_different_names() {
        let names = names_in(&program(), "names-whole").expect("an ELF file");
        assert!(names.0.len() > 1000);
        let different: HashSet<u32> = names.0.iter().map(|one| one.name).collect();
        assert!(different.len() + 5 > names.0.len(), "hardly any by chance");
        assert!(names.0.is_sorted_by_key(|one| one.start));
        let nothing = names_in(b"MZ, and no ELF at all", "names-other").expect("another format");
        assert!(nothing.0.is_empty());
    }

    #[test]
    fn damaged_programs_are_told_or_read() {
        let whole = program();
        for number in 0..24_usize {
            let mut damaged = whole.clone();
            match number % 4 {
                0 => damaged.truncate(whole.len() * number / 24),
                _ => {
                    // Headers at the front and at the end, and what lies between.
                    for place in 0..32 {
                        let at = number * 7919 + place * 104_729;
                        let at = if place < 8 { at % 64 } else { at % whole.len() };
                        damaged[at.max(6)] ^= 1 << (number % 8);
                    }
                }
            }
            if let Err(message) = names_in(&damaged, "names-damaged") {
                assert!(message.starts_with("image /"), "{message}");
            }
        }
    }

    #[test]
    fn what_begins_in_another_function_is_its_part() {
        let inner = function(110, 120, 1 << 20);
        let reaching_out = function(140, 160, 1 << 24);
        let alias = function(100, 130, 1 << 28);
        let names = Names::new(vec![inner, reaching_out, alias, function(100, 150, 4096)]);
        let of = |address| names.of(address);
        assert_eq!([100, 115, 149].map(of), [4096, 4111, 4145]);
        assert_eq!([150, 159].map(of), [(1 << 24) + 10, (1 << 24) + 19]);
    }
}
