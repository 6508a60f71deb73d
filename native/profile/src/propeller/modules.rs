// SPDX-License-Identifier: GPL-2.0-or-later
//! Which source file each address was compiled from: what tells local functions of one name apart.

use std::borrow::Cow;

use gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ReadRef};

/// What is read of the debug information (DWARF 5, section 3.1: names and ranges of units).
const NEEDED: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// The units of a linked file, by the addresses of their code.
#[derive(Debug, Default)]
pub struct Modules {
    names: Vec<String>,
    /// First address, address behind the last, number of the name; by address.
    spans: Vec<(u64, u64, usize)>,
}

impl Modules {
    /// Reads the debug information of a file; without any, and of a relocatable one, there are
    /// no units.
    pub fn read<'a, R: ReadRef<'a>>(file: &object::File<'a, R>) -> Result<Self, String> {
        if file.kind() == object::ObjectKind::Relocatable {
            return Ok(Self::default());
        }
        let load = |id: SectionId| -> Result<Cow<'a, [u8]>, String> {
            let section = file.section_by_name(id.name());
            match section.filter(|_| NEEDED.contains(&id)) {
                Some(section) => section.uncompressed_data().map_err(|e| e.to_string()),
                None => Ok(Cow::default()),
            }
        };
        let sections = DwarfSections::load(load)?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
        Self::of_units(&dwarf).map_err(|error| error.to_string())
    }

    fn of_units(dwarf: &gimli::Dwarf<EndianSlice<'_, RunTimeEndian>>) -> gimli::Result<Self> {
        let mut found = Self::default();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next()? {
            let unit = dwarf.unit(header)?;
            let Some(name) = unit.name else {
                continue;
            };
            let number = found.names.len();
            found.names.push(name.to_string_lossy().into_owned());
            let mut ranges = dwarf.unit_ranges(&unit)?;
            while let Some(range) = ranges.next()? {
                if range.begin < range.end {
                    found.spans.push((range.begin, range.end, number));
                }
            }
        }
        found.spans.sort_unstable();
        Ok(found)
    }

    /// The source file that the code at an address is of, as the compiler was given it.
    pub fn of(&self, address: u64) -> Option<&str> {
        let at = self.spans.partition_point(|span| span.0 <= address);
        let (_, end, number) = *self.spans.get(at.checked_sub(1)?)?;
        (address < end).then(|| self.names[number].as_str())
    }
}
