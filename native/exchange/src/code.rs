// SPDX-License-Identifier: GPL-2.0-or-later
//! What the relocated fields of code are to their instructions.
//!
//! A field that is relative to the instruction behind it is relocated by a distance that has the
//! bytes from the field to that instruction in it: four, and more where an immediate value follows.
//! So what it refers to is known only from the instruction.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::elf::*;

use crate::object::{Relocation, Section};

/// A relocated field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// What its addend has too little, since it is relative to what follows.
    pub bias: i64,
    pub how: Use,
}

/// How the address in a field is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The target of a direct call or jump.
    Branch,
    /// Just this place is read or written, or it is a table's word.
    Exact,
    /// It becomes a value: of the beginning of something, or of its end.
    Value,
    /// A register is added to it, which may be negative or begin above 0.
    Indexed,
}

/// XMM, YMM and ZMM registers.
const VECTORS: RangeInclusive<u32> = Register::XMM0 as u32..=Register::ZMM31 as u32;

/// A field of a table, and of code that cannot be read.
const WORD: Field = Field {
    bias: 0,
    how: Use::Exact,
};

/// What is known of a section's code.
#[derive(Debug, Default)]
pub struct Code {
    /// In the order of the section's relocations.
    pub fields: Vec<Field>,
    /// Whether it may want data to be aligned: it has instructions on vectors.
    pub has_vectors: bool,
}

/// What is known of a section; starts: where functions begin in it.
#[must_use]
pub fn code(section: &Section, starts: &[u64]) -> Code {
    if !section.is_code() {
        return Code {
            fields: vec![WORD; section.relocations.len()],
            has_vectors: false,
        };
    }
    let (decoded, has_vectors) = decode(section, starts);
    let field = |each: &Relocation| {
        let relative = is_relative(each.kind);
        let unknown = Field {
            bias: if relative { 4 } else { 0 },
            how: Use::Indexed,
        };
        let mut field = *decoded.get(&each.offset).unwrap_or(&unknown);
        if !relative {
            field.bias = 0;
        }
        field
    };
    Code {
        fields: section.relocations.iter().map(field).collect(),
        has_vectors,
    }
}

/// Whether a field is relative to its own place.
fn is_relative(kind: RelocationType) -> bool {
    matches!(
        kind,
        R_X86_64_PC32
            | R_X86_64_PC64
            | R_X86_64_PC16
            | R_X86_64_PC8
            | R_X86_64_PLT32
            | R_X86_64_GOTPCREL
            | R_X86_64_GOTPCRELX
            | R_X86_64_REX_GOTPCRELX
            | R_X86_64_GOTTPOFF
    )
}

/// By its place, each constant field of the instructions, as if all were relative; and whether there
/// are instructions on vectors.
fn decode(section: &Section, starts: &[u64]) -> (HashMap<u64, Field>, bool) {
    let mut starts = starts.to_vec();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied();
    let ends: Vec<u64> = ends.chain([section.content.len() as u64]).collect();
    let (mut found, mut has_vectors) = (HashMap::new(), false);
    let mut instruction = Instruction::default();
    for (start, end) in starts.iter().zip(ends) {
        let Some(code) = section.content.get(*start as usize..end as usize) else {
            continue;
        };
        let mut decoder = Decoder::with_ip(64, code, *start, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let is_vector = |at: u32| VECTORS.contains(&(instruction.op_register(at) as u32));
            has_vectors |= (0..instruction.op_count()).any(is_vector);
            let offsets = decoder.get_constant_offsets(&instruction);
            let mut keep = |at: usize, how: Use| {
                let bias = (instruction.len() - at) as i64;
                found.insert(instruction.ip() + at as u64, Field { bias, how });
            };
            if offsets.has_displacement() {
                keep(offsets.displacement_offset(), memory_use(&instruction));
            }
            if offsets.has_immediate() {
                keep(offsets.immediate_offset(), immediate_use(&instruction));
            }
        }
    }
    (found, has_vectors)
}

fn memory_use(instruction: &Instruction) -> Use {
    let of_place = |register| matches!(register, Register::None | Register::RIP);
    if !of_place(instruction.memory_base()) || instruction.memory_index() != Register::None {
        Use::Indexed
    } else if instruction.mnemonic() == Mnemonic::Lea {
        Use::Value
    } else {
        Use::Exact
    }
}

fn immediate_use(instruction: &Instruction) -> Use {
    let is_near = matches!(
        instruction.op0_kind(),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
    );
    if is_near { Use::Branch } else { Use::Value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The field at a place in an instruction that is relocated.
    fn field(instruction: &[u8], offset: u64, kind: RelocationType) -> Field {
        let section = Section {
            name: ".text.f".into(),
            kind: SHT_PROGBITS,
            flags: SHF_ALLOC | SHF_EXECINSTR,
            align: 16,
            entry: 0,
            link: None,
            content: instruction.to_vec(),
            empty: 0,
            relocations: vec![Relocation {
                offset,
                symbol: Some(0),
                kind,
                addend: 0,
            }],
        };
        code(&section, &[0]).fields[0]
    }

    #[test]
    fn what_a_field_refers_to_is_told_by_its_instruction() {
        let told = |bias, how| Field { bias, how };
        let relative = |bytes: &[u8], offset| field(bytes, offset, R_X86_64_PC32);
        // mov 0(%rip), %eax
        assert_eq!(relative(&[0x8b, 5, 0, 0, 0, 0], 2), told(4, Use::Exact));
        // cmpb $1, 0(%rip); cmpl $1, 0(%rip) with four bytes of a value
        let cmpb = [0x80, 0x3d, 0, 0, 0, 0, 1];
        assert_eq!(relative(&cmpb, 2), told(5, Use::Exact));
        let cmpl = [0x81, 0x3d, 0, 0, 0, 0, 1, 0, 0, 0];
        assert_eq!(relative(&cmpl, 2), told(8, Use::Exact));
        // lea 0(%rip), %rax
        let lea = [0x48, 0x8d, 5, 0, 0, 0, 0];
        assert_eq!(relative(&lea, 3), told(4, Use::Value));
        // call 0; jne 0
        assert_eq!(relative(&[0xe8, 0, 0, 0, 0], 1), told(4, Use::Branch));
        let jne = [0x0f, 0x85, 0, 0, 0, 0];
        assert_eq!(relative(&jne, 2), told(4, Use::Branch));
        let absolute = |bytes: &[u8], offset| field(bytes, offset, R_X86_64_32S);
        // mov $0, %rdi; mov 0(,%rax,8), %rax
        let value = [0x48, 0xc7, 0xc7, 0, 0, 0, 0];
        assert_eq!(absolute(&value, 3), told(0, Use::Value));
        let table = [0x48, 0x8b, 4, 0xc5, 0, 0, 0, 0];
        assert_eq!(absolute(&table, 4), told(0, Use::Indexed));
        // Not where an instruction has a constant.
        assert_eq!(relative(&[0x90; 8], 2), told(4, Use::Indexed));
    }
}
