// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of a compiler that takes a variable in a register for one in memory, and what it does not
//! know of gcc's own functions for ones that somebody else defines.
//!
//! The kernel's headers declare `register unsigned long current_stack_pointer asm("rsp")`. TCC defines
//! a variable `rsp` in each object. Where nothing uses it, it is made weak, so that the definitions of
//! many objects are one; where something does, the object would compute with the wrong value.

use object::elf::{SHT_SYMTAB, STB_GLOBAL, STB_WEAK};
use object::read::elf::{SectionHeader, Sym};

use crate::elf::{ENDIAN, SYMBOL, place, sections};

/// The names that the kernel gives registers by.
const NAMES: [&[u8]; 3] = [b"rsp", b"esp", b"sp"];

const BUILT_IN: &[u8] = b"__builtin_";

/// Of a symbol, `st_info`: its binding in the upper half, behind `st_name`.
const INFO: usize = 4;

/// Symbols of an object.
#[derive(Default)]
struct Found {
    /// Those of registers: their numbers, and the places of their `st_info` in the file.
    variables: Vec<(usize, usize)>,
    /// The numbers of all that are used.
    used: Vec<usize>,
    /// A function of gcc's own that is to be linked.
    strange: Option<String>,
}

/// The object with weak ones.
pub fn made_weak(mut object: Vec<u8>) -> Result<Vec<u8>, String> {
    let found = find(&object).map_err(|error| format!("its object cannot be read: {error}"))?;
    if let Some(name) = found.strange {
        return Err(format!("it calls {name}, which it does not know"));
    }
    let is_used = |(number, _): &(usize, usize)| found.used.contains(number);
    if found.variables.iter().any(is_used) {
        return Err("it uses a register as a variable, and would use memory".into());
    }
    for (_, info) in found.variables {
        object[info] = STB_WEAK.0 << 4 | object[info] & 15;
    }
    Ok(object)
}

fn find(object: &[u8]) -> object::Result<Found> {
    let sections = sections(object)?;
    let mut found = Found::default();
    let symbols = sections.symbols(ENDIAN, object, SHT_SYMTAB)?;
    if symbols.is_empty() {
        return Ok(found);
    }
    let table = place(sections.section(symbols.section())?);
    for (number, symbol) in symbols.enumerate() {
        let name = symbol.name(ENDIAN, symbols.strings())?;
        let defined = !symbol.is_undefined(ENDIAN);
        if !defined && name.starts_with(BUILT_IN) {
            found.strange = Some(String::from_utf8_lossy(name).into_owned());
        }
        if defined && symbol.st_bind() == STB_GLOBAL && NAMES.contains(&name) {
            found
                .variables
                .push((number.0, table + number.0 * SYMBOL + INFO));
        }
    }
    for section in sections.iter() {
        if let Some((relocations, _)) = section.rela(ENDIAN, object)? {
            let numbers = relocations
                .iter()
                .map(|each| each.r_sym(ENDIAN, false) as usize);
            found.used.extend(numbers);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use object::elf::R_X86_64_PC32;

    use super::*;
    use crate::elf::made;

    /// An object with a symbol of a name, which its code uses or not.
    fn object(name: &str, defined: bool, used: bool) -> Vec<u8> {
        let uses: &[_] = if used { &[(3, R_X86_64_PC32)] } else { &[] };
        made::object(&[0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3], name, defined, uses)
    }

    #[test]
    fn a_register_that_nothing_uses_is_weak() {
        let before = object("rsp", true, false);
        let after = made_weak(before.clone()).unwrap();
        let changed: Vec<_> = (0..before.len())
            .filter(|&at| before[at] != after[at])
            .collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(after[changed[0]] >> 4, STB_WEAK.0);
        assert_eq!(after[changed[0]] & 15, before[changed[0]] & 15);
    }

    #[test]
    fn one_that_is_used_is_told() {
        let said = made_weak(object("rsp", true, true)).unwrap_err();
        assert!(said.contains("uses a register"), "{said}");
    }

    #[test]
    fn functions_that_only_gcc_has_are_told() {
        let said = made_weak(object("__builtin_x", false, true)).unwrap_err();
        assert!(said.contains("it calls __builtin_x"), "{said}");
        assert!(made_weak(object("printk", false, true)).is_ok());
    }

    #[test]
    fn other_symbols_stay_and_damaged_files_are_told() {
        let other = object("rsp_of", true, true);
        assert_eq!(made_weak(other.clone()).unwrap(), other);
        let whole = object("rsp", true, false);
        for length in 0..whole.len() {
            assert!(made_weak(whole[..length].to_vec()).is_err(), "{length}");
        }
    }
}
