// SPDX-License-Identifier: GPL-2.0-or-later
//! The exact branch profile: how often each stretch of code ran, and each branch was taken.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::block::Block;

/// What the blocks' own records have no room for.
#[derive(Debug, Default)]
pub struct Profile {
    /// (branch, target) → times taken, for indirect branches with more than two targets.
    edges: HashMap<(u64, u64), u64>,
    /// (first instruction, last instruction) → times, for blocks that were left in the middle.
    parts: HashMap<(u64, u64), u64>,
}

impl Profile {
    /// The indirect branch at the end of `from` went to `to`.
    #[inline(always)]
    pub fn count_indirect(&mut self, from: &mut Block, to: u64) {
        if from.successors[0].0 == to {
            from.successors[0].1 += 1;
        } else {
            self.count_other(from, to);
        }
    }

    fn count_other(&mut self, from: &mut Block, to: u64) {
        let place = from
            .successors
            .iter_mut()
            .find(|edge| edge.0 == to || edge.1 == 0);
        match place {
            Some(edge) => *edge = (to, edge.1 + 1),
            None => *self.edges.entry((from.last, to)).or_default() += 1,
        }
    }

    /// Of a block that was counted as entered, only the first `executed` instructions ran.
    pub fn count_part(&mut self, block: &mut Block, executed: usize) {
        block.entered = block.entered.saturating_sub(1);
        if executed > 0 {
            let part = (block.start, block.address_of(executed - 1));
            *self.parts.entry(part).or_default() += 1;
        }
    }

    /// The profile in the text format that `llvm-profgen --unsymbolized-profile` reads
    /// (`llvm/tools/llvm-profgen/PerfReader.cpp`): the number of ranges, `start-end:count` lines,
    /// the number of branches, `from->to:count` lines; addresses in hexadecimal, sorted. The end of a
    /// range is the address of its last instruction.
    #[must_use]
    pub fn text<'a>(&self, blocks: impl Iterator<Item = &'a Block>) -> String {
        let mut ranges: BTreeMap<_, u64> = self.parts.iter().map(|(k, v)| (*k, *v)).collect();
        let mut edges: BTreeMap<_, u64> = self.edges.iter().map(|(k, v)| (*k, *v)).collect();
        for block in blocks.filter(|block| block.kernel) {
            if block.entered > 0 {
                *ranges.entry((block.start, block.last)).or_default() += block.entered;
            }
            let direct = block
                .terminator
                .target()
                .map(|target| (target, block.taken));
            for (to, count) in block.successors.into_iter().chain(direct) {
                if count > 0 {
                    *edges.entry((block.last, to)).or_default() += count;
                }
            }
        }
        let mut text = String::new();
        section(&mut text, &ranges, "-");
        section(&mut text, &edges, "->");
        text
    }
}

fn section(text: &mut String, counts: &BTreeMap<(u64, u64), u64>, between: &str) {
    let _ = writeln!(text, "{}", counts.len());
    for ((from, to), count) in counts {
        let _ = writeln!(text, "{from:x}{between}{to:x}:{count}");
    }
}
