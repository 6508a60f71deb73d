// SPDX-License-Identifier: GPL-2.0-or-later
//! Where instructions begin, and where execution cannot go on.

use kernsmith_profile::{Code, Image};

const AT: u64 = 0xffff_ffff_8100_0000;

fn disassembled(bytes: &[u8], symbols: &[u64]) -> Code {
    let mut code = Code::new(AT, AT + bytes.len() as u64).expect("some code");
    code.disassemble(AT, bytes, symbols);
    code
}

#[test]
fn each_symbol_begins_anew() {
    // mov $0x90909090, %eax; a symbol in its middle shows four nops.
    let bytes = [0xb8, 0x90, 0x90, 0x90, 0x90, 0xc3];
    let begins = |symbols: &[u64]| {
        let code = disassembled(&bytes, symbols);
        (0..6)
            .filter(|offset| code.begins(*offset))
            .collect::<Vec<_>>()
    };
    assert_eq!(begins(&[AT]), [0, 5]);
    assert_eq!(begins(&[AT, AT + 2]), [0, 2, 3, 4, 5]);
    assert_eq!(begins(&[AT + 5]), [5]);
    assert_eq!(begins(&[]), []);
}

#[test]
fn a_lock_is_an_instruction_of_its_own_to_llvm() {
    // lock add %eax, (%rdi); lock inc behind another prefix; nop.
    let bytes = [0xf0, 0x01, 0x07, 0x66, 0xf0, 0xff, 0x07, 0x90];
    let code = disassembled(&bytes, &[AT]);
    let begins: Vec<u32> = (0..8).filter(|offset| code.begins(*offset)).collect();
    assert_eq!(begins, [0, 1, 3, 7]);
}

#[test]
fn addresses_and_offsets() {
    let code = disassembled(&[0x90; 4], &[AT]);
    assert_eq!(code.offset(AT + 3), Some(3));
    assert_eq!(code.address(3), AT + 3);
    assert_eq!((code.offset(AT + 4), code.offset(AT - 1)), (None, None));
    assert_eq!(code.offset(0), None);
}

#[test]
fn only_calls_returns_and_direct_jumps_end_a_stretch() {
    let leaves: [&[u8]; 7] = [
        &[0xe8, 0, 0, 0, 0],
        &[0xff, 0xd0],
        &[0xeb, 0],
        &[0xe9, 0, 0, 0, 0],
        &[0xc3],
        &[0xf3, 0xc3],
        &[0x48, 0xcf],
    ];
    let goes_on: [&[u8]; 6] = [
        &[0x74, 0],
        &[0xff, 0xe0],
        &[0x0f, 0x05],
        &[0x0f, 0x0b],
        &[0xcc],
        &[0x48, 0x0f, 0x07],
    ];
    let falls = |instruction: &[u8]| {
        let bytes = [&[0x90], instruction, &[0x90]].concat();
        let end = bytes.len() as u32 - 1;
        disassembled(&bytes, &[AT]).falls_through(0, end)
    };
    for instruction in leaves {
        assert!(!falls(instruction), "{instruction:x?}");
    }
    for instruction in goes_on {
        assert!(falls(instruction), "{instruction:x?}");
    }
}

#[test]
fn stretches_of_any_length() {
    let mut bytes = vec![0x90; 400];
    bytes[200] = 0xc3;
    let code = disassembled(&bytes, &[AT]);
    for (from, to) in [
        (0, 399),
        (199, 201),
        (200, 201),
        (128, 256),
        (192, 255),
        (0, 201),
    ] {
        assert!(!code.falls_through(from, to), "{from} {to}");
    }
    // What ends a stretch may be its last instruction.
    for (from, to) in [
        (0, 200),
        (200, 200),
        (201, 399),
        (0, 63),
        (0, 64),
        (0, 128),
        (320, 384),
    ] {
        assert!(code.falls_through(from, to), "{from} {to}");
    }
    assert!(!code.falls_through(5, 4));
}

#[test]
fn a_jump_that_the_kernel_patches_can_be_passed() {
    // nop, jmp, nop, ret, nop
    let mut code = disassembled(&[0x90, 0xeb, 0x00, 0x90, 0xc3, 0x90], &[AT]);
    assert!(!code.falls_through(0, 3));
    code.pass(&[AT + 1, 0]);
    assert!(code.falls_through(0, 3));
    assert!(!code.falls_through(0, 5));
}

#[test]
fn no_code_and_too_much_of_it() {
    assert_eq!(Code::new(AT, AT).expect_err("nothing"), "has no code");
    assert_eq!(Code::new(AT, AT - 1).expect_err("less"), "has no code");
    assert!(
        Code::new(0, AT)
            .expect_err("all memory")
            .contains("gigabyte")
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn this_program_is_an_image() {
    let own = std::env::current_exe().expect("a program");
    let image = Image::load(&own).expect("an image");
    let begins = (0..1 << 16)
        .filter(|offset| image.code.begins(*offset))
        .count();
    assert!(begins > 1000, "{begins}");
    assert_eq!(image.mark("_text"), None);
}
