// SPDX-License-Identifier: GPL-2.0-or-later
//! A small reproducible source of numbers: SplitMix64 (Steele, Lea, Flood 2014).
#![allow(dead_code)]

/// How many damaged inputs are tried: so many in an ordinary run, else as many as
/// `KERNSMITH_FUZZ` says (`make fuzz`). Those of one run are those of the next.
pub fn inputs(ordinary: u64) -> u64 {
    let asked = std::env::var("KERNSMITH_FUZZ").ok();
    asked.map_or(ordinary, |text| text.parse().expect("a number"))
}

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `limit - 1`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
