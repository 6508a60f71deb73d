// SPDX-License-Identifier: GPL-2.0-or-later
//! x86-64 in 64-bit mode, under Linux.

mod operations;
mod tables;

use std::ffi::CStr;

use crate::{
    AddressSpace, Architecture, Frame, Marker, Operation, PageMap, Run, SMALL, Terminator, Vcpu,
};

/// x86-64, 64-bit mode.
#[derive(Debug, Clone, Copy, Default)]
pub struct X86_64;

/// An instruction without its prefixes.
struct Opcode<'a> {
    repeated: bool,
    operand_size_16: bool,
    wide: bool,
    /// Opcode bytes and what follows.
    rest: &'a [u8],
}

/// Takes legacy and REX prefixes off (Intel SDM volume 2, 2.1.1 and 2.2.1).
fn split(instruction: &[u8]) -> Opcode<'_> {
    let mut opcode = Opcode {
        repeated: false,
        operand_size_16: false,
        wide: false,
        rest: instruction,
    };
    while let [first, rest @ ..] = opcode.rest {
        match first {
            0xf2 | 0xf3 => opcode.repeated = true,
            0x66 => opcode.operand_size_16 = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 | 0xf0 => {}
            0x40..=0x4f => {
                // A REX prefix counts only right before the opcode.
                let next_is_opcode = rest.first().is_some_and(|byte| !is_prefix(*byte));
                opcode.wide = next_is_opcode && first & 8 != 0;
            }
            _ => return opcode,
        }
        opcode.rest = rest;
    }
    opcode
}

fn is_prefix(byte: u8) -> bool {
    matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3)
}

impl Architecture for X86_64 {
    fn qemu_target(&self) -> &'static str {
        "x86_64"
    }

    /// The upper half (Documentation/arch/x86/x86_64/mm.rst).
    fn address_space(&self) -> AddressSpace {
        AddressSpace::with_kernel_from(1 << 63)
    }

    fn marker_bytes(&self) -> usize {
        8
    }

    /// An 8-byte NOP: `0f 1f 84 00`, then the operation and "MSK": the magic number in
    /// little-endian order.
    fn marker(&self, instruction: &[u8]) -> Option<Marker> {
        let [0x0f, 0x1f, 0x84, 0x00, operation, b'M', b'S', b'K'] = instruction else {
            return None;
        };
        Marker::from_number((*operation).into())
    }

    /// HLT, MWAIT and MWAITX.
    fn halts(&self, instruction: &[u8]) -> bool {
        matches!(split(instruction).rest, [0xf4] | [0x0f, 0x01, 0xc9 | 0xfb])
    }

    fn terminator(&self, pc: u64, instruction: &[u8]) -> Terminator {
        let next = pc.wrapping_add(instruction.len() as u64);
        let opcode = split(instruction);
        let near8 = |bytes: &[u8]| next.wrapping_add_signed(i64::from(bytes[0] as i8));
        let near32 = |bytes: &[u8]| {
            bytes
                .first_chunk()
                .map(|relative| next.wrapping_add_signed(i64::from(i32::from_le_bytes(*relative))))
        };
        match opcode.rest {
            [0x70..=0x7f | 0xe0..=0xe3, offset @ ..] if !offset.is_empty() => {
                Terminator::Conditional {
                    target: near8(offset),
                }
            }
            [0xeb, offset @ ..] if !offset.is_empty() => Terminator::Jump {
                target: near8(offset),
            },
            [0x0f, 0x80..=0x8f, offset @ ..] => near32(offset).map_or(Terminator::None, |target| {
                Terminator::Conditional { target }
            }),
            [0xe9, offset @ ..] => {
                near32(offset).map_or(Terminator::None, |target| Terminator::Jump { target })
            }
            [0xe8, offset @ ..] => {
                near32(offset).map_or(Terminator::None, |target| Terminator::Call { target })
            }
            [0xc2 | 0xc3, ..] => Terminator::Return,
            [0xff, modrm, ..] => match modrm >> 3 & 7 {
                2 => Terminator::IndirectCall,
                4 => Terminator::IndirectJump,
                3 | 5 => Terminator::Far,
                _ => Terminator::None,
            },
            // SYSCALL, SYSRET, SYSENTER, SYSEXIT, UD2; far returns, INT3, INT n, INT1, IRET.
            [0x0f, 0x05 | 0x07 | 0x0b | 0x34 | 0x35, ..] | [0xca..=0xcd | 0xcf | 0xf1, ..] => {
                Terminator::Far
            }
            [string @ (0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf), ..] if opcode.repeated => {
                Terminator::Repeat {
                    bytes: string_bytes(*string, &opcode),
                }
            }
            _ => Terminator::None,
        }
    }

    fn operation(&self, instruction: &[u8]) -> Operation {
        operations::operation(instruction)
    }

    /// Linux's entry stubs (`arch/x86/entry/entry_64.S`, `arch/x86/include/asm/idtentry.h`):
    /// `idtentry` code begins with ENDBR, CLAC (or a NOP in its place) and CLD, a device
    /// interrupt's stub with ENDBR, PUSH imm8 and JMP. QEMU ends a block after CLAC.
    fn is_exception_entry(
        &self,
        first_instructions: &[&[u8]],
        next_byte: &mut dyn FnMut() -> Option<u8>,
    ) -> bool {
        const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
        const CLAC: &[u8] = &[0x0f, 0x01, 0xca];
        const CLD: u8 = 0xfc;
        let instructions = match first_instructions {
            [first, rest @ ..] if *first == ENDBR64 => rest,
            all => all,
        };
        match instructions {
            [first] if *first == CLAC => next_byte() == Some(CLD),
            [first, [CLD], ..] => *first == CLAC || first.starts_with(&[0x0f, 0x1f]),
            [[CLD], ..] | [[0x6a, _], [0xe9 | 0xeb, ..], ..] => true,
            _ => false,
        }
    }

    fn frame_registers(&self) -> &'static [&'static CStr] {
        &[c"rsp"]
    }

    fn argument_registers(&self) -> [&'static CStr; 3] {
        [c"rdi", c"rsi", c"rdx"]
    }

    fn frame(&self, vcpu: &mut dyn Vcpu) -> Option<Frame> {
        let mut stack = [0; FRAME_WORDS];
        let stack_pointer = vcpu.register(0)?;
        vcpu.memory(stack_pointer, &mut stack).then_some(())?;
        frame_on(&stack)
    }

    fn page_registers(&self) -> &'static [&'static CStr] {
        &[c"cr3", c"cr4"]
    }

    /// Linux has all its code in the last 2 GiB: the image, and behind it what is allocated for
    /// modules, BPF and trampolines (Documentation/arch/x86/x86_64/mm.rst).
    fn code_pages(
        &self,
        registers: &[u64],
        memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
    ) -> Option<PageMap> {
        tables::code_pages(registers, memory)
    }

    fn data_pages(
        &self,
        registers: &[u64],
        memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
    ) -> Option<PageMap> {
        tables::data_pages(registers, memory)
    }

    /// `head_64.S` maps the whole image in pages of 2 MiB (`level2_kernel_pgt`). When it has booted,
    /// `mark_rodata_ro` (`arch/x86/mm/init_64.c`) takes away the right to execute from
    /// `PFN_ALIGN(_etext)` on, for which `__change_page_attr` (`arch/x86/mm/pat/set_memory.c`)
    /// splits the page that has text before this address, too; whatever else is done to text begins
    /// and ends on 2 MiB. (`__START_KERNEL` is a multiple of `CONFIG_PHYSICAL_ALIGN`, which is at
    /// least 2 MiB.) Page table isolation and SRSO align entry text to 2 MiB, and split nothing.
    fn image_pages(&self, start: u64, end: u64) -> PageMap {
        let start = start & !(LARGE_BYTES - 1);
        let end = end.next_multiple_of(1 << SMALL);
        let split = (end & !(LARGE_BYTES - 1)).max(start);
        let runs = [(start, split, LARGE), (split, end, SMALL)];
        let runs = runs.into_iter().filter(|(from, to, _)| from < to);
        let runs = runs.map(|(start, end, shift)| Run {
            start,
            last: end - 1,
            shift,
        });
        PageMap::new(runs).unwrap_or_default()
    }
}

/// log2 of the bytes of a large page.
const LARGE: u32 = 21;

const LARGE_BYTES: u64 = 1 << LARGE;

/// Words of the longest frame.
const FRAME_WORDS: usize = 6;

/// What the stack pointer points to is RIP, CS, RFLAGS, RSP, SS, and for most faults an error code
/// before them (Intel SDM volume 3, 6.14.2). Linux has only these selectors
/// (`arch/x86/include/asm/segment.h`).
fn frame_on(stack: &[u64; FRAME_WORDS]) -> Option<Frame> {
    let is_frame = |frame: &[u64]| {
        let [_, cs, flags, _, ss] = frame else {
            return false;
        };
        matches!(cs, 0x10 | 0x23 | 0x33) && matches!(ss, 0 | 0x18 | 0x2b) && flags >> 22 == 0
    };
    if is_frame(&stack[..5]) {
        Some(Frame {
            resume: stack[0],
            fault: false,
        })
    } else if is_frame(&stack[1..]) {
        Some(Frame {
            resume: stack[1],
            fault: true,
        })
    } else {
        None
    }
}

/// Bytes that one iteration of a string instruction handles.
fn string_bytes(string: u8, opcode: &Opcode<'_>) -> u8 {
    match (string & 1, opcode.wide, opcode.operand_size_16) {
        (0, _, _) => 1,
        // INS and OUTS have no 64-bit form.
        (_, true, _) if string >= 0xa4 => 8,
        (_, _, true) => 2,
        _ => 4,
    }
}
