// SPDX-License-Identifier: GPL-2.0-or-later
//! Padding inside of functions: a random factor as layouts are, one level below.
//!
//! At the beginning of a quarter of all blocks that have a label stands one instruction more that
//! does nothing, of one to nine bytes; which blocks and how many bytes, only the seed, the
//! function's name and the block's number in it decide. It stands before the block's first
//! instruction: a block without any is one that nothing reaches, and objtool says so.

use super::text::{Kind, lines};

/// One of so many blocks is padded.
const EVERY: u64 = 4;
/// One instruction of each length that assemblers write: Intel's and AMD's recommended ones, with
/// displacements that are not left out for being 0.
const NOPS: [&str; 9] = [
    "nop",
    "xchgw\t%ax, %ax",
    "nopl\t(%rax)",
    "nopl\t8(%rax)",
    "nopl\t8(%rax,%rax)",
    "nopw\t8(%rax,%rax)",
    "nopl\t512(%rax)",
    "nopl\t512(%rax,%rax)",
    "nopw\t512(%rax,%rax)",
];
/// What tells padding from a compiler's own.
const MARK: &str = "# padding";

/// The text with padding.
pub fn with_nops(text: &str, seed: u64) -> String {
    let mut padded = String::with_capacity(text.len() * 9 / 8);
    let (mut function, mut number) = ("", 0);
    let mut pending = None;
    for line in lines(text) {
        if line.function != function {
            (function, number, pending) = (line.function, 0, None);
        }
        match line.kind {
            Kind::Block => {
                number += 1;
                pending = nop_of(draw(seed, function, number));
            }
            Kind::Instruction(_) => {
                if let Some(nop) = pending.take() {
                    padded.push_str(&format!("\t{nop}\t{MARK}\n"));
                }
            }
            // A block that begins with a programmer's own assembly may be none that is ever reached.
            _ if line.text.trim() == "#APP" => pending = None,
            _ => {}
        }
        padded.push_str(line.text);
        padded.push('\n');
    }
    padded
}

/// The padding of a block, if it has any.
fn nop_of(drawn: u64) -> Option<&'static str> {
    let nop = NOPS[(drawn / EVERY) as usize % NOPS.len()];
    drawn.is_multiple_of(EVERY).then_some(nop)
}

/// FNV-1a, with the finaliser of splitmix64 behind it (Steele, Lea, Flood 2014): the same for ever.
fn draw(seed: u64, function: &str, number: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let numbers = seed.to_le_bytes().into_iter().chain(number.to_le_bytes());
    for byte in function.bytes().chain(numbers) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::text::{CLANG, GCC};
    use super::*;

    #[test]
    fn only_the_seed_decides_and_nothing_else_changes() {
        let with = |seed| with_nops(GCC, seed);
        assert_eq!(with(1), with(1));
        let differ = (0..20)
            .filter(|seed| with(*seed) != with(*seed + 1))
            .count();
        assert!(
            differ > 5,
            "{differ} of 20 seeds give something else than the next"
        );
        for seed in 0..20 {
            let padded = with(seed);
            let kept: Vec<_> = padded.lines().filter(|line| !line.contains(MARK)).collect();
            assert_eq!(kept, GCC.lines().collect::<Vec<_>>());
        }
    }

    #[test]
    fn padding_stands_behind_labels_of_blocks_and_a_quarter_of_them() {
        let mut padded = 0;
        for seed in 0..400 {
            let text = with_nops(CLANG, seed);
            let all: Vec<&str> = text.lines().collect();
            for pair in all.windows(2).filter(|pair| pair[1].contains(MARK)) {
                assert_eq!(pair[0], ".LBB0_2:");
                padded += 1;
            }
        }
        assert!((60..140).contains(&padded), "{padded} of 400");
    }

    #[test]
    fn blocks_without_instructions_are_not_padded() {
        let empty = CLANG.replace("\tpopq\t%rbx\n\tretq\n", "");
        for seed in 0..40 {
            assert_eq!(with_nops(&empty, seed), empty);
        }
    }
}
