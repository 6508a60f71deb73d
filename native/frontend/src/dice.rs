// SPDX-License-Identifier: GPL-2.0-or-later
//! Chance: where a predictor by histories makes room for what it did not know, and what a store forgets that
//! draws it.

/// The same chance in every run.
#[derive(Debug, Clone, Copy)]
pub struct Dice(u64);

impl Default for Dice {
    fn default() -> Self {
        Self(1)
    }
}

impl Dice {
    /// How many of so many longer histories are left out, and from which way on a set is looked
    /// through for room. One time in four the next history is left out (Seznec and Michaud, 2006):
    /// branches of one history spread over the tables, as those of one set do over its ways.
    pub fn throw(&mut self, longer: usize) -> (usize, usize) {
        self.turn();
        let skipped = usize::from(longer > 1 && self.0 >> 62 == 0);
        (skipped, (self.0 >> 40 & 0xffff) as usize)
    }

    /// A number below this one, which is at most 2³².
    #[inline(always)]
    pub fn below(&mut self, end: u64) -> u64 {
        self.turn();
        ((self.0 >> 32) * end) >> 32
    }

    #[inline(always)]
    fn turn(&mut self) {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
}
