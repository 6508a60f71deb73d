// SPDX-License-Identifier: GPL-2.0-or-later
//! Innermost loops: what a jump back to a block of the same function encloses, and no other such
//! jump does.
//!
//! Steps that make loops faster or slower need no more than that: a loop that is not found stays as it is,
//! and one that a jump through a table closes is not found.

use std::collections::HashMap;

use super::jumps::is_direct_jump;
use super::operands::operands;
use super::text::{Kind, Line};

/// The lines of a loop: that of the label of its first block, and that of its last jump back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    pub head: usize,
    pub last: usize,
}

/// The innermost loops of a text, in its order.
pub fn innermost(lines: &[Line]) -> Vec<Loop> {
    let mut blocks: HashMap<(&str, &str), usize> = HashMap::new();
    let mut lasts: HashMap<usize, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            Kind::Block => {
                let label = line.text.split(':').next().unwrap_or_default();
                blocks.insert((line.function, label), at);
            }
            Kind::Instruction(mnemonic) if is_direct_jump(mnemonic, line.text) => {
                let target = operands(line.text).first().copied().unwrap_or_default();
                if let Some(&head) = blocks.get(&(line.function, target)) {
                    lasts.insert(head, at);
                }
            }
            _ => {}
        }
    }
    let mut all: Vec<Loop> = lasts
        .into_iter()
        .map(|(head, last)| Loop { head, last })
        .collect();
    all.sort_by_key(|each| each.head);
    let is_innermost = |each: &Loop| {
        let from = all.partition_point(|other| other.head <= each.head);
        let mut within = all[from..].iter();
        !within.any(|other| other.last <= each.last)
    };
    all.iter().copied().filter(is_innermost).collect()
}

#[cfg(test)]
pub const NESTED: &str = "\
\t.text
\t.type\tf,@function
f:
.LBB0_1:
\txorl\t%ecx, %ecx
.LBB0_2:                                # =>This Inner Loop Header: Depth=2
\tmovl\t8(%rdi,%rcx,4), %edx
\taddl\t(%rdi,%rcx,4), %eax
\tcmpl\t4(%rsi), %eax
\tincq\t%rcx
\tcmpq\t%rcx, %r8
\tje\t.LBB0_2
\tjne\t.LBB0_2
\taddq\t$64, %rsi
\tjmp\t.LBB0_1
.LBB0_3:
\tmovq\t(%rdi), %rdi
\tmovq\t-8(%rsi), %rax
\tsubq\t$8, %rsi
\tmovq\t%rax, 8(%rsi)
\tjb\t.LBB0_3
\tje\t.LBB0_4
.LBB0_4:
\tretq
\t.size\tf, .-f
";

#[cfg(test)]
mod tests {
    use super::super::text::{CLANG, GCC, lines};
    use super::*;

    fn heads(text: &str) -> Vec<(&str, &str)> {
        let all: Vec<Line> = lines(text).collect();
        let found = innermost(&all);
        let shown = |at: usize| all[at].text.split('#').next().unwrap_or_default().trim();
        found
            .iter()
            .map(|each| (shown(each.head), shown(each.last)))
            .collect()
    }

    #[test]
    fn a_loop_with_another_in_it_is_none_of_the_innermost() {
        assert_eq!(
            heads(NESTED),
            [(".LBB0_2:", "jne\t.LBB0_2"), (".LBB0_3:", "jb\t.LBB0_3")]
        );
    }

    #[test]
    fn jumps_forward_and_into_other_functions_make_no_loop() {
        assert_eq!(heads(CLANG), []);
        assert_eq!(
            heads(GCC),
            [],
            "of the cold part the jump is to another function"
        );
    }
}
