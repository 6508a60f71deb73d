// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the flow came from: a register of taken branches, folded for the tables it indexes.
//!
//! Each taken branch shifts the register by two bits and mixes sixteen bits of its own address and
//! its target's in. So Intel's does from Haswell to Golden Cove (H. Yavarzadeh et al., Half&Half:
//! Demystifying Intel's Directional Branch Predictors for Fast, Secure Partitioned Execution, 2023);
//! which address bits meet in one place is from there. Folding: P. Michaud, A PPM-like, tag-based
//! branch predictor, 2005.

/// Bits that the register moves by at a taken branch.
const STEP: u32 = 2;

/// Branches whose bits the newest word holds; those of older ones do not change any more.
const NEWEST: usize = u64::BITS as usize / STEP as usize;

/// The most taken branches that a history can have.
pub const LONGEST: usize = 1 << u8::BITS;

/// The newest bits of the register, exclusive-ored into as few as a table's index or tag has.
#[derive(Debug, Clone, Copy)]
struct Fold {
    value: u32,
    /// Bits of the folded value.
    width: u32,
    /// By the two bits that leave the history: where they stand in the folded value.
    leaving: [u32; 1 << STEP],
}

impl Fold {
    /// length, width: bits of the register and of the folded value.
    fn new(length: u32, width: u32) -> Self {
        let place = |bits: u32, bit: u32| (bits >> bit & 1) << ((length + bit) % width);
        Self {
            value: 0,
            width,
            leaving: [0, 1, 2, 3].map(|bits| place(bits, 0) ^ place(bits, 1)),
        }
    }

    /// entering: folded already, into one bit more than there is room for, or as many.
    #[inline(always)]
    fn shift(&mut self, leaving: u8, entering: u32) {
        let turned = self.value << STEP | self.value >> (self.width - STEP);
        let mask = (1 << self.width) - 1;
        self.value = (turned ^ self.leaving[usize::from(leaving)] ^ entering) & mask;
    }
}

/// One length of history, in branches.
#[derive(Debug, Clone, Copy)]
struct Length {
    branches: u16,
    index: Fold,
    tag: Fold,
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
    /// Widths of index and tag.
    widths: [u32; 2],
}

impl PathHistory {
    /// No branch was taken yet. lengths: in taken branches; index, tag: their widths in bits, at
    /// least 9.
    #[must_use]
    pub fn new(lengths: &[usize], index: u32, tag: u32) -> Self {
        let length = |branches: &usize| Length {
            branches: *branches as u16,
            index: Fold::new(*branches as u32 * STEP, index),
            tag: Fold::new(*branches as u32 * STEP, tag),
        };
        Self {
            newest: 0,
            older: Box::new([0; LONGEST]),
            next: 0,
            lengths: lengths.iter().map(length).collect(),
            widths: [index, tag],
        }
    }

    /// Index and tag of the history with this number.
    #[inline(always)]
    #[must_use]
    pub fn folded(&self, number: usize) -> (u32, u32) {
        let length = &self.lengths[number];
        (length.index.value, length.tag.value)
    }

    /// A branch at `pc` was taken to `target`.
    #[inline(always)]
    pub fn take(&mut self, pc: u64, target: u64) {
        let entering = footprint(pc, target);
        let [index, tag] = self.widths.map(|width| entering ^ entering >> width);
        for length in &mut self.lengths {
            let branches = usize::from(length.branches);
            let leaving = if branches <= NEWEST {
                (self.newest >> (STEP as usize * (branches - 1)) & 3) as u8
            } else {
                self.older[usize::from(self.next.wrapping_sub((branches - NEWEST) as u8))]
            };
            length.index.shift(leaving, index);
            length.tag.shift(leaving, tag);
        }
        self.older[usize::from(self.next)] = (self.newest >> (u64::BITS - STEP)) as u8;
        self.next = self.next.wrapping_add(1);
        self.newest = self.newest << STEP ^ u64::from(entering);
    }
}

/// What a taken branch leaves behind, in 16 bits.
#[inline(always)]
fn footprint(pc: u64, target: u64) -> u32 {
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
            assert_eq!(footprint(address, target), footprint_of(address, target));
            history.take(address, target);
            register.take(address, target);
            address = target;
            for (number, branches) in LENGTHS.into_iter().enumerate() {
                let anew = |width| register.folded(branches, width);
                assert_eq!(history.folded(number), (anew(11), anew(12)));
            }
        }
    }
}
