// SPDX-License-Identifier: GPL-2.0-or-later
//! The exact branch profile: how often each stretch of code ran, and each branch was taken.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::block::{Block, Blocks};

/// What the blocks' own records have no room for.
#[derive(Debug, Default)]
pub struct Profile {
    /// By block: where its indirect branch went first, with counts.
    successors: Vec<[(u64, u64); 2]>,
    /// (branch, target) → times, for indirect branches with more than two targets.
    edges: HashMap<(u64, u64), u64>,
    /// (first instruction, last instruction) → times, for blocks that were left in the middle.
    parts: HashMap<(u64, u64), u64>,
    /// By block: how often its counts of entries and of taken branches have run over.
    carries: HashMap<usize, [u64; 2]>,
}

impl Profile {
    /// `block` was entered.
    #[inline(always)]
    pub fn count_entry(&mut self, block: &Block) {
        if block.entered.raise() == 0 {
            self.carry(block, 0);
        }
    }

    /// The direct branch at the end of `block` was taken.
    #[inline(always)]
    pub fn count_taken(&mut self, block: &Block) {
        if block.taken.raise() == 0 {
            self.carry(block, 1);
        }
    }

    #[cold]
    fn carry(&mut self, block: &Block, count: usize) {
        self.carries.entry(block.number()).or_default()[count] += 1;
    }

    /// The indirect branch at the end of `block` went to `to`.
    #[inline(always)]
    pub fn count_indirect(&mut self, block: &Block, to: u64) {
        match self.successors.get_mut(block.number()) {
            Some([(first, count), _]) if *first == to => *count += 1,
            _ => self.count_other(block, to),
        }
    }

    fn count_other(&mut self, block: &Block, to: u64) {
        if self.successors.len() <= block.number() {
            self.successors
                .resize(block.number() + 1, Default::default());
        }
        let known = &mut self.successors[block.number()];
        match known.iter_mut().find(|edge| edge.0 == to || edge.1 == 0) {
            Some(edge) => *edge = (to, edge.1 + 1),
            None => *self.edges.entry((block.last(), to)).or_default() += 1,
        }
    }

    /// A block that was counted as entered ran only up to the instruction at `last`, or not at
    /// all.
    pub fn count_part(&mut self, block: &Block, last: Option<u64>) {
        match block.entered.get().checked_sub(1) {
            Some(entered) => block.entered.set(entered),
            // It was entered before the region began.
            None => return,
        }
        if let Some(last) = last {
            *self.parts.entry((block.start, last)).or_default() += 1;
        }
    }

    /// The profile in the text format that `llvm-profgen --unsymbolized-profile` reads
    /// (`llvm/tools/llvm-profgen/PerfReader.cpp`): the number of ranges, `start-end:count` lines,
    /// the number of branches, `from->to:count` lines; addresses in hexadecimal, sorted. The end
    /// of a range is the address of its last instruction. `of_programs`: with the code of programs.
    #[must_use]
    pub fn text(&self, blocks: &Blocks, of_programs: bool) -> String {
        let mut ranges: BTreeMap<_, u64> = self.parts.iter().map(|(k, v)| (*k, *v)).collect();
        let mut edges: BTreeMap<_, u64> = self.edges.iter().map(|(k, v)| (*k, *v)).collect();
        for block in blocks.iter().filter(|block| block.kernel() || of_programs) {
            let [entries, takens] = self
                .carries
                .get(&block.number())
                .copied()
                .unwrap_or_default();
            let entered = u64::from(block.entered.get()) + (entries << 32);
            if entered > 0 {
                *ranges.entry((block.start, block.last())).or_default() += entered;
            }
            let taken = (
                block.target(),
                u64::from(block.taken.get()) + (takens << 32),
            );
            let indirect = self
                .successors
                .get(block.number())
                .copied()
                .unwrap_or_default();
            for (to, count) in indirect.into_iter().chain([taken]) {
                if count > 0 {
                    *edges.entry((block.last(), to)).or_default() += count;
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
