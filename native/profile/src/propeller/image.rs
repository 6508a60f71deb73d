// SPDX-License-Identifier: GPL-2.0-or-later
//! An ELF file with a map of basic blocks: its functions, their blocks and their names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::path::Path;

use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSymbol, ReadRef, RelocationTarget, SymbolKind};

use super::address_map::{Block, Form, MapError, MappedFunction, SECTION, decode};
use super::modules::Modules;

/// Sections of a relocatable file have no addresses: each gets so many bytes of its own.
const SECTION_BITS: u32 = 32;

/// Why an image cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageError {
    /// The operating system's reason.
    Unreadable(String),
    /// It is no ELF file, or one that is cut off.
    NotElf(String),
    /// It was compiled without one.
    NoMap,
    Map(MapError),
    /// Its debug information is corrupt.
    Debug(String),
}

impl fmt::Display for ImageError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => write!(to, "it cannot be read: {reason}"),
            Self::NotElf(reason) => write!(to, "it is no usable ELF file: {reason}"),
            Self::NoMap => write!(
                to,
                "it has no map of basic blocks ({SECTION}): it must be compiled with \
                 -fbasic-block-address-map (CONFIG_PROPELLER_CLANG=y)"
            ),
            Self::Map(error) => write!(to, "{error}"),
            Self::Debug(reason) => write!(to, "its debug information is corrupt: {reason}"),
        }
    }
}

impl std::error::Error for ImageError {}

/// A function that the compiler has mapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Function {
    /// All that it is called, the name that others see first.
    pub names: Vec<String>,
    /// Whether another function has its name, too.
    pub ambiguous: bool,
    /// The source file that was compiled, as the debug information has it.
    pub module: Option<String>,
    /// Its blocks; the first is the entry.
    pub blocks: Vec<Block>,
    /// The numbers of the blocks with which a part that lies elsewhere begins.
    pub parts: Vec<usize>,
}

impl Function {
    /// The block behind this one, where execution goes when no branch is taken.
    #[must_use]
    pub fn falls_into(&self, block: usize) -> Option<usize> {
        let next = block + 1;
        let follows = next < self.blocks.len() && !self.parts.contains(&next);
        (follows && self.blocks[block].can_fall_through()).then_some(next)
    }
}

/// The mapped functions of an ELF file, by address.
#[derive(Debug, Clone, Default)]
pub struct Image {
    pub functions: Vec<Function>,
}

impl Image {
    /// Reads a file; of its content no more than is needed.
    ///
    /// # Errors
    ///
    /// See [`ImageError`].
    pub fn read(path: &Path) -> Result<Self, ImageError> {
        let unreadable = |error: std::io::Error| ImageError::Unreadable(error.to_string());
        let file = File::open(path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(ImageError::Unreadable("it is no file".into()));
        }
        Self::parse(&ReadCache::new(file))
    }

    /// Takes a file that is in memory, linked or relocatable.
    ///
    /// # Errors
    ///
    /// See [`ImageError`].
    pub fn parse<'a, R: ReadRef<'a>>(content: R) -> Result<Self, ImageError> {
        let file = object::File::parse(content).map_err(not_elf)?;
        let mapped = mapped_functions(&file)?;
        if mapped.is_empty() {
            return Err(ImageError::NoMap);
        }
        let names = names_of(&file);
        let repeated = repeated(&names);
        let modules = Modules::read(&file).map_err(ImageError::Debug)?;
        let mut functions: Vec<_> = mapped
            .into_iter()
            .filter_map(|function| with_names(function, &names, &repeated, &modules))
            .collect();
        functions.sort_by_key(|function| function.blocks[0].start);
        Ok(Self { functions })
    }
}

fn not_elf(error: object::Error) -> ImageError {
    ImageError::NotElf(error.to_string())
}

/// By address: names, and whether each is seen in its own object only.
type Names = BTreeMap<u64, Vec<(bool, String)>>;

fn names_of<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Names {
    let mut names = Names::new();
    let functions = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    for symbol in functions {
        // Profiles are lists of words: a name with a space in it cannot stand there.
        let name = symbol.name().unwrap_or_default();
        if !name.is_empty() && !name.contains(char::is_whitespace) {
            let found = names.entry(place(file, &symbol)).or_default();
            found.push((symbol.is_local(), name.to_owned()));
        }
    }
    for found in names.values_mut() {
        found.sort();
        found.dedup_by(|a, b| a.1 == b.1);
    }
    names
}

/// Where a symbol is, with addresses for the sections of relocatable files.
fn place<'a, R: ReadRef<'a>>(file: &object::File<'a, R>, symbol: &impl ObjectSymbol<'a>) -> u64 {
    match symbol.section_index() {
        Some(section) if is_relocatable(file) => symbol
            .address()
            .wrapping_add((section.0 as u64) << SECTION_BITS),
        _ => symbol.address(),
    }
}

fn is_relocatable<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> bool {
    file.kind() == object::ObjectKind::Relocatable
}

/// Names at several addresses.
fn repeated(names: &Names) -> HashSet<&str> {
    let mut seen = HashSet::new();
    let all = names.values().flatten().map(|(_, name)| name.as_str());
    all.filter(|name| !seen.insert(*name)).collect()
}

fn with_names(
    mapped: MappedFunction,
    names: &Names,
    repeated: &HashSet<&str>,
    modules: &Modules,
) -> Option<Function> {
    let mut blocks = Vec::new();
    let mut parts = Vec::new();
    for range in mapped
        .ranges
        .into_iter()
        .filter(|range| !range.blocks.is_empty())
    {
        if !blocks.is_empty() {
            parts.push(blocks.len());
        }
        blocks.extend(range.blocks);
    }
    let entry = blocks.first()?.start;
    let found = names.get(&entry)?;
    let repeats = found
        .iter()
        .any(|(_, name)| repeated.contains(name.as_str()));
    Some(Function {
        names: found.iter().map(|(_, name)| name.clone()).collect(),
        ambiguous: repeats,
        module: modules.of(entry).map(str::to_owned),
        blocks,
        parts,
    })
}

fn mapped_functions<'a, R: ReadRef<'a>>(
    file: &object::File<'a, R>,
) -> Result<Vec<MappedFunction>, ImageError> {
    let form = Form {
        little_endian: file.is_little_endian(),
        address_bytes: if file.is_64() { 8 } else { 4 },
    };
    let mut functions = Vec::new();
    for section in file
        .sections()
        .filter(|section| section.name() == Ok(SECTION))
    {
        let data = section.uncompressed_data().map_err(not_elf)?;
        let decoded = if is_relocatable(file) {
            let meant = relocations(file, &section);
            decode(&data, form, |offset, _| {
                meant.get(&(offset as u64)).copied()
            })
        } else {
            decode(&data, form, |_, raw| Some(raw))
        };
        functions.extend(decoded.map_err(ImageError::Map)?);
    }
    Ok(functions)
}

/// What the addresses in a section of a relocatable file mean, by their offsets in it.
fn relocations<'a, R: ReadRef<'a>>(
    file: &object::File<'a, R>,
    section: &impl ObjectSection<'a>,
) -> HashMap<u64, u64> {
    let meant = |relocation: object::Relocation| {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return None;
        };
        let symbol = file.symbol_by_index(index).ok()?;
        Some(place(file, &symbol).wrapping_add_signed(relocation.addend()))
    };
    let all = section.relocations();
    all.filter_map(|(offset, relocation)| Some((offset, meant(relocation)?)))
        .collect()
}
