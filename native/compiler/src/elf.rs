// SPDX-License-Identifier: GPL-2.0-or-later
//! As much of an object as steps and ways of compiling ask about: ELF files of 64 bits,
//! little-endian (System V ABI, "Object Files").

use std::collections::HashMap;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const SECTIONS_AT: usize = 0x28;
const SECTION_COUNT: usize = 0x3c;
const HEADER: usize = 64;

const SYMBOLS: u32 = 2;
const SYMBOL: usize = 24;

/// A section. at, size: of its content in the file. link, info: as its kind has them.
pub struct Section {
    pub kind: u32,
    pub at: usize,
    pub size: usize,
    pub link: usize,
    pub info: usize,
}

/// All sections; none if this is no such file.
pub fn sections(object: &[u8]) -> Option<Vec<Section>> {
    object.starts_with(MAGIC).then_some(())?;
    let begin = size(object, SECTIONS_AT)?;
    let count = u16::from_le_bytes(*object.get(SECTION_COUNT..)?.first_chunk()?);
    (0..usize::from(count))
        .map(|number| {
            let header = object.get(begin.checked_add(number * HEADER)?..)?;
            Some(Section {
                kind: word(header, 4)?,
                at: size(header, 0x18)?,
                size: size(header, 0x20)?,
                link: usize::try_from(word(header, 0x28)?).ok()?,
                info: usize::try_from(word(header, 0x2c)?).ok()?,
            })
        })
        .collect()
}

/// The name of a label that a step puts into a text: a side and a number.
pub fn label(side: char, number: usize) -> String {
    format!("kernsmith_label.{side}{number}")
}

/// The places in their sections of all labels of steps.
pub fn labels(object: &[u8]) -> Option<HashMap<String, u64>> {
    let sections = sections(object)?;
    let table = sections.iter().find(|section| section.kind == SYMBOLS)?;
    let names = sections.get(table.link)?;
    let names = object.get(names.at..names.at.checked_add(names.size)?)?;
    let symbols = object.get(table.at..table.at.checked_add(table.size)?)?;
    let start = label(' ', 0);
    let start = start.split(' ').next()?;
    let mut found = HashMap::new();
    for symbol in symbols.chunks_exact(SYMBOL) {
        let name = names.get(usize::try_from(word(symbol, 0)?).ok()?..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        if name.starts_with(start.as_bytes()) {
            found.insert(String::from_utf8_lossy(name).into_owned(), long(symbol, 8)?);
        }
    }
    Some(found)
}

/// The 32 bits at a place.
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The 64 bits at a place.
pub fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn size(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(long(bytes, at)?).ok()
}
