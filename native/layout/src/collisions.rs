// SPDX-License-Identifier: GPL-2.0-or-later
//! Which lines, sets and functions displace each other from the instruction cache.
//!
//! A miss is the fault of the fetch that evicted its line. It is a *conflict* where a fully
//! associative cache of the same size, with least recently used replacement, would have had the
//! line: of these, placement is to blame (M. D. Hill and A. J. Smith, "Evaluating Associativity in
//! CPU Caches", IEEE Transactions on Computers 38 (12), 1989). The others are first fetches, and
//! what does not fit.

use std::collections::HashMap;

use kernsmith_frontend::{CpuModel, FrontEnd, LineEvent};
use kernsmith_trace::Block;

use super::timed::Placement;
use super::watch::Watch;

/// The owner of user code.
pub const USER: u32 = u32::MAX;

/// Nobody, or no line.
const NONE: u32 = u32::MAX - 1;

/// Of the fetches of a set, the lines that are told take so many per cent.
const MOST_FETCHES: u64 = 90;

/// Misses of one owner's lines, which another's fetches had evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// May be [`USER`].
    pub evictor: u32,
    pub evicted: u32,
    pub misses: u64,
    /// Of the misses.
    pub conflicts: u64,
}

/// A set of the cache, in kernel mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetUse {
    /// The fewest lines that have 90 % of its fetches: with more than the set has ways, it is
    /// overcommitted.
    pub lines: u64,
    /// Lines that were entered; a micro-op cache may spare the cache some of them.
    pub fetches: u64,
    pub misses: u64,
    pub conflicts: u64,
}

/// A line of code, in kernel mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineUse {
    /// Of its first byte.
    pub address: u64,
    /// Who missed it last.
    pub owner: u32,
    pub fetches: u64,
    pub misses: u64,
    pub conflicts: u64,
}

/// What a watched run has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collided {
    /// Misses of lines that nobody has evicted: they were never there.
    pub first: u64,
    /// By number.
    pub sets: Vec<SetUse>,
    /// The most misses first.
    pub pairs: Vec<Pair>,
    /// The same.
    pub lines: Vec<LineUse>,
}

impl Collided {
    /// So many times each count, to the nearest whole number.
    #[must_use]
    pub fn scaled(mut self, times: f64) -> Self {
        let scale = |counts: &mut [&mut u64]| {
            for count in counts {
                **count = (**count as f64 * times).round() as u64;
            }
        };
        scale(&mut [&mut self.first]);
        for set in &mut self.sets {
            scale(&mut [&mut set.fetches, &mut set.misses, &mut set.conflicts]);
        }
        for pair in &mut self.pairs {
            scale(&mut [&mut pair.misses, &mut pair.conflicts]);
        }
        for line in &mut self.lines {
            scale(&mut [&mut line.fetches, &mut line.misses, &mut line.conflicts]);
        }
        self
    }
}

/// Watches a run; all of its counts are of kernel mode, but user code evicts, too.
#[derive(Debug)]
pub struct Collisions<'a> {
    /// By block.
    owners: &'a [u32],
    /// By block: the place of its first line in `lines`. Its further lines are behind that.
    first_lines: Vec<u32>,
    /// All lines that blocks are in, by address.
    lines: Vec<Line>,
    whole: FullyAssociative,
    pairs: HashMap<(u32, u32), [u64; 2]>,
    first: u64,
    current: u64,
    line_shift: u32,
    set_mask: u64,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    number: u64,
    owner: u32,
    /// Who has evicted it last, while it is not there.
    evictor: u32,
    /// Whether the fully associative cache had it when it was fetched last.
    held: bool,
    fetches: u64,
    misses: u64,
    conflicts: u64,
}

impl<'a> Collisions<'a> {
    /// Blocks where a layout has them. owners: of each block its function, or [`USER`].
    #[must_use]
    pub fn new(
        blocks: &[Block],
        placement: &impl Placement,
        model: &CpuModel,
        owners: &'a [u32],
    ) -> Self {
        let line_shift = model.line_bytes.trailing_zeros();
        let span = |(number, block): (u32, &Block)| {
            let start = placement.block(number);
            let last = start + u64::from(block.bytes) - 1;
            (start >> line_shift, last >> line_shift)
        };
        let spans: Vec<(u64, u64)> = (0..).zip(blocks).map(span).collect();
        let all = spans.iter().flat_map(|(first, last)| *first..=*last);
        let mut numbers: Vec<u64> = all.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |(first, _): &(u64, u64)| numbers.partition_point(|one| one < first) as u32;
        let sets = model.l1i.bytes / model.line_bytes / model.l1i.ways;
        Self {
            owners,
            first_lines: spans.iter().map(place).collect(),
            whole: FullyAssociative::new(numbers.len(), model.l1i.bytes / model.line_bytes),
            lines: numbers.into_iter().map(Line::new).collect(),
            pairs: HashMap::new(),
            first: 0,
            current: u64::MAX,
            line_shift,
            set_mask: sets as u64 - 1,
        }
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Collided {
        let mut sets = vec![SetUse::default(); self.set_mask as usize + 1];
        let mut by_set: Vec<Vec<u64>> = vec![Vec::new(); sets.len()];
        for line in &self.lines {
            let number = (line.number & self.set_mask) as usize;
            let set = &mut sets[number];
            set.fetches += line.fetches;
            set.misses += line.misses;
            set.conflicts += line.conflicts;
            by_set[number].push(line.fetches);
        }
        for (set, fetches) in sets.iter_mut().zip(by_set) {
            set.lines = most_fetched(fetches);
        }
        let pair = |((evictor, evicted), [misses, conflicts]): ((u32, u32), [u64; 2])| Pair {
            evictor,
            evicted,
            misses,
            conflicts,
        };
        let mut pairs: Vec<Pair> = self.pairs.into_iter().map(pair).collect();
        pairs.sort_unstable_by_key(|one| (u64::MAX - one.misses, one.evictor, one.evicted));
        let missed = self.lines.iter().filter(|line| line.misses > 0);
        let told = |line: &Line| LineUse {
            address: line.number << self.line_shift,
            owner: line.owner,
            fetches: line.fetches,
            misses: line.misses,
            conflicts: line.conflicts,
        };
        let mut lines: Vec<LineUse> = missed.map(told).collect();
        lines.sort_unstable_by_key(|one| (u64::MAX - one.misses, one.address));
        Collided {
            first: self.first,
            sets,
            pairs,
            lines,
        }
    }

    /// The place of a line; `None` where no block is.
    fn place(&self, number: u64) -> Option<usize> {
        self.lines
            .binary_search_by_key(&number, |line| line.number)
            .ok()
    }

    fn miss(&mut self, number: u64, owner: u32) {
        let Some(place) = self.place(number) else {
            return;
        };
        let line = &mut self.lines[place];
        let evictor = std::mem::replace(&mut line.evictor, NONE);
        if owner == USER {
            return;
        }
        let conflict = u64::from(line.held);
        line.owner = owner;
        line.misses += 1;
        line.conflicts += conflict;
        if evictor == NONE {
            self.first += 1;
            return;
        }
        let pair = self.pairs.entry((evictor, owner)).or_default();
        pair[0] += 1;
        pair[1] += conflict;
    }
}

impl Watch for Collisions<'_> {
    fn start(&mut self, front_end: &mut FrontEnd) {
        front_end.line_events().keep();
    }

    fn begin(&mut self) {
        self.pairs.clear();
        self.first = 0;
        for line in &mut self.lines {
            (line.fetches, line.misses, line.conflicts) = (0, 0, 0);
        }
    }

    #[inline(always)]
    fn fetched(&mut self, block: u32, start: u64, last: u64, front_end: &mut FrontEnd) {
        let (start, end) = (start >> self.line_shift, last >> self.line_shift);
        let owner = self.owners[block as usize];
        let first = self.first_lines[block as usize];
        for (place, number) in (first..).zip(start..=end) {
            if number != self.current {
                self.current = number;
                let line = &mut self.lines[place as usize];
                line.held = self.whole.fetch(place);
                line.fetches += u64::from(owner != USER);
            }
        }
        for event in front_end.line_events().take() {
            match event {
                LineEvent::Missed(number) => self.miss(number, owner),
                LineEvent::Evicted(number) => {
                    if let Some(place) = self.place(number) {
                        self.lines[place].evictor = owner;
                    }
                }
            }
        }
    }
}

impl Line {
    fn new(number: u64) -> Self {
        Self {
            number,
            owner: NONE,
            evictor: NONE,
            held: false,
            fetches: 0,
            misses: 0,
            conflicts: 0,
        }
    }
}

/// How many of a set's lines have most of its fetches.
fn most_fetched(mut fetches: Vec<u64>) -> u64 {
    fetches.sort_unstable_by_key(|count| u64::MAX - count);
    let all: u64 = fetches.iter().sum();
    let mut sum = 0;
    let enough = |count: &u64| {
        let before = sum;
        sum += count;
        before * 100 < all * MOST_FETCHES
    };
    fetches.iter().copied().take_while(enough).count() as u64
}

/// A cache in which each line may be anywhere, of which the one used least recently has to go.
///
/// Lines are known by their places, and linked in the order of their last use.
#[derive(Debug)]
struct FullyAssociative {
    /// By line: the one that was used after it, and the one that was used before it. Behind all
    /// lines there is the end, which both ends of the order are linked to.
    links: Vec<[u32; 2]>,
    held: usize,
    most: usize,
    end: u32,
}

impl FullyAssociative {
    fn new(lines: usize, most: usize) -> Self {
        let end = lines as u32;
        let mut links = vec![[NONE; 2]; lines];
        links.push([end; 2]);
        Self {
            links,
            held: 0,
            most,
            end,
        }
    }

    /// Returns whether the line was there.
    #[inline(always)]
    fn fetch(&mut self, line: u32) -> bool {
        let latest = self.links[self.end as usize][1];
        if latest == line {
            return true;
        }
        let there = self.links[line as usize][0] != NONE;
        if there {
            self.unlink(line);
        } else if self.held == self.most {
            let oldest = self.links[self.end as usize][0];
            self.unlink(oldest);
            self.links[oldest as usize] = [NONE; 2];
        } else {
            self.held += 1;
        }
        let latest = std::mem::replace(&mut self.links[self.end as usize][1], line);
        self.links[latest as usize][0] = line;
        self.links[line as usize] = [self.end, latest];
        there
    }

    fn unlink(&mut self, line: u32) {
        let [after, before] = self.links[line as usize];
        self.links[after as usize][1] = before;
        self.links[before as usize][0] = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_used_least_recently_has_to_go() {
        let mut cache = FullyAssociative::new(6, 3);
        let fetched = [0, 1, 0, 2, 2, 3, 1, 0, 3, 1, 4, 0].map(|line| cache.fetch(line));
        let held = [2, 4, 8].map(|at| fetched[at]);
        // 3 takes the place of 1, 1 that of 0, 0 that of 2; 4 takes that of 0.
        assert_eq!(held, [true; 3]);
        assert_eq!(
            fetched[5..],
            [false, false, false, true, true, false, false]
        );
    }

    #[test]
    fn the_fewest_lines_with_nine_of_ten_fetches() {
        assert_eq!(most_fetched(vec![]), 0);
        assert_eq!(most_fetched(vec![0, 5, 0]), 1);
        assert_eq!(most_fetched(vec![1, 90, 9]), 1);
        assert_eq!(most_fetched(vec![1, 89, 10]), 2);
        assert_eq!(most_fetched(vec![1; 10]), 9);
    }
}
