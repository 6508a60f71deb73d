// SPDX-License-Identifier: GPL-2.0-or-later
//! What x86-64 instructions wait for.
//!
//! Cycles are those of Intel's cores of this decade (A. Abel and J. Reineke, uops.info: *Characterizing
//! Latency, Throughput, and Port Usage of Instructions on Intel Microarchitectures*, ASPLOS 2019;
//! quoted from memory). Other vendors' differ by one or two cycles where they are not 1.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::Operation;

/// General registers come first, without RSP, then the first 15 vector registers and the flags; the other
/// vector registers are followed within a block.
const FIRST_VECTOR: usize = 15;
const FLAGS: u64 = 1 << 30;
const SECOND_VECTORS: usize = 32;

/// Decodes one whole instruction; of bytes that are none, one that nobody waits for.
pub(super) fn operation(code: &[u8]) -> Operation {
    let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return Operation::default();
    }
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(&instruction);
    let mut operation = Operation::default();
    for memory in used.used_memory() {
        operation.loads |= is_read(memory.access());
        operation.addresses |= bit(memory.base()) | bit(memory.index());
    }
    for register in used.used_registers() {
        let bit = bit(register.register());
        // An address is listed with the registers that are read.
        // Where nothing is written, what was there stays.
        if (is_read(register.access()) || register.access() == OpAccess::CondWrite)
            && (operation.addresses & bit == 0 || computes_with(&instruction, bit))
        {
            operation.reads |= bit;
        }
        if is_written(register.access()) {
            operation.writes |= bit;
        }
    }
    if instruction.rflags_read() != 0 {
        operation.reads |= FLAGS;
    }
    if instruction.rflags_modified() != 0 {
        operation.writes |= FLAGS;
    }
    if is_zeroing(&instruction) {
        operation.reads = 0;
    }
    operation.cycles = cycles(&instruction, operation.loads);
    operation
}

/// The bit of the register that it is a part of.
fn bit(register: Register) -> u64 {
    let whole = register.full_register();
    if whole.is_vector_register() {
        return match whole.number() {
            first @ 0..15 => 1 << (FIRST_VECTOR + first),
            other => 1 << (SECOND_VECTORS + other - 15),
        };
    }
    let number = whole.number();
    match (whole.is_gpr(), number) {
        (false, _) | (true, 4) => 0,
        (true, below @ 0..4) => 1 << below,
        (true, above) => 1 << (above - 1),
    }
}

fn is_read(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

fn is_written(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// Whether a register is an operand by itself, and read.
fn computes_with(instruction: &Instruction, register: u64) -> bool {
    let mut operands = 0..instruction.op_count();
    let first_is_written_only = matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd | Mnemonic::Lea
    );
    operands.any(|operand| {
        instruction.op_kind(operand) == OpKind::Register
            && bit(instruction.op_register(operand)) == register
            && !(operand == 0 && first_is_written_only)
    })
}

/// What is made zero whatever it was (Intel optimization manual, 3.5.1.7).
fn is_zeroing(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Xor, Xorpd, Xorps};
    let same = |one, other| {
        instruction.op_kind(one) == OpKind::Register
            && instruction.op_kind(other) == OpKind::Register
            && instruction.op_register(one) == instruction.op_register(other)
    };
    match (instruction.mnemonic(), instruction.op_count()) {
        (Xor | Sub | Pxor | Xorps | Xorpd, 2) => same(0, 1),
        (Vpxor, 3) => same(1, 2),
        _ => false,
    }
}

fn cycles(instruction: &Instruction, loads: bool) -> u8 {
    use Mnemonic::*;
    let registers_alone =
        (0..instruction.op_count()).all(|operand| instruction.op_kind(operand) == OpKind::Register);
    let crosses = || {
        let of = |operand| instruction.op_register(operand).is_gpr();
        registers_alone && of(0) != of(1)
    };
    let wide = instruction.op0_register().size() == 8;
    match instruction.mnemonic() {
        _ if instruction.has_lock_prefix() => 18,
        Xchg if !registers_alone => 18,
        // A copy is a new name, and a plain load ends with its load.
        Mov | Movaps | Movups | Movapd | Movupd | Movdqa | Movdqu if registers_alone => 0,
        Mov | Movzx | Movsx | Movsxd | Movaps | Movups | Movapd | Movupd | Movdqa | Movdqu
        | Movss | Movsd | Pop
            if loads =>
        {
            0
        }
        Movd | Movq if crosses() => 3,
        Movd | Movq if loads => 0,
        Xor | Sub | Pxor | Xorps | Xorpd | Vpxor if is_zeroing(instruction) => 0,
        Imul | Mul | Popcnt | Lzcnt | Tzcnt | Bsf | Bsr | Pdep | Pext | Crc32 => 3,
        Div | Idiv => match wide || instruction.memory_size().size() == 8 {
            true => 14,
            false => 10,
        },
        Shl | Shr | Sar if instruction.op1_kind() == OpKind::Register => 2,
        Addss | Addsd | Addps | Addpd | Subss | Subsd | Subps | Subpd => 3,
        Ucomiss | Ucomisd | Comiss | Comisd | Pmovmskb | Movmskps | Movmskpd => 3,
        Mulss | Mulsd | Mulps | Mulpd | Fld | Fst | Fstp | Fild | Fistp | Fadd | Faddp | Fsub
        | Fsubp | Fmul | Fmulp => 4,
        Cvtss2sd | Cvtsd2ss => 5,
        Cvtsi2ss | Cvtsi2sd | Cvttss2si | Cvttsd2si => 7,
        Divss => 11,
        Divsd | Divps | Divpd | Fdiv | Fdivp => 15,
        Sqrtss | Sqrtsd => 16,
        Rdtsc | Rdtscp => 25,
        Cpuid => 100,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAX: u64 = 1;
    const RCX: u64 = 1 << 1;
    const RBX: u64 = 1 << 3;
    const RDI: u64 = 1 << 6;
    const R15: u64 = 1 << 14;

    #[track_caller]
    fn reads(code: &[u8], reads: u64, addresses: u64, writes: u64, loads: bool, cycles: u8) {
        let expected = Operation {
            reads,
            addresses,
            writes,
            loads,
            cycles,
        };
        assert_eq!(operation(code), expected);
    }

    #[test]
    fn registers_that_compute_and_registers_that_say_where() {
        // add rax, [rcx + 8*rdi]; mov rbx, [rbx]; mov [rdi], r15; lea rax, [rcx + rax]
        reads(
            &[0x48, 0x03, 0x04, 0xf9],
            RAX,
            RCX | RDI,
            RAX | FLAGS,
            true,
            1,
        );
        reads(&[0x48, 0x8b, 0x1b], 0, RBX, RBX, true, 0);
        reads(&[0x4c, 0x89, 0x3f], R15, RDI, 0, false, 1);
        reads(&[0x48, 0x8d, 0x04, 0x01], RAX | RCX, 0, RAX, false, 1);
    }

    #[test]
    fn what_makes_zero_and_what_copies_takes_no_time() {
        // xor eax, eax; mov rax, rbx; xor eax, ecx
        reads(&[0x31, 0xc0], 0, 0, RAX | FLAGS, false, 0);
        reads(&[0x48, 0x89, 0xd8], RBX, 0, RAX, false, 0);
        reads(&[0x31, 0xc8], RAX | RCX, 0, RAX | FLAGS, false, 1);
    }

    #[test]
    fn nobody_waits_for_the_stack_pointer() {
        // push rbx; pop rbx; ret; call rax; sub rsp, 8; mov rax, [rsp + 8]
        reads(&[0x53], RBX, 0, 0, false, 1);
        reads(&[0x5b], 0, 0, RBX, true, 0);
        reads(&[0xc3], 0, 0, 0, true, 1);
        reads(&[0xff, 0xd0], RAX, 0, 0, false, 1);
        reads(&[0x48, 0x83, 0xec, 0x08], 0, 0, FLAGS, false, 1);
        reads(&[0x48, 0x8b, 0x44, 0x24, 0x08], 0, 0, RAX, true, 0);
    }

    #[test]
    fn conditions_wait_for_flags() {
        // jne; cmovne rax, rcx; cmp rax, rcx; imul rax, rcx
        reads(&[0x75, 0x00], FLAGS, 0, 0, false, 1);
        reads(
            &[0x48, 0x0f, 0x45, 0xc1],
            FLAGS | RAX | RCX,
            0,
            RAX,
            false,
            1,
        );
        reads(&[0x48, 0x39, 0xc8], RAX | RCX, 0, FLAGS, false, 1);
        reads(
            &[0x48, 0x0f, 0xaf, 0xc1],
            RAX | RCX,
            0,
            RAX | FLAGS,
            false,
            3,
        );
    }

    #[test]
    fn vector_registers_are_followed() {
        // addsd xmm1, xmm0; movsd xmm2, [rdi]; pxor xmm1, xmm1; cvtsi2sd xmm1, rax
        let xmm = |number: usize| 1 << (FIRST_VECTOR + number);
        reads(
            &[0xf2, 0x0f, 0x58, 0xc8],
            xmm(0) | xmm(1),
            0,
            xmm(1),
            false,
            3,
        );
        reads(&[0xf2, 0x0f, 0x10, 0x17], 0, RDI, xmm(2), true, 0);
        reads(&[0x66, 0x0f, 0xef, 0xc9], 0, 0, xmm(1), false, 0);
        reads(
            &[0xf2, 0x48, 0x0f, 0x2a, 0xc8],
            RAX | xmm(1),
            0,
            xmm(1),
            false,
            7,
        );
    }

    #[test]
    fn no_bytes_are_misunderstood() {
        let mut state = 1_u64;
        for length in 0..=15 {
            for _ in 0..2000 {
                let code: Vec<u8> = (0..length)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        (state >> 56) as u8
                    })
                    .collect();
                let one = operation(&code);
                assert!((one.reads | one.addresses | one.writes) >> (SECOND_VECTORS + 17) == 0);
            }
        }
    }
}
