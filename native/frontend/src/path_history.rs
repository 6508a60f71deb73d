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

/// Words that hold the longest history.
const WORDS: usize = 8;

/// The most taken branches that a history can have.
pub const LONGEST: usize = WORDS * 64 / STEP as usize;

/// The newest bits of the register, exclusive-ored into as few as a table's index or tag has.
#[derive(Debug, Clone, Copy)]
struct Fold {
    /// Bits of the register.
    length: u32,
    /// Bits of the folded value.
    width: u32,
    value: u32,
}

impl Fold {
    fn shift(&mut self, leaving: u64, entering: u32) {
        let mask = (1 << self.width) - 1;
        let turned = self.value << STEP | self.value >> (self.width - STEP);
        let place = |bit: u32| ((leaving >> bit & 1) as u32) << ((self.length + bit) % self.width);
        let folded = entering ^ entering >> self.width;
        self.value = (turned ^ place(0) ^ place(1) ^ folded) & mask;
    }
}

/// The register, with an index and a tag for each length of history.
#[derive(Debug, Clone)]
pub struct PathHistory {
    /// The newest bits are the lowest of the first word.
    bits: [u64; WORDS],
    folds: Vec<[Fold; 2]>,
}

impl PathHistory {
    /// No branch was taken yet. lengths: in taken branches; index, tag: their widths in bits, at
    /// least 9.
    #[must_use]
    pub fn new(lengths: &[usize], index: u32, tag: u32) -> Self {
        let fold = |branches: usize, width| Fold {
            length: branches as u32 * STEP,
            width,
            value: 0,
        };
        Self {
            bits: [0; WORDS],
            folds: lengths
                .iter()
                .map(|branches| [fold(*branches, index), fold(*branches, tag)])
                .collect(),
        }
    }

    /// Index and tag of the history with this number.
    #[inline(always)]
    #[must_use]
    pub fn folded(&self, number: usize) -> (u32, u32) {
        let [index, tag] = &self.folds[number];
        (index.value, tag.value)
    }

    /// A branch at `pc` was taken to `target`.
    #[inline(always)]
    pub fn take(&mut self, pc: u64, target: u64) {
        let entering = footprint(pc, target);
        for folds in &mut self.folds {
            let last = folds[0].length - STEP;
            let leaving = self.bits[(last / 64) as usize] >> (last % 64) & 3;
            for fold in folds {
                fold.shift(leaving, entering);
            }
        }
        for word in (1..WORDS).rev() {
            self.bits[word] = self.bits[word] << STEP | self.bits[word - 1] >> (64 - STEP);
        }
        self.bits[0] = self.bits[0] << STEP ^ u64::from(entering);
    }
}

/// What a taken branch leaves behind, in 16 bits.
#[inline(always)]
fn footprint(pc: u64, target: u64) -> u32 {
    let of = |address: u64, bit: u32| (address >> bit & 1) as u32;
    let (b, t) = (|bit| of(pc, bit), |bit| of(target, bit));
    b(12) << 15
        | b(13) << 14
        | ((pc >> 5 & 0x3f) as u32) << 8
        | (b(0) ^ t(2)) << 7
        | (b(1) ^ t(3)) << 6
        | (b(2) ^ t(4)) << 5
        | (b(11) ^ t(5)) << 4
        | b(14) << 3
        | b(15) << 2
        | (b(3) ^ t(0)) << 1
        | (b(4) ^ t(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits are folded as they stand in the register, each to its place modulo the width.
    fn folded_anew(history: &PathHistory, length: u32, width: u32) -> u32 {
        (0..length).fold(0, |sum, bit| {
            let set = history.bits[(bit / 64) as usize] >> (bit % 64) & 1;
            sum ^ (set as u32) << (bit % width)
        })
    }

    #[test]
    fn folds_are_those_of_the_register() {
        let mut history = PathHistory::new(&[17, 34, 66, 194], 11, 12);
        let mut address = 0x40_1234_u64;
        for _ in 0..1000 {
            let target = address.wrapping_mul(6_364_136_223_846_793_005) >> 20;
            history.take(address, target);
            address = target;
            for (number, branches) in [17, 34, 66, 194].into_iter().enumerate() {
                let anew = |width| folded_anew(&history, branches * STEP, width);
                assert_eq!(history.folded(number), (anew(11), anew(12)));
            }
        }
    }
}
