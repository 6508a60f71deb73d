// SPDX-License-Identifier: GPL-2.0-or-later
//! No jump over a boundary of 32 bytes, nor up to one: processors with the Jump Conditional Code
//! erratum (Intel, "Mitigations for Jump Conditional Code Erratum", 2019) keep no decoded instructions
//! of a line in which there is such a jump.
//!
//! Assemblers have an option for it, and a kernel that is assembled with it is broken: it pads
//! between the label of a static branch and its jump, too, and what the kernel then patches is the padding.
//! Here only a compiler's own jumps are padded, never what a programmer has written as assembly.
//!
//! A jump of L bytes must not begin so near to a boundary that it needs all the room up to it:
//! `.p2align 5,,L` in front of it says just that, and the assembler, which knows where things are, does it.
//! L is known when it was assembled once; padding can make a jump longer, so that is repeated until nothing
//! changes.

use std::collections::HashMap;

use super::text::{Kind, lines};
use crate::elf;

/// 2 to the power of this is the distance of boundaries.
const BOUNDARY: u32 = 5;
const BYTES: u64 = 1 << BOUNDARY;
const MOST_PASSES: usize = 8;
/// No instruction is longer than 15 bytes, and two are one jump where they are decoded as one.
const LONGEST: u64 = 30;

/// Instructions that are decoded as one with the conditional jump behind them (Intel, "Optimization
/// Reference Manual", macro-fusion), without the suffix of their size.
const FUSED: [&str; 7] = ["cmp", "test", "add", "sub", "and", "inc", "dec"];

/// A conditional or direct jump, with what is decoded as one with it.
struct Jump {
    /// The lines that it begins with, and that it is in.
    first: usize,
    last: usize,
    /// Its length in bytes.
    length: u64,
}

/// The text with padding. assemble: makes an object of a text.
pub fn padded(
    text: &str,
    assemble: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<String, String> {
    let mut jumps = jumps_in(text);
    if jumps.is_empty() {
        return Ok(text.into());
    }
    for pass in 0..MOST_PASSES {
        let places = places(&assemble(&written(text, &jumps, true))?, jumps.len())?;
        let mut settled = pass > 0;
        for (jump, (start, end)) in jumps.iter_mut().zip(places) {
            let length = end.saturating_sub(start);
            if length == 0 || length > LONGEST {
                return Err(format!("a jump of it has {length} bytes"));
            }
            settled &= start / BYTES == end / BYTES;
            jump.length = jump.length.max(length);
        }
        if settled {
            return Ok(written(text, &jumps, false));
        }
    }
    Err(format!("its jumps find no places in {MOST_PASSES} passes"))
}

/// With padding in front of the jumps whose length is known. labelled: with labels in front of and
/// behind each jump.
fn written(text: &str, jumps: &[Jump], labelled: bool) -> String {
    let by_first: HashMap<usize, usize> = numbered(jumps, |jump| jump.first);
    let by_last: HashMap<usize, usize> = numbered(jumps, |jump| jump.last);
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for (at, line) in text.lines().enumerate() {
        if let Some(&number) = by_first.get(&at) {
            let length = jumps[number].length;
            if length > 0 {
                out.push_str(&format!("\t.p2align\t{BOUNDARY},,{length}\n"));
            }
            if labelled {
                out.push_str(&format!("{}:\n", elf::label('a', number)));
            }
        }
        out.push_str(line);
        out.push('\n');
        if let Some(number) = by_last.get(&at).filter(|_| labelled) {
            out.push_str(&format!("{}:\n", elf::label('b', *number)));
        }
    }
    out
}

fn numbered(jumps: &[Jump], line: impl Fn(&Jump) -> usize) -> HashMap<usize, usize> {
    jumps
        .iter()
        .enumerate()
        .map(|(number, jump)| (line(jump), number))
        .collect()
}

/// Where each jump begins and ends in its section.
fn places(object: &[u8], count: usize) -> Result<Vec<(u64, u64)>, String> {
    let symbols =
        elf::labels(object).map_err(|error| format!("its object cannot be read: {error}"))?;
    let of = |side, number| symbols.get(&elf::label(side, number)).copied();
    (0..count)
        .map(|number| of('a', number).zip(of('b', number)))
        .collect::<Option<_>>()
        .ok_or_else(|| "its object lacks a label".into())
}

fn jumps_in(text: &str) -> Vec<Jump> {
    let mut jumps = Vec::new();
    // The line of an instruction that may be decoded as one with the next.
    let mut before = None;
    for (at, line) in lines(text).enumerate() {
        let trimmed = line.text.trim();
        match line.kind {
            Kind::Instruction(mnemonic) if is_direct_jump(mnemonic, trimmed) => {
                let conditional = !mnemonic.starts_with("jmp");
                let first = before.filter(|_| conditional).unwrap_or(at);
                jumps.push(Jump {
                    first,
                    last: at,
                    length: 0,
                });
                before = None;
            }
            Kind::Instruction(mnemonic) => before = is_fused(mnemonic).then_some(at),
            Kind::Other if is_nothing(trimmed) => {}
            _ => before = None,
        }
    }
    jumps
}

/// `jne .LBB0_1`, `jmp f`: not by a register or by memory.
pub fn is_direct_jump(mnemonic: &str, line: &str) -> bool {
    mnemonic.starts_with('j') && !line.contains('*')
}

fn is_fused(mnemonic: &str) -> bool {
    let stem = mnemonic.strip_suffix(['b', 'w', 'l', 'q']);
    FUSED
        .iter()
        .any(|name| *name == mnemonic || stem == Some(name))
}

/// Comments, and what debuggers are told.
fn is_nothing(line: &str) -> bool {
    let comment = line.starts_with('#') && line != "#APP" && line != "#NO_APP";
    let temporary = line.starts_with(".Ltmp") && line.ends_with(':');
    line.is_empty() || comment || temporary || line.starts_with(".loc")
}

#[cfg(test)]
mod tests {
    use super::super::text::{CLANG, GCC};
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let all: Vec<&str> = text.lines().map(str::trim).collect();
        let shown = |jump: &Jump| (all[jump.first].to_string(), all[jump.last].to_string());
        jumps_in(text).iter().map(shown).collect()
    }

    #[test]
    fn jumps_are_found_with_what_they_are_decoded_with() {
        let expected = [("cmpl\t%esi, %edi", "jge\t.LBB0_2")];
        let expected = expected.map(|(first, last)| (first.to_string(), last.to_string()));
        assert_eq!(found(CLANG), expected, "and none of a programmer's own");
        let gcc = found(GCC);
        assert_eq!(gcc[0].0, "testl\t%edi, %edi");
        assert_eq!(gcc[1], ("jne\t.L4".into(), "jne\t.L4".into()));
        assert_eq!(gcc.len(), 2, "jmp by memory is none");
    }

    #[test]
    fn a_block_between_two_instructions_parts_them() {
        let text = CLANG.replace("\tjge\t.LBB0_2\n", ".LBB0_9:\n\tjge\t.LBB0_2\n");
        assert_eq!(found(&text)[0].0, "jge\t.LBB0_2");
        let text = CLANG.replace(
            "\tjge\t.LBB0_2\n",
            ".Ltmp1:\n\t.loc\t1 2 3\n\tjge\t.LBB0_2\n",
        );
        assert_eq!(found(&text)[0].0, "cmpl\t%esi, %edi");
        assert!(!is_fused("cmpxchgl") && !is_fused("testy") && is_fused("incq"));
    }

    #[test]
    fn padding_asks_for_room_and_labels_stay_inside() {
        let mut jumps = jumps_in(CLANG);
        jumps[0].length = 4;
        let padded = written(CLANG, &jumps, false);
        assert!(
            padded.contains("\t.p2align\t5,,4\n\tcmpl\t%esi, %edi\n\tjge"),
            "{padded}"
        );
        assert_eq!(padded.lines().count(), CLANG.lines().count() + 1);
        let labelled = written(CLANG, &jumps, true);
        let (a, b) = (elf::label('a', 0), elf::label('b', 0));
        assert!(labelled.contains(&format!("{a}:\n\tcmpl")), "{labelled}");
        assert!(
            labelled.contains(&format!("jge\t.LBB0_2\n{b}:\n")),
            "{labelled}"
        );
    }

    #[test]
    fn what_cannot_be_assembled_is_told() {
        let said = padded(CLANG, |_| Err("no".into())).unwrap_err();
        assert_eq!(said, "no");
        let said = padded(CLANG, |_| Ok(b"x".to_vec())).unwrap_err();
        assert!(said.contains("cannot be read"), "{said}");
        assert_eq!(padded("\tret\n", |_| Err("no".into())).unwrap(), "\tret\n");
    }
}
