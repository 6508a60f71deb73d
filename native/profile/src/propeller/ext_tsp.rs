// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of a function's blocks: Newell and Pupyrev, "Improved Basic Block Reordering", IEEE
//! Transactions on Computers 69 (2020), with their weights and distances (section 4).

use super::chains::Chains;

/// Bytes over which a jump forward or backward still counts.
const FORWARD: u64 = 1024;
const BACKWARD: u64 = 640;
/// What a jump of no distance is worth, where falling through is worth 1.
const NEAR: f64 = 0.1;

/// A way from one block to another that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    pub from: usize,
    pub to: usize,
    pub count: u64,
}

/// What a jump is worth, when the block that it goes from ends at one address and the block that
/// it goes to begins at another.
pub fn worth(count: u64, end: u64, begin: u64) -> f64 {
    let near = |distance: u64, most: u64| {
        NEAR * (1.0 - distance.min(most) as f64 / most as f64) * count as f64
    };
    match begin.cmp(&end) {
        std::cmp::Ordering::Equal => count as f64,
        std::cmp::Ordering::Greater => near(begin - end, FORWARD),
        std::cmp::Ordering::Less => near(end - begin, BACKWARD),
    }
}

/// What an order of all blocks is worth: the more, the better.
///
/// sizes: of the blocks, in bytes.
#[must_use]
pub fn score(order: &[usize], sizes: &[u64], jumps: &[Jump]) -> f64 {
    let mut starts = vec![0; sizes.len()];
    let mut at = 0;
    for block in order {
        starts[*block] = at;
        at += sizes[*block];
    }
    let of = |jump: &Jump| {
        let end = starts[jump.from] + sizes[jump.from];
        worth(jump.count, end, starts[jump.to])
    };
    jumps.iter().map(of).sum()
}

/// An order of blocks that is worth much; block 0 is the first.
///
/// Chains of blocks are merged, the pair first that gains most by it; the first of the two may be
/// split to take in the other. What then are several chains is sorted by density.
///
/// sizes, counts: of the blocks, in bytes, and how often each was executed.
#[must_use]
pub fn ext_tsp(sizes: &[u64], counts: &[u64], jumps: &[Jump]) -> Vec<usize> {
    let mut chains = Chains::new(sizes, jumps);
    chains.join_forced();
    chains.merge();
    chains.sorted(counts)
}
