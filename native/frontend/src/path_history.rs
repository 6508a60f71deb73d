// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the flow came from: a register of branches, folded for the tables it indexes. It is of paths or
//! of directions.
//!
//! Of paths: each taken branch shifts it by two bits and mixes sixteen bits of its own address and its
//! target's in. So Intel's does from Haswell to Golden Cove (H. Yavarzadeh et al., Half&Half:
//! Demystifying Intel's Directional Branch Predictors for Fast, Secure Partitioned Execution, 2023);
//! which address bits meet in one place is from there. Of directions: each conditional branch shifts it
//! by two bits, one of which says whether it was taken (T.-Y. Yeh and Y. Patt, Alternative
//! Implementations of Two-Level Adaptive Branch Prediction, 1992). So a Zen 3's does: docs/silicon.md.
//! Folding: P. Michaud, A PPM-like, tag-based branch predictor, 2005.

use std::hint::select_unpredictable;

/// Bits that the register moves by at a branch.
const STEP: u32 = 2;

/// Branches whose bits the newest word holds; those of older ones do not change any more.
const NEWEST: usize = u64::BITS as usize / STEP as usize;

/// The most branches that a history can have.
pub const LONGEST: usize = 1 << u8::BITS;

/// Lengths of history whose folded bits lie in one word, each in a lane.
const LANES: usize = 4;
const LANE_BITS: u32 = u64::BITS / LANES as u32;

/// Every lane 1.
const ONES: u64 = 0x0001_0001_0001_0001;

/// How the newest bits of the register are exclusive-ored into as few as a table's index or tag
/// has: at most [`LANE_BITS`].
#[derive(Debug, Clone, Copy)]
struct Fold {
    width: u32,
    /// In every lane: all of these bits, and those that a step does not turn over.
    mask: u64,
    kept: u64,
}

impl Fold {
    fn new(width: u32) -> Self {
        let low = |bits: u32| ((1_u64 << bits) - 1) * ONES;
        Self {
            width,
            mask: low(width),
            kept: low(width) & !low(STEP),
        }
    }

    /// Where two bits that leave a history of so many bits stand.
    fn leaving(self, length: u32, bits: u64) -> u64 {
        let place = |bit: u32| (bits >> bit & 1) << ((length + bit) % self.width);
        place(0) ^ place(1)
    }

    /// All lanes move by a step, and this comes into each.
    #[inline(always)]
    fn shift(self, lanes: u64, entering: u64) -> u64 {
        let over = lanes >> (self.width - STEP) & !(self.kept | !self.mask);
        let entered = ((entering ^ entering >> self.width) * ONES) & self.mask;
        (lanes << STEP & self.kept | over) ^ entered
    }
}

/// One length of history.
#[derive(Debug, Clone, Copy)]
struct Length {
    /// Whether what leaves it is in the newest word, where that is there, and else how far back in
    /// the ring.
    is_newest: bool,
    newest: u8,
    older: u8,
    /// By the two bits that leave it: where they stand in the lanes of index and tag.
    leaving: [[u64; 2]; 1 << STEP],
}

/// Indexes and tags of as many lengths of history as a word has lanes.
pub type Folds = [u64; 2];

/// Index and tag of the history with this number.
#[inline(always)]
#[must_use]
pub fn folded(folds: &[Folds], number: usize) -> (u32, u32) {
    let [index, tag] = folds[number / LANES];
    let lane = number as u32 % LANES as u32 * LANE_BITS;
    let of = |lanes: u64| (lanes >> lane) as u32 & ((1 << LANE_BITS) - 1);
    (of(index), of(tag))
}

/// The register, with an index and a tag for each length of history.
#[derive(Debug, Clone)]
pub struct PathHistory {
    /// The newest bits are the lowest.
    newest: u64,
    /// Two bits of each branch before those, in a ring.
    older: Box<[u8; LONGEST]>,
    /// Where the next ones come.
    next: u8,
    lengths: Vec<Length>,
    /// Of index and tag.
    folds: [Fold; 2],
    folded: Vec<Folds>,
}

impl PathHistory {
    /// No branch was resolved yet. lengths: in branches; index, tag: their widths in bits, from 9 to
    /// 16.
    #[must_use]
    pub fn new(lengths: &[usize], index: u32, tag: u32) -> Self {
        let folds = [index, tag].map(Fold::new);
        let length = |(number, branches): (usize, &usize)| {
            let lane = number as u32 % LANES as u32 * LANE_BITS;
            let places =
                |bits| folds.map(|fold| fold.leaving(*branches as u32 * STEP, bits) << lane);
            Length {
                is_newest: *branches <= NEWEST,
                newest: (STEP as usize * (*branches - 1).min(NEWEST - 1)) as u8,
                older: branches.saturating_sub(NEWEST) as u8,
                leaving: [0, 1, 2, 3].map(places),
            }
        };
        Self {
            newest: 0,
            older: Box::new([0; LONGEST]),
            next: 0,
            lengths: lengths.iter().enumerate().map(length).collect(),
            folds,
            folded: vec![[0; 2]; lengths.len().div_ceil(LANES)],
        }
    }

    /// Indexes and tags of all histories: see [`folded`].
    #[inline(always)]
    #[must_use]
    pub fn folds(&self) -> &[Folds] {
        &self.folded
    }

    /// A branch at `pc` was taken to `target`: of a history of paths.
    #[inline(always)]
    pub fn take(&mut self, pc: u64, target: u64) {
        self.step(footprint(pc, target));
    }

    /// A conditional branch was taken or not: of a history of directions.
    #[inline(always)]
    pub fn resolve(&mut self, taken: bool) {
        self.step(taken.into());
    }

    #[inline(always)]
    fn step(&mut self, entering: u64) {
        let (newest, next, folds) = (self.newest, self.next, self.folds);
        for (lanes, lengths) in self.folded.iter_mut().zip(self.lengths.chunks(LANES)) {
            let (mut index, mut tag) = (0, 0);
            for length in lengths {
                let older = self.older[usize::from(next.wrapping_sub(length.older))];
                let newer = newest >> length.newest;
                let leaving = select_unpredictable(length.is_newest, newer, older.into()) & 3;
                let [from_index, from_tag] = length.leaving[leaving as usize];
                index ^= from_index;
                tag ^= from_tag;
            }
            lanes[0] = folds[0].shift(lanes[0], entering) ^ index;
            lanes[1] = folds[1].shift(lanes[1], entering) ^ tag;
        }
        self.older[usize::from(self.next)] = (self.newest >> (u64::BITS - STEP)) as u8;
        self.next = self.next.wrapping_add(1);
        self.newest = self.newest << STEP ^ entering;
    }
}

/// What a taken branch leaves behind, in 16 bits.
#[inline(always)]
fn footprint(pc: u64, target: u64) -> u64 {
    let [low, high] = [pc as usize & 0xff, pc as usize >> 8 & 0xff];
    (LOW[low] ^ HIGH[high] ^ TARGET[target as usize & 0x3f]).into()
}

/// By bits 0 to 7 of a branch's address, and by bits 8 to 15: their part of its footprint.
static LOW: [u16; 256] = parts(0, false);
static HIGH: [u16; 256] = parts(8, false);

/// By bits 0 to 5 of its target's.
static TARGET: [u16; 64] = parts(0, true);

const fn parts<const SIZE: usize>(shift: u32, of_target: bool) -> [u16; SIZE] {
    let mut parts = [0; SIZE];
    let mut bits = 0;
    while bits < SIZE {
        let address = (bits as u64) << shift;
        parts[bits] = if of_target {
            footprint_of(0, address)
        } else {
            footprint_of(address, 0)
        } as u16;
        bits += 1;
    }
    parts
}

/// Bit by bit: no bit of the result is of two bits of one address.
const fn footprint_of(pc: u64, target: u64) -> u32 {
    const fn of(address: u64, bit: u32) -> u32 {
        (address >> bit & 1) as u32
    }
    of(pc, 12) << 15
        | of(pc, 13) << 14
        | ((pc >> 5 & 0x3f) as u32) << 8
        | (of(pc, 0) ^ of(target, 2)) << 7
        | (of(pc, 1) ^ of(target, 3)) << 6
        | (of(pc, 2) ^ of(target, 4)) << 5
        | (of(pc, 11) ^ of(target, 5)) << 4
        | of(pc, 14) << 3
        | of(pc, 15) << 2
        | (of(pc, 3) ^ of(target, 0)) << 1
        | (of(pc, 4) ^ of(target, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 5] = [17, 32, 34, 66, 194];

    /// The register itself, the newest bit first.
    struct Register([bool; LONGEST * STEP as usize]);

    impl Register {
        fn take(&mut self, pc: u64, target: u64) {
            self.0.rotate_right(STEP as usize);
            self.0[..STEP as usize].fill(false);
            for (bit, set) in self.0.iter_mut().take(16).enumerate() {
                *set ^= footprint_of(pc, target) >> bit & 1 != 0;
            }
        }

        /// Bits are folded as they stand in the register, each to its place modulo the width.
        fn folded(&self, branches: usize, width: usize) -> u32 {
            let bits = self.0.iter().take(branches * STEP as usize).enumerate();
            bits.fold(0, |sum, (bit, set)| sum ^ u32::from(*set) << (bit % width))
        }
    }

    #[test]
    fn folds_are_those_of_the_register() {
        let mut history = PathHistory::new(&LENGTHS, 11, 12);
        let mut register = Register([false; LONGEST * STEP as usize]);
        let mut address = 0x40_1234_u64;
        for _ in 0..1000 {
            let target = address.wrapping_mul(6_364_136_223_846_793_005) >> 20;
            assert_eq!(
                footprint(address, target),
                u64::from(footprint_of(address, target))
            );
            history.take(address, target);
            register.take(address, target);
            address = target;
            for (number, branches) in LENGTHS.into_iter().enumerate() {
                let anew = |width| register.folded(branches, width);
                assert_eq!(folded(history.folds(), number), (anew(11), anew(12)));
            }
        }
    }
}
