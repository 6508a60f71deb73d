// SPDX-License-Identifier: GPL-2.0-or-later
//! Chains of blocks and their merging, for [`super::ext_tsp`].

use std::collections::BTreeMap;

use super::ext_tsp::{Jump, worth};

/// Chains of more blocks are not split: section 4.2 of the paper has the same bound.
const LONGEST_SPLIT: usize = 128;
/// Less is no gain, but the rounding of sums.
const LEAST_GAIN: f64 = 1e-8;
const ENTRY: usize = 0;

/// How two chains become one, the first of them split in front of its block of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Behind,
    /// The second one stands between the parts of the first.
    Between(usize),
    /// Second, then the parts of the first in turned order.
    TurnedBehind(usize),
    /// The parts of the first in turned order, then the second.
    TurnedBefore(usize),
}

/// A merging of two chains.
#[derive(Debug, Clone, Copy)]
struct Merging {
    gain: f64,
    first: usize,
    second: usize,
    way: Way,
}

/// All chains, at first of one block each.
pub struct Chains<'a> {
    sizes: &'a [u64],
    jumps: &'a [Jump],
    /// Blocks of each chain; none of those that were merged into others.
    blocks: Vec<Vec<usize>>,
    /// What each is worth by the jumps inside of it, and their numbers.
    worths: Vec<f64>,
    inside: Vec<Vec<usize>>,
    /// Jumps between two chains, the lower number first.
    between: BTreeMap<(usize, usize), Vec<usize>>,
    /// Where blocks begin in the sequence that is looked at.
    starts: Vec<u64>,
}

impl<'a> Chains<'a> {
    /// Of all blocks; jumps must go from and to blocks that there are.
    pub fn new(sizes: &'a [u64], jumps: &'a [Jump]) -> Self {
        let count = sizes.len();
        let mut chains = Self {
            sizes,
            jumps,
            blocks: (0..count).map(|block| vec![block]).collect(),
            worths: vec![0.0; count],
            inside: vec![Vec::new(); count],
            between: BTreeMap::new(),
            starts: vec![0; count],
        };
        for (number, jump) in jumps.iter().enumerate() {
            if jump.from == jump.to {
                chains.inside[jump.from].push(number);
            } else {
                let pair = ordered(jump.from, jump.to);
                chains.between.entry(pair).or_default().push(number);
            }
        }
        for chain in 0..count {
            chains.worths[chain] = chains.worth_of(&[&[chain]], &chains.inside[chain].clone());
        }
        chains
    }

    /// Joins blocks of which one always follows the other: no order parts them.
    pub fn join_forced(&mut self) {
        let count = self.sizes.len();
        let (mut out, mut into) = (vec![Vec::new(); count], vec![0; count]);
        for jump in self.jumps.iter().filter(|jump| jump.count > 0) {
            out[jump.from].push(jump.to);
            into[jump.to] += 1;
        }
        let mut chain_of: Vec<usize> = (0..count).collect();
        for block in 0..count {
            let &[next] = &out[block][..] else {
                continue;
            };
            let (first, second) = (chain_of[block], chain_of[next]);
            let forced = next != ENTRY && into[next] == 1 && first != second;
            if forced && self.blocks[first].last() == Some(&block) {
                for moved in &self.blocks[second] {
                    chain_of[*moved] = first;
                }
                self.join(&Merging {
                    gain: 0.0,
                    first,
                    second,
                    way: Way::Behind,
                });
            }
        }
    }

    /// Merges chains until none gain.
    pub fn merge(&mut self) {
        let pairs: Vec<_> = self.between.keys().copied().collect();
        let mut found: BTreeMap<(usize, usize), Merging> = BTreeMap::new();
        for pair in pairs {
            found.insert(pair, self.best(pair));
        }
        while let Some(best) = most(&found) {
            let (kept, gone) = (best.first, best.second);
            self.join(&best);
            found.retain(|pair, _| ![pair.0, pair.1].contains(&gone));
            let near = self
                .between
                .keys()
                .filter(|pair| pair.0 == kept || pair.1 == kept);
            for pair in near.copied().collect::<Vec<_>>() {
                found.insert(pair, self.best(pair));
            }
        }
    }

    /// The blocks of all chains: the entry's chain first, then what is executed most for its size.
    pub fn sorted(self, counts: &[u64]) -> Vec<usize> {
        let density = |blocks: &Vec<usize>| {
            let executed: u64 = blocks.iter().map(|block| counts[*block]).sum();
            let size: u64 = blocks.iter().map(|block| self.sizes[*block]).sum();
            executed as f64 / size.max(1) as f64
        };
        let mut chains: Vec<_> = self
            .blocks
            .iter()
            .filter(|blocks| !blocks.is_empty())
            .collect();
        chains.sort_by(|a, b| {
            let enters = |blocks: &Vec<usize>| blocks[0] == ENTRY;
            enters(b)
                .cmp(&enters(a))
                .then(density(b).total_cmp(&density(a)))
        });
        chains.into_iter().flatten().copied().collect()
    }

    /// The best way to merge two chains, in either order.
    fn best(&mut self, pair: (usize, usize)) -> Merging {
        let mut jumps = self.between.get(&pair).cloned().unwrap_or_default();
        jumps.extend(&self.inside[pair.0]);
        jumps.extend(&self.inside[pair.1]);
        let before = self.worths[pair.0] + self.worths[pair.1];
        let mut best = Merging {
            gain: 0.0,
            first: pair.0,
            second: pair.1,
            way: Way::Behind,
        };
        for (first, second) in [pair, (pair.1, pair.0)] {
            for way in self.ways(first) {
                let worth = {
                    let parts = arranged(&self.blocks[first], &self.blocks[second], way);
                    if self.misplaces_entry(&parts, first, second) {
                        continue;
                    }
                    let starts = &mut self.starts;
                    worth_of(&parts, &jumps, self.jumps, self.sizes, starts)
                };
                if worth - before > best.gain + LEAST_GAIN {
                    best = Merging {
                        gain: worth - before,
                        first,
                        second,
                        way,
                    };
                }
            }
        }
        best
    }

    fn ways(&self, first: usize) -> Vec<Way> {
        let blocks = self.blocks[first].len();
        let mut ways = vec![Way::Behind];
        if blocks <= LONGEST_SPLIT {
            for at in 1..blocks {
                ways.extend([
                    Way::Between(at),
                    Way::TurnedBehind(at),
                    Way::TurnedBefore(at),
                ]);
            }
        }
        ways
    }

    /// Whether one of two chains has the entry, and the parts do not begin with it.
    fn misplaces_entry(&self, parts: &[&[usize]], first: usize, second: usize) -> bool {
        let enters = |chain: usize| self.blocks[chain][0] == ENTRY;
        let begin = parts.iter().find_map(|part| part.first());
        (enters(first) || enters(second)) && begin != Some(&ENTRY)
    }

    /// Makes one chain of two, under the number of the first.
    fn join(&mut self, merging: &Merging) {
        let (first, second) = (merging.first, merging.second);
        let (own, other) = (
            self.blocks[first].clone(),
            std::mem::take(&mut self.blocks[second]),
        );
        self.blocks[first] = arranged(&own, &other, merging.way).concat();
        let mut jumps = std::mem::take(&mut self.inside[second]);
        jumps.extend(
            self.between
                .remove(&ordered(first, second))
                .unwrap_or_default(),
        );
        self.inside[first].extend(jumps);
        let moved = self
            .between
            .keys()
            .filter(|pair| pair.0 == second || pair.1 == second);
        for pair in moved.copied().collect::<Vec<_>>() {
            let neighbour = if pair.0 == second { pair.1 } else { pair.0 };
            let jumps = self.between.remove(&pair).unwrap_or_default();
            let pair = ordered(first, neighbour);
            self.between.entry(pair).or_default().extend(jumps);
        }
        let blocks = self.blocks[first].clone();
        let inside = self.inside[first].clone();
        self.worths[first] = self.worth_of(&[&blocks], &inside);
    }

    fn worth_of(&mut self, parts: &[&[usize]], jumps: &[usize]) -> f64 {
        worth_of(parts, jumps, self.jumps, self.sizes, &mut self.starts)
    }
}

/// What jumps (by number) are worth when blocks stand like this.
fn worth_of(
    parts: &[&[usize]],
    numbers: &[usize],
    jumps: &[Jump],
    sizes: &[u64],
    starts: &mut [u64],
) -> f64 {
    let mut at = 0;
    for block in parts.iter().copied().flatten() {
        starts[*block] = at;
        at += sizes[*block];
    }
    let of = |number: &usize| {
        let jump = &jumps[*number];
        let end = starts[jump.from] + sizes[jump.from];
        worth(jump.count, end, starts[jump.to])
    };
    numbers.iter().map(of).sum()
}

/// The parts of two chains in the order of a way.
fn arranged<'b>(first: &'b [usize], second: &'b [usize], way: Way) -> [&'b [usize]; 3] {
    match way {
        Way::Behind => [first, second, &[]],
        Way::Between(at) => [&first[..at], second, &first[at..]],
        Way::TurnedBehind(at) => [second, &first[at..], &first[..at]],
        Way::TurnedBefore(at) => [&first[at..], &first[..at], second],
    }
}

fn ordered(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

/// The merging that gains most; of equal ones, the first.
fn most(found: &BTreeMap<(usize, usize), Merging>) -> Option<Merging> {
    let mut best: Option<Merging> = None;
    for merging in found.values() {
        if merging.gain > best.map_or(LEAST_GAIN, |best| best.gain) {
            best = Some(*merging);
        }
    }
    best
}
