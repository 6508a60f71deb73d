// SPDX-License-Identifier: GPL-2.0-or-later
//! A relocatable ELF file (System V ABI, "Object Files"): read whole, changed, and written again.
//!
//! Relocations are kept with the section that they relocate. What a linker makes no use of in a
//! file that was changed is left out: LLVM's list of symbols whose address matters counts symbols.

use object::build::elf::{self as build, Builder, SectionData};
use object::elf::*;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use object::{Endianness, LittleEndian, SectionIndex, SymbolIndex};

type Header = FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// LLVM's `.llvm_addrsig` (LLVM documentation, "Extensions").
const ADDRESS_SIGNIFICANCE: SectionType = SectionType(0x6fff_4c03);

/// All of a file that matters to a linker. Places in `sections` and `symbols` are what others name
/// them by.
#[derive(Debug, Clone, Default)]
pub struct Object {
    pub sections: Vec<Section>,
    pub symbols: Vec<Symbol>,
}

#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    pub kind: SectionType,
    pub flags: SectionFlags,
    pub align: u64,
    pub entry: u64,
    /// The section that this one is ordered by.
    pub link: Option<usize>,
    pub content: Vec<u8>,
    /// Bytes in memory where there are none in the file.
    pub empty: u64,
    pub relocations: Vec<Relocation>,
}

#[derive(Debug, Clone)]
pub struct Symbol {
    pub name: String,
    pub info: SymbolInfo,
    pub other: SymbolOther,
    pub section: Option<usize>,
    /// What it is where it is in no section.
    pub index: SymbolSection,
    pub value: u64,
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    pub offset: u64,
    pub symbol: Option<usize>,
    pub kind: RelocationType,
    pub addend: i64,
}

impl Section {
    #[must_use]
    pub fn is_code(&self) -> bool {
        self.flags.contains(SHF_EXECINSTR)
    }

    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.flags.contains(SHF_ALLOC)
    }
}

impl Symbol {
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.info.st_bind() == STB_LOCAL
    }

    #[must_use]
    pub fn is_function(&self) -> bool {
        self.info.st_type() == STT_FUNC && self.section.is_some()
    }

    /// Whether it only says where something is, and gives it no name of the source.
    #[must_use]
    pub fn is_place(&self) -> bool {
        self.info.st_type() == STT_SECTION || self.name.starts_with(".L")
    }
}

impl Object {
    /// Read a file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as the end of a sentence.
    pub fn read(data: &[u8]) -> Result<Self, String> {
        read(data).map_err(|fault| fault.0)
    }

    /// The file, for a linker.
    ///
    /// # Errors
    ///
    /// What cannot be written.
    pub fn write(&self) -> Result<Vec<u8>, String> {
        write(self).map_err(|error| error.to_string())
    }

    /// The symbol of a section itself; one is made where there is none.
    pub fn section_symbol(&mut self, section: usize) -> usize {
        let own = |symbol: &Symbol| {
            symbol.info.st_type() == STT_SECTION && symbol.section == Some(section)
        };
        self.symbols.iter().position(own).unwrap_or_else(|| {
            self.symbols.push(Symbol {
                name: String::new(),
                info: STB_LOCAL | STT_SECTION,
                other: SymbolOther(0),
                section: Some(section),
                index: SHN_UNDEF,
                value: 0,
                size: 0,
            });
            self.symbols.len() - 1
        })
    }
}

/// Why a file cannot be read.
struct Fault(String);

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

fn fault<T>(text: &str) -> Result<T, Fault> {
    Err(Fault(text.to_owned()))
}

fn read(data: &[u8]) -> Result<Object, Fault> {
    let header = Header::parse(data)?;
    if !header.is_little_endian() || header.e_machine(ENDIAN) != EM_X86_64 {
        return fault("it is for another architecture than x86-64");
    }
    if header.e_type(ENDIAN) != ET_REL {
        return fault("it is no relocatable file");
    }
    let table = header.sections(ENDIAN, data)?;
    let symbols = table.symbols(ENDIAN, data, SHT_SYMTAB)?;
    // Where each section of the file is in what is read.
    let mut places = vec![None; table.len()];
    let mut read = Object::default();
    for (index, section) in table.enumerate() {
        let kind = section.sh_type(ENDIAN);
        match kind {
            SHT_NULL | SHT_SYMTAB | SHT_STRTAB | SHT_RELA | SHT_REL => continue,
            ADDRESS_SIGNIFICANCE => continue,
            SHT_GROUP => return fault("it has groups of sections"),
            SHT_SYMTAB_SHNDX => return fault("it has too many sections"),
            _ => {}
        }
        places[index.0] = Some(read.sections.len());
        let align = section.sh_addralign(ENDIAN).max(1);
        if !align.is_power_of_two() {
            return fault("a section of it is aligned to no power of two");
        }
        let empty = if kind == SHT_NOBITS {
            section.sh_size(ENDIAN)
        } else {
            0
        };
        read.sections.push(Section {
            name: text(table.section_name(ENDIAN, section)?)?,
            kind,
            flags: section.sh_flags(ENDIAN),
            align,
            entry: section.sh_entsize(ENDIAN),
            link: None,
            content: section.data(ENDIAN, data)?.to_vec(),
            empty,
            relocations: Vec::new(),
        });
    }
    let place = |index: usize| places.get(index).copied().flatten();
    for (index, section) in table.enumerate() {
        if let Some(own) = place(index.0) {
            read.sections[own].link = place(section.sh_link(ENDIAN) as usize);
        }
        let Some((relocations, link)) = relocations(section, data)? else {
            continue;
        };
        let Some(own) = place(section.sh_info(ENDIAN) as usize) else {
            return fault("it has relocations of no section");
        };
        if link != symbols.section() {
            return fault("it has relocations by another table of symbols");
        }
        let has_symbol = |each: &Relocation| each.symbol.is_none_or(|at| at + 1 < symbols.len());
        if !relocations.iter().all(has_symbol) {
            return fault("a relocation names no symbol");
        }
        read.sections[own].relocations.extend(relocations);
    }
    for (index, symbol) in symbols.enumerate().skip(1) {
        let section = symbols.symbol_section(ENDIAN, symbol, index)?;
        let place = section.and_then(|section| place(section.0));
        if section.is_some_and(|section| section.0 >= table.len()) {
            return fault("a symbol is in no section");
        }
        read.symbols.push(Symbol {
            name: text(symbols.symbol_name(ENDIAN, symbol)?)?,
            info: symbol.st_info(),
            other: symbol.st_other(),
            section: place,
            // A symbol of a section that is left out is nowhere.
            index: if section.is_some() {
                SHN_ABS
            } else {
                symbol.st_shndx(ENDIAN)
            },
            value: symbol.st_value(ENDIAN),
            size: symbol.st_size(ENDIAN),
        });
    }
    Ok(read)
}

/// The relocations of a table of them, and its table of symbols.
///
/// Those without addends stand only where a linker counts symbols and relocates nothing, in LLVM's
/// `.llvm.call-graph-profile`: there an addend is none.
fn relocations(
    section: &SectionHeader64<LittleEndian>,
    data: &[u8],
) -> Result<Option<(Vec<Relocation>, SectionIndex)>, Fault> {
    let place = |symbol: Option<SymbolIndex>| symbol.map(|symbol| symbol.0 - 1);
    if let Some((found, link)) = section.rela(ENDIAN, data)? {
        let relocation = |each: &Rela64<LittleEndian>| Relocation {
            offset: each.r_offset.get(ENDIAN),
            symbol: place(each.symbol(ENDIAN, false)),
            kind: each.r_type(ENDIAN, false),
            addend: each.r_addend.get(ENDIAN),
        };
        return Ok(Some((found.iter().map(relocation).collect(), link)));
    }
    let Some((found, link)) = section.rel(ENDIAN, data)? else {
        return Ok(None);
    };
    let relocation = |each: &Rel64<LittleEndian>| Relocation {
        offset: each.r_offset.get(ENDIAN),
        symbol: place(each.symbol(ENDIAN)),
        kind: each.r_type(ENDIAN),
        addend: 0,
    };
    let found: Vec<_> = found.iter().map(relocation).collect();
    if found.iter().any(|each| each.kind != R_X86_64_NONE) {
        return fault("its relocations have no addends");
    }
    Ok(Some((found, link)))
}

fn text(name: &[u8]) -> Result<String, Fault> {
    Ok(std::str::from_utf8(name)?.to_owned())
}

fn write(object: &Object) -> object::build::Result<Vec<u8>> {
    let mut builder = Builder::new(Endianness::Little, true);
    builder.header.e_type = ET_REL;
    builder.header.e_machine = EM_X86_64;
    let sections: Vec<build::SectionId> = object
        .sections
        .iter()
        .map(|_| builder.sections.add().id())
        .collect();
    let mut symbols = Vec::new();
    for symbol in &object.symbols {
        let added = builder.symbols.add();
        added.name = symbol.name.as_str().into();
        added.section = symbol.section.map(|section| sections[section]);
        added.st_info = symbol.info;
        added.st_other = symbol.other;
        added.st_shndx = symbol.index;
        added.st_value = symbol.value;
        added.st_size = symbol.size;
        symbols.push(added.id());
    }
    for (section, id) in object.sections.iter().zip(&sections) {
        let added = builder.sections.get_mut(*id);
        added.name = section.name.as_str().into();
        added.sh_type = section.kind;
        added.sh_flags = section.flags;
        added.sh_addralign = section.align;
        added.sh_entsize = section.entry;
        added.sh_link_section = section.link.map(|link| sections[link]);
        added.data = match section.kind {
            SHT_NOBITS => SectionData::UninitializedData(section.empty),
            _ => SectionData::Data(section.content.as_slice().into()),
        };
    }
    let names = [
        (".symtab", SectionData::Symbol),
        (".strtab", SectionData::String),
        (".shstrtab", SectionData::SectionString),
    ];
    let mut table = None;
    for (name, data) in names {
        let added = builder.sections.add();
        added.name = name.into();
        added.data = data;
        table = table.or(Some(added.id()));
    }
    for (section, id) in object.sections.iter().zip(&sections) {
        if section.relocations.is_empty() {
            continue;
        }
        let relocations = section.relocations.iter().map(|each| build::Relocation {
            r_offset: each.offset,
            symbol: each.symbol.map(|symbol| symbols[symbol]),
            r_type: each.kind,
            r_addend: each.addend,
        });
        let added = builder.sections.add();
        added.name = format!(".rela{}", section.name).into_bytes().into();
        added.sh_type = SHT_RELA;
        added.sh_flags = SHF_INFO_LINK;
        added.sh_addralign = 8;
        added.sh_entsize = size_of::<Rela64<LittleEndian>>() as u64;
        added.sh_link_section = table;
        added.sh_info_section = Some(*id);
        added.data = SectionData::Relocation(relocations.collect());
    }
    let mut written = Vec::new();
    builder.write(&mut written)?;
    Ok(written)
}
