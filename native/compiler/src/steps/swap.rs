// SPDX-License-Identifier: GPL-2.0-or-later
//! A miscompilation on purpose: one conditional jump of a function is taken where it was not, and
//! not taken where it was. For tests of what finds miscompiled objects.

use super::text::{Kind, lines};

const OPPOSITES: [(&str, &str); 10] = [
    ("je", "jne"),
    ("jz", "jnz"),
    ("jl", "jge"),
    ("jle", "jg"),
    ("jb", "jae"),
    ("jbe", "ja"),
    ("jc", "jnc"),
    ("js", "jns"),
    ("jo", "jno"),
    ("jp", "jnp"),
];

/// The text with a swapped comparison. argument: `FUNCTION`, or `FUNCTION:NUMBER` for another one
/// than its first conditional jump, which is number 0.
pub fn swapped(text: &str, argument: &str) -> Result<String, String> {
    let (function, number) = argument.split_once(':').unwrap_or((argument, "0"));
    let wanted: usize = number.parse().map_err(|_| {
        format!("swap-comparison takes FUNCTION or FUNCTION:NUMBER, not {argument:?}")
    })?;
    let (mut changed, mut seen, mut known) = (String::with_capacity(text.len()), 0, false);
    for line in lines(text) {
        known |= line.function == function;
        let jump = match line.kind {
            Kind::Instruction(mnemonic) if line.function == function => opposite(mnemonic),
            _ => None,
        };
        match jump {
            Some((old, new)) if seen == wanted => {
                changed.push_str(&line.text.replacen(old, new, 1));
                seen += 1;
            }
            _ => {
                changed.push_str(line.text);
                seen += usize::from(jump.is_some());
            }
        }
        changed.push('\n');
    }
    if seen > wanted {
        return Ok(changed);
    }
    Err(if known {
        format!("{function} has {seen} conditional jumps, and none with the number {wanted}")
    } else {
        format!("it has no function {function}")
    })
}

/// A conditional jump, and the one that is taken when it is not.
fn opposite(mnemonic: &str) -> Option<(&str, &'static str)> {
    let pairs = OPPOSITES.iter();
    let found = pairs
        .flat_map(|&(one, other)| [(one, other), (other, one)])
        .find(|(one, _)| *one == mnemonic);
    found.map(|(_, other)| (mnemonic, other))
}

#[cfg(test)]
mod tests {
    use super::super::text::{CLANG, GCC};
    use super::*;

    #[test]
    fn one_jump_is_the_other_way_round() {
        let text = swapped(CLANG, "f").unwrap();
        assert_eq!(text, CLANG.replace("jge\t", "jl\t"));
        assert_eq!(swapped(&text, "f:0").unwrap(), CLANG);
        assert_eq!(swapped(GCC, "g").unwrap(), GCC.replace("je\t", "jne\t"));
    }

    #[test]
    fn what_is_not_there_is_said() {
        for (argument, said) in [
            ("h", "no function h"),
            ("f:1", "has 1 conditional jumps"),
            ("f:x", "FUNCTION:NUMBER"),
        ] {
            assert!(swapped(CLANG, argument).unwrap_err().contains(said));
        }
    }
}
