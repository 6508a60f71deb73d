// SPDX-License-Identifier: GPL-2.0-or-later
//! As much of an object as steps and ways of compiling ask about.

use std::collections::HashMap;

use object::elf::{FileHeader64, Rela64, SectionHeader64, Sym64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};
use object::{LittleEndian, Object, ObjectSymbol};

/// What an object is read as.
pub type Header = FileHeader64<LittleEndian>;
pub const ENDIAN: LittleEndian = LittleEndian;

/// Bytes of a relocation and of a symbol in their tables.
pub const RELOCATION: usize = size_of::<Rela64<LittleEndian>>();
pub const SYMBOL: usize = size_of::<Sym64<LittleEndian>>();

const LABEL: &str = "kernsmith_label.";

/// The sections of an object.
pub fn sections(object: &[u8]) -> object::Result<SectionTable<'_, Header>> {
    Header::parse(object)?.sections(ENDIAN, object)
}

/// Where a section's content begins in the file.
pub fn place(section: &SectionHeader64<LittleEndian>) -> usize {
    section.sh_offset(ENDIAN) as usize
}

/// The name of a label that a step puts into a text: a side and a number.
pub fn label(side: char, number: usize) -> String {
    format!("{LABEL}{side}{number}")
}

/// The places in their sections of all labels of steps.
pub fn labels(object: &[u8]) -> object::Result<HashMap<String, u64>> {
    let file = object::File::parse(object)?;
    let named = file.symbols().filter_map(|symbol| {
        let name = symbol.name().ok()?;
        let is_label = name.starts_with(LABEL);
        is_label.then(|| (name.to_owned(), symbol.address()))
    });
    Ok(named.collect())
}

#[cfg(test)]
pub mod made {
    //! Objects for tests.

    use object::elf::RelocationType;
    use object::write::{Object, Relocation, Symbol, SymbolId, SymbolSection};
    use object::{
        Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags,
        SymbolKind, SymbolScope,
    };

    /// Code, one symbol that is defined there or not, and relocations of it: where, and of which type.
    pub fn object(
        code: &[u8],
        name: &str,
        defined: bool,
        relocations: &[(u64, RelocationType)],
    ) -> Vec<u8> {
        let mut made = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let text = made.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        made.append_section_data(text, code, 16);
        let symbol = made.add_symbol(Symbol {
            name: name.into(),
            value: 0,
            size: 0,
            kind: SymbolKind::Data,
            scope: if defined {
                SymbolScope::Linkage
            } else {
                SymbolScope::Unknown
            },
            weak: false,
            section: if defined {
                SymbolSection::Section(text)
            } else {
                SymbolSection::Undefined
            },
            flags: SymbolFlags::None,
        });
        for (offset, r_type) in relocations {
            let relocation = relocation(*offset, symbol, *r_type);
            made.add_relocation(text, relocation)
                .expect("it can be written");
        }
        made.write().expect("it can be written")
    }

    fn relocation(offset: u64, symbol: SymbolId, r_type: RelocationType) -> Relocation {
        Relocation {
            offset,
            symbol,
            addend: -4,
            flags: RelocationFlags::Elf { r_type },
        }
    }
}
