// SPDX-License-Identifier: GPL-2.0-or-later
//! The first blocks of innermost loops at multiples of so many bytes: a loop lies in as few lines of
//! decoded instructions as it can.

use super::loops::innermost;
use super::text::{Line, lines};

/// The text with aligned loops. argument: bytes, a power of two.
pub fn aligned(text: &str, argument: &str) -> Result<String, String> {
    let bytes: u32 = argument.parse().unwrap_or_default();
    if !bytes.is_power_of_two() {
        return Err(format!(
            "align-loops takes a power of two of bytes, not {argument:?}"
        ));
    }
    let all: Vec<Line> = lines(text).collect();
    let mut loops = innermost(&all).into_iter().peekable();
    let mut out = String::with_capacity(text.len() * 9 / 8);
    for (at, line) in all.iter().enumerate() {
        if loops.next_if(|each| each.head == at).is_some() {
            out.push_str(&format!("\t.p2align\t{}\n", bytes.trailing_zeros()));
        }
        out.push_str(line.text);
        out.push('\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::loops::NESTED;
    use super::super::text::CLANG;
    use super::*;

    #[test]
    fn the_label_of_an_innermost_loop_is_aligned_and_nothing_else() {
        let text = aligned(NESTED, "32").unwrap();
        let all: Vec<&str> = text.lines().collect();
        let pairs = all.windows(2).filter(|pair| pair[0] == "\t.p2align\t5");
        let labels: Vec<&str> = pairs.filter_map(|pair| pair[1].split(':').next()).collect();
        assert_eq!(labels, [".LBB0_2", ".LBB0_3"]);
        assert_eq!(text.replace("\t.p2align\t5\n", ""), NESTED);
        assert_eq!(aligned(CLANG, "32").unwrap(), CLANG);
    }

    #[test]
    fn what_is_no_power_of_two_is_told() {
        for argument in ["", "0", "24", "x"] {
            assert!(
                aligned(CLANG, argument)
                    .unwrap_err()
                    .contains("power of two")
            );
        }
    }
}
