// SPDX-License-Identifier: GPL-2.0-or-later
//! x86-64: known encodings, and random ones against iced-x86; frames, marks, addresses.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic};
use kernsmith_arch::{Architecture, Frame, Marker, Terminator, Vcpu, X86_64, find};

const PC: u64 = 0xffff_ffff_8100_0000;

fn decode(bytes: &[u8]) -> Terminator {
    X86_64.terminator(PC, bytes)
}

#[test]
fn direct_branches_have_targets() {
    let conditional = |target| Terminator::Conditional { target };
    assert_eq!(decode(&[0x74, 0x10]), conditional(PC + 0x12));
    assert_eq!(decode(&[0x75, 0xf0]), conditional(PC - 0x0e));
    assert_eq!(decode(&[0x0f, 0x84, 0, 1, 0, 0]), conditional(PC + 0x106));
    assert_eq!(
        decode(&[0x2e, 0x0f, 0x85, 0, 1, 0, 0]),
        conditional(PC + 0x107)
    );
    assert_eq!(decode(&[0xe3, 0x05]), conditional(PC + 7));
    assert_eq!(decode(&[0xe2, 0xfe]), conditional(PC));
    assert_eq!(decode(&[0xeb, 0xfe]), Terminator::Jump { target: PC });
    assert_eq!(
        decode(&[0xe9, 0xfb, 0xff, 0xff, 0xff]),
        Terminator::Jump { target: PC }
    );
    assert_eq!(
        decode(&[0xe8, 0, 0, 0, 0]),
        Terminator::Call { target: PC + 5 }
    );
}

#[test]
fn indirect_branches_and_returns() {
    assert_eq!(decode(&[0xff, 0xe0]), Terminator::IndirectJump);
    assert_eq!(decode(&[0x3e, 0xff, 0xe0]), Terminator::IndirectJump);
    assert_eq!(decode(&[0x41, 0xff, 0xd3]), Terminator::IndirectCall);
    assert_eq!(
        decode(&[0xff, 0x14, 0xc5, 0, 0, 0, 0x82]),
        Terminator::IndirectCall
    );
    assert_eq!(decode(&[0xc3]), Terminator::Return);
    assert_eq!(decode(&[0xf3, 0xc3]), Terminator::Return);
    assert_eq!(decode(&[0xc2, 8, 0]), Terminator::Return);
}

#[test]
fn what_is_no_branch_of_a_compiler_is_far() {
    for bytes in [
        &[0x0f, 0x05][..],
        &[0x48, 0x0f, 0x07],
        &[0x48, 0xcf],
        &[0xcd, 0x80],
        &[0xcc],
        &[0x0f, 0x0b],
        &[0xff, 0x28],
    ] {
        assert_eq!(decode(bytes), Terminator::Far, "{bytes:x?}");
    }
}

#[test]
fn repeated_string_instructions_have_sizes() {
    assert_eq!(decode(&[0xf3, 0xa4]), Terminator::Repeat { bytes: 1 });
    assert_eq!(decode(&[0xf3, 0x48, 0xa5]), Terminator::Repeat { bytes: 8 });
    assert_eq!(decode(&[0xf3, 0x48, 0xab]), Terminator::Repeat { bytes: 8 });
    assert_eq!(decode(&[0xf3, 0xab]), Terminator::Repeat { bytes: 4 });
    assert_eq!(decode(&[0x66, 0xf3, 0xab]), Terminator::Repeat { bytes: 2 });
    assert_eq!(decode(&[0xf2, 0xae]), Terminator::Repeat { bytes: 1 });
    assert_eq!(decode(&[0xa4]), Terminator::None);
    assert_eq!(decode(&[0xf3, 0x90]), Terminator::None);
}

#[test]
fn what_waits_for_an_interrupt_halts() {
    for bytes in [
        &[0xf4][..],
        &[0x48, 0xf4],
        &[0x0f, 0x01, 0xc9],
        &[0x0f, 0x01, 0xfb],
    ] {
        assert!(X86_64.halts(bytes), "{bytes:x?}");
    }
    // PAUSE, STI, MONITOR, and a move of 0xf4.
    for bytes in [
        &[0xf3, 0x90][..],
        &[0xfb],
        &[0x0f, 0x01, 0xc8],
        &[0xb0, 0xf4],
    ] {
        assert!(!X86_64.halts(bytes), "{bytes:x?}");
    }
}

#[test]
fn entry_stubs_are_recognised() {
    const CLD: u8 = 0xfc;
    let endbr: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    let clac: &[u8] = &[0x0f, 0x01, 0xca];
    let nop: &[u8] = &[0x0f, 0x1f, 0x00];
    let push: &[u8] = &[0x6a, 0x21];
    let entry = |first: &[&[u8]], next| X86_64.is_exception_entry(first, &mut || next);
    assert!(entry(&[clac], Some(CLD)));
    assert!(entry(&[endbr, clac], Some(CLD)));
    assert!(entry(&[clac, &[CLD]], None));
    assert!(entry(&[nop, &[CLD]], None));
    assert!(entry(&[endbr, push, &[0xe9, 0, 0, 0, 0]], None));
    // The end of an access to user memory.
    assert!(!entry(&[clac], Some(0x85)));
    assert!(!entry(&[clac], None));
    assert!(!entry(&[endbr, &[0x55], &[0x48, 0x89, 0xe5]], Some(CLD)));
    assert!(!entry(&[nop, &[0x55]], Some(CLD)));
    assert!(!entry(&[push, &[0x55]], Some(CLD)));
    assert!(!entry(&[], Some(CLD)));
}

const STACK: u64 = 0xffff_c900_0000_3f00;

/// A processor whose stack pointer is [`STACK`], with these words there.
struct Stopped([u64; 6]);

impl Vcpu for Stopped {
    fn register(&mut self, place: usize) -> Option<u64> {
        (X86_64.frame_registers()[place] == c"rsp").then_some(STACK)
    }

    fn memory(&mut self, address: u64, words: &mut [u64]) -> bool {
        let readable = address == STACK && words.len() <= self.0.len();
        if readable {
            words.copy_from_slice(&self.0[..words.len()]);
        }
        readable
    }
}

#[test]
fn frames_with_and_without_error_code() {
    let frame = |stack| X86_64.frame(&mut Stopped(stack));
    let user = Frame {
        resume: 0x40_1000,
        fault: true,
    };
    assert_eq!(
        frame([6, 0x40_1000, 0x33, 0x10246, 0x7ffe_0000, 0x2b]),
        Some(user)
    );
    let kernel = Frame {
        resume: PC,
        fault: false,
    };
    assert_eq!(frame([PC, 0x10, 0x246, PC, 0x18, 0]), Some(kernel));
    // A stack with return addresses and saved registers.
    assert_eq!(frame([PC, 0x10, PC, 1, 0, 0]), None);
    assert_eq!(frame([1, 2, 3, 4, 5, 6]), None);
}

/// A processor of which nothing can be read.
struct Silent;

impl Vcpu for Silent {
    fn register(&mut self, _: usize) -> Option<u64> {
        Some(STACK)
    }

    fn memory(&mut self, _: u64, _: &mut [u64]) -> bool {
        false
    }
}

#[test]
fn a_stack_that_cannot_be_read_has_no_frame() {
    assert_eq!(X86_64.frame(&mut Silent), None);
}

#[test]
fn marks() {
    let mark = |operation| X86_64.marker(&[0x0f, 0x1f, 0x84, 0, operation, b'M', b'S', b'K']);
    assert_eq!(mark(1), Some(Marker::Arm));
    assert_eq!(mark(2), Some(Marker::Begin));
    assert_eq!(mark(3), Some(Marker::End));
    assert_eq!(mark(4), None);
    assert_eq!(X86_64.marker(&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0]), None);
    assert_eq!(X86_64.marker(&[0x90]), None);
    // A mark does nothing: it is a whole instruction of its size, and none of another kind.
    let bytes = [0x0f, 0x1f, 0x84, 0, 1, b'M', b'S', b'K'];
    let nop = iced_x86::Decoder::new(64, &bytes, iced_x86::DecoderOptions::NONE).decode();
    assert_eq!(
        (nop.mnemonic(), nop.len()),
        (Mnemonic::Nop, X86_64.marker_bytes())
    );
}

#[test]
fn the_upper_half_of_the_addresses_is_the_kernels() {
    let space = X86_64.address_space();
    for kernel in [1 << 63, 0xffff_8000_0000_0000, PC, u64::MAX] {
        assert!(space.is_kernel(kernel), "{kernel:x}");
    }
    for user in [0, 0x40_1000, 0x7fff_ffff_f000, (1 << 63) - 1] {
        assert!(!space.is_kernel(user), "{user:x}");
    }
}

#[test]
fn an_architecture_is_found_by_the_word_of_qemu() {
    let found = find("x86_64").expect("it is known");
    assert_eq!(found.qemu_target(), "x86_64");
    assert_eq!(
        find("riscv64").expect_err("nobody has described it"),
        "QEMU for riscv64 cannot be traced: allowed is QEMU for x86_64"
    );
}

/// What iced-x86 says, in the words of the tracer; `None` where the two are not comparable.
fn expected(instruction: &Instruction) -> Option<Terminator> {
    let target = instruction.near_branch_target();
    let string = instruction.is_string_instruction();
    if string && (instruction.has_rep_prefix() || instruction.has_repne_prefix()) {
        let bytes = instruction.memory_size().size() as u8;
        return Some(Terminator::Repeat { bytes });
    }
    Some(match instruction.flow_control() {
        FlowControl::Next => Terminator::None,
        FlowControl::ConditionalBranch => Terminator::Conditional { target },
        FlowControl::UnconditionalBranch if instruction.is_jmp_far() => return None,
        FlowControl::UnconditionalBranch => Terminator::Jump { target },
        FlowControl::IndirectBranch if instruction.is_jmp_far_indirect() => Terminator::Far,
        FlowControl::IndirectBranch => Terminator::IndirectJump,
        FlowControl::IndirectCall if instruction.is_call_far_indirect() => Terminator::Far,
        FlowControl::IndirectCall => Terminator::IndirectCall,
        FlowControl::Call if instruction.is_call_near() => Terminator::Call { target },
        FlowControl::Call | FlowControl::Interrupt => Terminator::Far,
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => Terminator::Return,
        FlowControl::Return => Terminator::Far,
        FlowControl::Exception if instruction.mnemonic() == Mnemonic::Ud2 => Terminator::Far,
        FlowControl::XbeginXabortXend | FlowControl::Exception => return None,
    })
}

/// Virtual machine and enclave calls, and the 16-bit forms that only AMD executes.
fn is_out_of_scope(instruction: &Instruction, bytes: &[u8]) -> bool {
    let exotic = matches!(
        instruction.mnemonic(),
        Mnemonic::Vmcall
            | Mnemonic::Vmlaunch
            | Mnemonic::Vmresume
            | Mnemonic::Vmmcall
            | Mnemonic::Vmrun
            | Mnemonic::Vmfunc
            | Mnemonic::Vmgexit
            | Mnemonic::Skinit
            | Mnemonic::Rsm
            | Mnemonic::Uiret
            | Mnemonic::Eretu
            | Mnemonic::Erets
            | Mnemonic::Loadall
            | Mnemonic::Montmul
            | Mnemonic::Hlt
            | Mnemonic::Jmpe
    );
    let centaur = format!("{:?}", instruction.mnemonic()).starts_with('X');
    let narrow_branch = bytes.contains(&0x66) && instruction.flow_control() != FlowControl::Next;
    exotic || centaur || narrow_branch || instruction.code() == Code::INVALID
}

#[test]
fn random_instructions_are_what_iced_says() {
    let mut state = 6_u64;
    let mut compared = 0;
    for _ in 0..2_000_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&state.rotate_left(29).to_be_bytes());
        bytes[8..].copy_from_slice(&state.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let options = iced_x86::DecoderOptions::NONE;
        let mut decoder = iced_x86::Decoder::with_ip(64, &bytes, PC, options);
        let instruction = decoder.decode();
        let bytes = &bytes[..instruction.len()];
        if instruction.is_invalid() || is_out_of_scope(&instruction, bytes) {
            continue;
        }
        if let Some(expected) = expected(&instruction) {
            assert_eq!(decode(bytes), expected, "{instruction} {bytes:02x?}");
            compared += 1;
        }
    }
    assert!(compared > 1_000_000, "{compared}");
}
