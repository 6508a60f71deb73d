// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of compilers that look up the addresses of all symbols in a global offset table: a kernel
//! has none, and its linker script says so.
//!
//! `mov symbol@GOTPCREL(%rip), %reg` becomes `lea symbol(%rip), %reg`, as linkers do it where a
//! compiler says that they may (System V ABI, x86-64 supplement, "Optimize GOTPCRELX Relocations"):
//! one byte of the instruction and the relocation's type change, and nothing moves.

use object::elf::{R_X86_64_GOTPCREL, R_X86_64_PC32};
use object::read::elf::SectionHeader;

use crate::elf::{ENDIAN, RELOCATION, place, sections};

const MOV: u8 = 0x8b;
const LEA: u8 = 0x8d;

/// Of a relocation, the type: the lower half of `r_info`, behind `r_offset`.
const TYPE: std::ops::Range<usize> = 8..12;

/// The object without uses of the table.
pub fn without_table(mut object: Vec<u8>) -> Result<Vec<u8>, String> {
    let found = uses(&object).map_err(|error| format!("its object cannot be read: {error}"))?;
    for (relocation, code) in found {
        // REX prefix, opcode, ModRM with a displacement to %rip, which is relocated.
        let opcode = code.checked_sub(2).filter(|&at| at < object.len());
        let opcode = opcode.ok_or("a relocation of its object is outside of all code")?;
        if object[opcode] != MOV {
            return Err("its object uses the table of addresses in a way that is not known".into());
        }
        object[opcode] = LEA;
        object[relocation..][TYPE].copy_from_slice(&R_X86_64_PC32.0.to_le_bytes());
    }
    Ok(object)
}

/// Each relocation by the table: where it is in the file, and where what it relocates.
fn uses(object: &[u8]) -> object::Result<Vec<(usize, usize)>> {
    let sections = sections(object)?;
    let mut found = Vec::new();
    for table in sections.iter() {
        let Some((relocations, _)) = table.rela(ENDIAN, object)? else {
            continue;
        };
        let code = place(sections.section(table.info_link(ENDIAN))?);
        for (number, relocation) in relocations.iter().enumerate() {
            if relocation.r_type(ENDIAN, false) == R_X86_64_GOTPCREL {
                let offset = relocation.r_offset.get(ENDIAN) as usize;
                found.push((
                    place(table) + number * RELOCATION,
                    code.saturating_add(offset),
                ));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use object::elf::RelocationType;

    use super::*;
    use crate::elf::made;

    /// `mov x@GOTPCREL(%rip), %rax` in an object, with an opcode of its own.
    fn object(opcode: u8, kind: RelocationType) -> Vec<u8> {
        let code = [0x48, opcode, 0x05, 0, 0, 0, 0, 0xc3];
        made::object(&code, "x", false, &[(3, kind)])
    }

    #[test]
    fn an_address_is_computed_where_it_was_looked_up() {
        let changed = without_table(object(MOV, R_X86_64_GOTPCREL)).unwrap();
        assert_eq!(changed, object(LEA, R_X86_64_PC32));
    }

    #[test]
    fn what_has_no_such_use_stays() {
        let other = object(MOV, R_X86_64_PC32);
        assert_eq!(without_table(other.clone()).unwrap(), other);
    }

    #[test]
    fn other_uses_and_damaged_files_are_told() {
        let said = without_table(object(0x03, R_X86_64_GOTPCREL)).unwrap_err();
        assert!(said.contains("in a way that is not known"), "{said}");
        let whole = object(MOV, R_X86_64_GOTPCREL);
        for length in 0..whole.len() {
            assert!(without_table(whole[..length].to_vec()).is_err(), "{length}");
        }
        assert!(without_table(b"no object".to_vec()).is_err());
    }
}
