// SPDX-License-Identifier: GPL-2.0-or-later
//! Removal of prefetches, and insertion: what they are worth, or cost.
//!
//! Removed are a programmer's own, too: the kernel's are alternatives, of which each is a line.
//!
//! Inserted are those of what an innermost loop will read: in front of a load whose address the loop
//! advances by numbers, and by nothing else, a prefetch of what lies so many bytes further in that direction.
//! A prefetch changes no register and no flag, and faults nowhere. Of loads that differ in a number only,
//! the first has one.

use std::collections::HashSet;

use super::loops::{Loop, innermost};
use super::operands::{Address, operands, whole};
use super::text::{Kind, Line, lines};

/// What reads no memory although it has an address in front, by how it begins.
const NO_LOADS: [&str; 5] = ["lea", "nop", "prefetch", "j", "call"];
/// What writes to none of its operands.
const COMPARISONS: [&str; 2] = ["cmp", "test"];
/// What changes the instruction behind it, where it stands on a line of its own.
const PREFIXES: [&str; 8] = [
    "lock", "rep", "repe", "repne", "repz", "repnz", "notrack", "data16",
];

/// The text without them.
pub fn without(text: &str) -> String {
    let is_kept = |line: &&str| {
        let line = line.trim();
        !line.starts_with("prefetch") || line.contains(';')
    };
    let kept = text.lines().filter(is_kept);
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// The text with prefetches. bytes: how far ahead.
pub fn ahead(text: &str, bytes: i64) -> String {
    let all: Vec<Line> = lines(text).collect();
    let mut out = String::with_capacity(text.len() * 9 / 8);
    let mut written = 0;
    for each in innermost(&all) {
        for (at, prefetch) in prefetches(&all, each, bytes) {
            push(&mut out, &all[written..at]);
            out.push_str(&format!("\tprefetcht0\t{prefetch}\n"));
            written = at;
        }
    }
    push(&mut out, &all[written..]);
    out
}

fn push(out: &mut String, lines: &[Line]) {
    for line in lines {
        out.push_str(line.text);
        out.push('\n');
    }
}

/// The addresses of prefetches in a loop, and the lines that they stand in front of.
fn prefetches(all: &[Line], each: Loop, bytes: i64) -> Vec<(usize, String)> {
    let code: Vec<(usize, &str, Vec<&str>)> = (each.head..=each.last)
        .filter_map(|at| match all[at].kind {
            Kind::Instruction(mnemonic) => Some((at, mnemonic, operands(all[at].text))),
            _ => None,
        })
        .collect();
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for (number, (at, mnemonic, operands)) in code.iter().enumerate() {
        let before = number.checked_sub(1).map(|number| code[number].1);
        if before.is_some_and(|before| PREFIXES.contains(&before)) {
            continue;
        }
        let Some(address) = loaded(mnemonic, operands) else {
            continue;
        };
        let Some(direction) = direction(&address, &code) else {
            continue;
        };
        if known.insert(address.registers) {
            let offset = address.offset + direction * bytes;
            if i32::try_from(offset).is_ok() {
                found.push((*at, format!("{offset}({})", address.registers)));
            }
        }
    }
    found
}

/// What an instruction reads of memory.
fn loaded<'a>(mnemonic: &str, operands: &[&'a str]) -> Option<Address<'a>> {
    if NO_LOADS.iter().any(|start| mnemonic.starts_with(start)) {
        return None;
    }
    let read = if is_one_of(mnemonic, &COMPARISONS) {
        operands
    } else {
        operands.split_last()?.1
    };
    read.iter().find_map(|operand| Address::read(operand))
}

/// 1 where a loop advances an address, -1 where it goes back; none where it does neither, or anything
/// else with a register of it.
fn direction(address: &Address, code: &[(usize, &str, Vec<&str>)]) -> Option<i64> {
    let mut direction = None;
    for register in address.parts()? {
        for (_, mnemonic, operands) in code {
            let target = operands.last().and_then(|name| name.strip_prefix('%'));
            if target.and_then(whole) == Some(register) && !is_one_of(mnemonic, &COMPARISONS) {
                direction = Some(advance(mnemonic, operands, register)?);
            }
        }
    }
    direction
}

/// The direction in which an instruction moves a register that it writes.
fn advance(mnemonic: &str, operands: &[&str], register: &str) -> Option<i64> {
    let number = || operands.first()?.strip_prefix('$')?.parse::<i64>().ok();
    let by = match mnemonic {
        "incq" => 1,
        "decq" => -1,
        "addq" => number()?,
        "subq" => -number()?,
        "leaq" => {
            let address = Address::read(operands.first()?)?;
            (address.registers.strip_prefix('%') == Some(register)).then_some(address.offset)?
        }
        _ => return None,
    };
    (by != 0).then_some(by.signum())
}

/// With or without the suffix of a size.
fn is_one_of(mnemonic: &str, stems: &[&str]) -> bool {
    let stem = mnemonic.strip_suffix(['b', 'w', 'l', 'q']);
    stems
        .iter()
        .any(|name| *name == mnemonic || stem == Some(name))
}

#[cfg(test)]
mod tests {
    use super::super::loops::NESTED;
    use super::super::text::CLANG;
    use super::*;

    #[test]
    fn prefetches_and_nothing_else_are_gone() {
        let gone: Vec<&str> = CLANG
            .lines()
            .filter(|line| line.trim().starts_with("prefetch"))
            .collect();
        assert_eq!(gone.len(), 2);
        let text = without(CLANG);
        assert!(!text.contains("prefetch"));
        assert_eq!(text.lines().count() + 2, CLANG.lines().count());
        assert!(without("\tprefetchw (%rax); call f\n").contains("call"));
    }

    fn inserted(text: &str) -> Vec<(String, String)> {
        let with = ahead(text, 256);
        assert_eq!(without(&with), text, "nothing else is changed");
        let all: Vec<&str> = with.lines().map(str::trim).collect();
        let pairs = all
            .windows(2)
            .filter(|pair| pair[0].starts_with("prefetcht0"));
        pairs
            .map(|pair| (pair[0].replace("prefetcht0\t", ""), pair[1].into()))
            .collect()
    }

    #[test]
    fn loads_that_a_loop_advances_are_prefetched_in_its_direction() {
        let expected = [
            ("264(%rdi,%rcx,4)", "movl\t8(%rdi,%rcx,4), %edx"),
            ("-264(%rsi)", "movq\t-8(%rsi), %rax"),
        ];
        let expected = expected.map(|(one, other)| (one.to_string(), other.to_string()));
        assert_eq!(inserted(NESTED), expected, "and no list, and no store");
    }

    #[test]
    fn what_the_loop_does_more_with_is_not_prefetched() {
        for (old, new) in [
            ("\tincq\t%rcx\n", "\tmovq\t%rax, %rcx\n"),
            ("\tincq\t%rcx\n", "\tincq\t%rcx\n\tmovl\t%eax, %edi\n"),
            (
                "\tmovl\t8(%rdi,%rcx,4), %edx\n\taddl\t(%rdi",
                "\tlock\n\taddl\t(%rdi",
            ),
            (
                "movl\t8(%rdi,%rcx,4), %edx\n\taddl\t",
                "leal\t8(%rdi,%rcx,4), %edx\n\tleaq\t",
            ),
        ] {
            let text = NESTED.replace(old, new);
            assert_ne!(text, NESTED);
            let inserted = inserted(&text);
            assert!(
                inserted.iter().all(|(to, _)| !to.contains("rdi")),
                "{inserted:?}"
            );
        }
    }

    #[test]
    fn a_comparison_with_memory_is_a_load() {
        for line in [
            "cmpl\t%eax, (%rdx)",
            "cmpb\t$0, (%rdx)",
            "testb\t$1, (%rdx)",
        ] {
            let text = NESTED.replace("incq\t%rcx", &format!("{line}\n\tleaq\t8(%rdx), %rdx"));
            let found = inserted(&text.replace("%edx\n", "%r9d\n"));
            assert!(
                found.contains(&("256(%rdx)".into(), line.into())),
                "{found:?}"
            );
        }
    }
}
