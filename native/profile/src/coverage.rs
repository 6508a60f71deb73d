// SPDX-License-Identifier: GPL-2.0-or-later
//! How often each line of the source was executed: counts by address, told by line tables.
//!
//! A function may be inlined at many places, and its code is there each time: an *instance* is one
//! of them, or its code out of line. Within an instance a line was executed as often as that
//! instruction of it that was executed most; over instances the figures are added up. Code that was
//! copied within an instance (an unrolled loop) therefore counts as its most executed copy.

mod collect;
mod executed;
mod instances;
mod names;
mod symbols;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use gimli::{Dwarf, DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::read::{ReadCache, ReadRef};
use object::{Object, ObjectSection, SectionFlags, elf};

use crate::Image;
use collect::Collector;
use executed::Executed;
use instances::Instances;
use names::Names;
use symbols::Symbols;

/// No file, function or instance.
pub const NONE: u32 = u32::MAX;

pub(crate) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// A line of which there is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub file: u32,
    pub line: u32,
    /// How often it was executed.
    pub count: u64,
    /// Instructions of it that were executed, each as often as it was.
    pub executed: u64,
    /// The function that it is in: where there are several, the one that ran most.
    pub function: u32,
}

/// A function of the source; where there are no line tables, a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Where it is declared; `NONE` for a symbol.
    pub file: u32,
    pub line: u32,
    /// How often the first instruction of its instances was executed.
    pub entered: u64,
    pub executed: u64,
}

/// Code of a function: out of line, or inlined at a line of another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    pub function: u32,
    /// Whose code it is part of; `NONE` out of line.
    pub parent: u32,
    pub call_line: u32,
}

/// Executed instructions of a line of an instance. line: 0 where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub instance: u32,
    pub line: u32,
    pub executed: u64,
}

/// What counts say of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// As the line tables name them, without `.` and `..`.
    pub files: Vec<String>,
    /// By file and line; of files of which something ran.
    pub lines: Vec<Line>,
    pub functions: Vec<Function>,
    /// Those of the samples, and those that these are inlined in.
    pub instances: Vec<Instance>,
    pub samples: Vec<Sample>,
    /// All instructions that were executed.
    pub executed: u64,
    pub build_id: String,
}

/// Stretches of code with the function of the source that each is of, inlined ones too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    pub names: Vec<String>,
    /// A function, inlined in another frame or in none: the place of that one, which comes before
    /// it, or `NONE`; place in `names`. Each once.
    pub frames: Vec<(u32, u32)>,
    /// First address, address behind the last, place in `frames`; by address.
    pub spans: Vec<(u64, u64, u32)>,
}

/// Counts of a file's code by its source.
///
/// ranges: first byte, address of the last instruction, executions.
///
/// # Errors
///
/// One sentence with the file and the reason.
pub fn cover(path: &Path, ranges: &[(u64, u64, u64)]) -> Result<Coverage, String> {
    let of_file = |reason: String| format!("{} {reason}", path.display());
    let file = File::open(path);
    let file = file.map_err(|error| of_file(format!("cannot be read: {error}")))?;
    cover_from(&ReadCache::new(file), ranges).map_err(of_file)
}

/// Which code is of which function of the source.
///
/// # Errors
///
/// One sentence with the file and the reason.
pub fn functions(path: &Path) -> Result<Functions, String> {
    let of_file = |reason: String| format!("{} {reason}", path.display());
    let file = File::open(path);
    let file = file.map_err(|error| of_file(format!("cannot be read: {error}")))?;
    functions_from(&ReadCache::new(file)).map_err(of_file)
}

/// The same of an image.
///
/// # Errors
///
/// Why it does not tell: a sentence without its subject.
pub fn functions_from<'data, R: ReadRef<'data>>(data: R) -> Result<Functions, String> {
    let file = object::File::parse(data).map_err(|error| format!("is no vmlinux ({error})"))?;
    let mut found = Functions::default();
    with_debug(&file, |dwarf| {
        let mut names = Names::read(dwarf)?;
        let mut known = HashMap::new();
        for unit in 0..names.units.len() {
            let instances = Instances::read(dwarf, &mut names, unit)?;
            let mut of_instances: Vec<u32> = Vec::with_capacity(instances.all.len());
            for instance in &instances.all {
                let parent = of_instances.get(instance.parent as usize);
                let frame = (parent.copied().unwrap_or(NONE), instance.function);
                let place = *known.entry(frame).or_insert_with(|| {
                    found.frames.push(frame);
                    found.frames.len() as u32 - 1
                });
                of_instances.push(place);
            }
            let span = |(begin, end, instance): &(u64, u64, u32)| {
                (*begin, *end, of_instances[*instance as usize])
            };
            found.spans.extend(instances.spans.iter().map(span));
        }
        found.names = names.functions.into_iter().map(|one| one.name).collect();
        Ok(())
    })?;
    found.spans.sort_unstable();
    Ok(found)
}

/// The same of an image, with counts.
///
/// # Errors
///
/// Why it has none: a sentence without its subject.
pub fn cover_from<'data, R: ReadRef<'data>>(
    data: R,
    ranges: &[(u64, u64, u64)],
) -> Result<Coverage, String> {
    let image = Image::read(data)?;
    let file = object::File::parse(data).map_err(|error| format!("is no vmlinux ({error})"))?;
    let bytes = code_of(&file);
    let executed = Executed::new(ranges, &image.code, &bytes);
    let symbols = Symbols::read(&file, &executed);
    let mut found = Coverage::default();
    with_debug(&file, |dwarf| {
        let mut collector = Collector::new(&executed, Names::read(dwarf)?, &symbols);
        collector.read_units(dwarf)?;
        collector.add_symbols();
        found = collector.finish();
        Ok(())
    })?;
    found.build_id = image.build_id;
    Ok(found)
}

/// Calls with the debug information of a file.
fn with_debug<'data, R: ReadRef<'data>>(
    file: &object::File<'data, R>,
    read: impl FnOnce(&Dwarf<Slice<'_>>) -> gimli::Result<()>,
) -> Result<(), String> {
    if file.section_by_name(".debug_line").is_none() {
        return Err("has no line tables: the vmlinux of the build is needed, with -g".to_owned());
    }
    let corrupt = |error: String| format!("has debug information that is corrupt ({error})");
    let load = |id: SectionId| match file.section_by_name(id.name()) {
        Some(section) => section.uncompressed_data(),
        None => Ok(std::borrow::Cow::default()),
    };
    let sections = DwarfSections::load(load).map_err(|error| corrupt(error.to_string()))?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, RunTimeEndian::Little));
    read(&dwarf).map_err(|error| corrupt(error.to_string()))
}

/// Sections with code: the address of each and its bytes.
fn code_of<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Vec<(u64, &'data [u8])> {
    let executable = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => false,
    };
    file.sections()
        .filter(|section| executable(section.flags()))
        .filter_map(|section| Some((section.address(), section.data().ok()?)))
        .collect()
}
