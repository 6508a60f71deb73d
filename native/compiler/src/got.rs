// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of compilers that look up the addresses of all symbols in a global offset table: a kernel
//! has none, and its linker script says so.
//!
//! `mov symbol@GOTPCREL(%rip), %reg` becomes `lea symbol(%rip), %reg`, as linkers do it where a
//! compiler says that they may (System V ABI, x86-64 supplement, "Optimize GOTPCRELX Relocations"):
//! one byte of the instruction and the relocation's type change, and nothing moves.

use crate::elf;

const RELOCATIONS: u32 = 4;
const RELOCATION: usize = 24;

const PC32: u32 = 2;
const GOTPCREL: u32 = 9;

const MOV: u8 = 0x8b;
const LEA: u8 = 0x8d;

/// The object without uses of the table.
pub fn without_table(mut object: Vec<u8>) -> Result<Vec<u8>, String> {
    let places = uses(&object).ok_or("its object is no ELF file that can be read")?;
    for (relocation, code) in places {
        // REX prefix, opcode, ModRM with a displacement to %rip, which is relocated.
        let opcode = code.checked_sub(2).filter(|&at| at < object.len());
        let opcode = opcode.ok_or("a relocation of its object is outside of all code")?;
        if object[opcode] != MOV {
            return Err("its object uses the table of addresses in a way that is not known".into());
        }
        object[opcode] = LEA;
        object[relocation + 8..relocation + 12].copy_from_slice(&PC32.to_le_bytes());
    }
    Ok(object)
}

/// Each relocation by the table: where it is in the file, and where what it relocates.
fn uses(object: &[u8]) -> Option<Vec<(usize, usize)>> {
    let sections = elf::sections(object)?;
    let mut found = Vec::new();
    for table in sections
        .iter()
        .filter(|section| section.kind == RELOCATIONS)
    {
        let code = sections.get(table.info)?;
        for relocation in (table.at..table.at.checked_add(table.size)?).step_by(RELOCATION) {
            if elf::word(object, relocation + 8)? == GOTPCREL {
                let place = usize::try_from(elf::long(object, relocation)?).ok()?;
                found.push((relocation, code.at.checked_add(place)?));
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mov x@GOTPCREL(%rip), %rax` in an object, with an opcode of its own.
    fn object(opcode: u8, kind: u32) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        let code = bytes.len();
        bytes.extend([0x48, opcode, 0x05, 0, 0, 0, 0, 0xc3]);
        let relocation = bytes.len();
        bytes.extend(3_u64.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((-4_i64).to_le_bytes());
        let sections = bytes.len();
        for (kind, at, size, of) in [(1_u32, code, 8, 0_u32), (RELOCATIONS, relocation, 24, 0)] {
            let mut header = [0; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(size as u64).to_le_bytes());
            header[0x2c..0x30].copy_from_slice(&of.to_le_bytes());
            bytes.extend(header);
        }
        bytes[0x28..0x30].copy_from_slice(&(sections as u64).to_le_bytes());
        bytes[0x3c..0x3e].copy_from_slice(&2_u16.to_le_bytes());
        bytes
    }

    #[test]
    fn an_address_is_computed_where_it_was_looked_up() {
        let changed = without_table(object(MOV, GOTPCREL)).unwrap();
        assert_eq!(changed, object(LEA, PC32));
    }

    #[test]
    fn what_has_no_such_use_stays() {
        assert_eq!(without_table(object(MOV, PC32)).unwrap(), object(MOV, PC32));
    }

    #[test]
    fn other_uses_and_damaged_files_are_told() {
        let said = without_table(object(0x03, GOTPCREL)).unwrap_err();
        assert!(said.contains("in a way that is not known"), "{said}");
        let mut short = object(MOV, GOTPCREL);
        short.truncate(short.len() - 40);
        assert!(without_table(short).is_err());
        assert!(without_table(b"no object".to_vec()).is_err());
    }
}
