// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of a compiler that takes a variable in a register for one in memory, and what it does not
//! know of gcc's own functions for ones that somebody else defines.
//!
//! The kernel's headers declare `register unsigned long current_stack_pointer asm("rsp")`. TCC defines
//! a variable `rsp` in each object. Where nothing uses it, it is made weak, so that the definitions of
//! many objects are one; where something does, the object would compute with the wrong value.

use crate::elf;

/// The names that the kernel gives registers by.
const NAMES: [&[u8]; 3] = [b"rsp", b"esp", b"sp"];

const BUILT_IN: &[u8] = b"__builtin_";

const SYMBOLS: u32 = 2;
const SYMBOL: usize = 24;
const RELOCATIONS: u32 = 4;
const RELOCATION: usize = 24;
const GLOBAL: u8 = 1;
const WEAK: u8 = 2;

/// Symbols of an object.
#[derive(Default)]
struct Found {
    /// Those of registers: their numbers, and the places of their bindings in the file.
    variables: Vec<(usize, usize)>,
    /// The numbers of all that are used.
    used: Vec<usize>,
    /// A function of gcc's own that is to be linked.
    strange: Option<String>,
}

/// The object with weak ones.
pub fn made_weak(mut object: Vec<u8>) -> Result<Vec<u8>, String> {
    let found = find(&object).ok_or("its object is no ELF file that can be read")?;
    if let Some(name) = found.strange {
        return Err(format!("it calls {name}, which it does not know"));
    }
    let is_used = |(number, _): &(usize, usize)| found.used.contains(number);
    if found.variables.iter().any(is_used) {
        return Err("it uses a register as a variable, and would use memory".into());
    }
    for (_, info) in found.variables {
        object[info] = WEAK << 4 | object[info] & 15;
    }
    Ok(object)
}

fn find(object: &[u8]) -> Option<Found> {
    let sections = elf::sections(object)?;
    let mut found = Found::default();
    for section in &sections {
        let end = section.at.checked_add(section.size)?;
        if section.kind == SYMBOLS {
            let names = sections.get(section.link)?;
            let names = object.get(names.at..names.at.checked_add(names.size)?)?;
            for (number, at) in (section.at..end).step_by(SYMBOL).enumerate() {
                let name = names.get(usize::try_from(elf::word(object, at)?).ok()?..)?;
                let name = name.split(|byte| *byte == 0).next()?;
                let info = *object.get(at + 4)?;
                let defined = object.get(at + 6..at + 8)? != [0, 0];
                if !defined && name.starts_with(BUILT_IN) {
                    found.strange = Some(String::from_utf8_lossy(name).into_owned());
                }
                if defined && info >> 4 == GLOBAL && NAMES.contains(&name) {
                    found.variables.push((number, at + 4));
                }
            }
        } else if section.kind == RELOCATIONS {
            for at in (section.at..end).step_by(RELOCATION) {
                found
                    .used
                    .push(usize::try_from(elf::word(object, at + 12)?).ok()?);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with a symbol of a name, and a relocation of a symbol.
    fn object(name: &str, used: u32) -> Vec<u8> {
        of_section(1, name, used)
    }

    fn of_section(section: u8, name: &str, used: u32) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        let names = bytes.len();
        bytes.extend(b"\0");
        bytes.extend(name.bytes().chain([0]));
        let symbols = bytes.len();
        bytes.extend([0; SYMBOL]);
        bytes.extend([1, 0, 0, 0, GLOBAL << 4 | 1, 0, section, 0]);
        bytes.extend([0; 16]);
        let relocations = bytes.len();
        bytes.extend([0; 8]);
        bytes.extend([2_u32.to_le_bytes(), used.to_le_bytes()].concat());
        bytes.extend([0; 8]);
        let sections = bytes.len();
        let length = symbols - names;
        for (kind, at, size, link) in [
            (3_u32, names, length, 0_u32),
            (SYMBOLS, symbols, 2 * SYMBOL, 0),
            (RELOCATIONS, relocations, RELOCATION, 1),
        ] {
            let mut header = [0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(size as u64).to_le_bytes());
            header[0x28..0x2c].copy_from_slice(&link.to_le_bytes());
            bytes.extend(header);
        }
        bytes[0x28..0x30].copy_from_slice(&(sections as u64).to_le_bytes());
        bytes[0x3c..0x3e].copy_from_slice(&3_u16.to_le_bytes());
        bytes
    }

    #[test]
    fn a_register_that_nothing_uses_is_weak() {
        let before = object("rsp", 0);
        let after = made_weak(before.clone()).unwrap();
        let changed: Vec<_> = (0..before.len())
            .filter(|&at| before[at] != after[at])
            .collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(after[changed[0]], WEAK << 4 | 1);
    }

    #[test]
    fn one_that_is_used_is_told() {
        assert!(
            made_weak(object("rsp", 1))
                .unwrap_err()
                .contains("uses a register")
        );
    }

    #[test]
    fn functions_that_only_gcc_has_are_told() {
        let said = made_weak(of_section(0, "__builtin_x", 1)).unwrap_err();
        assert!(said.contains("it calls __builtin_x"), "{said}");
        assert!(made_weak(of_section(0, "printk", 1)).is_ok());
    }

    #[test]
    fn other_symbols_stay_and_damaged_files_are_told() {
        assert_eq!(made_weak(object("rsp_of", 1)).unwrap(), object("rsp_of", 1));
        let mut short = object("rsp", 0);
        short.truncate(200);
        assert!(made_weak(short).is_err());
    }
}
