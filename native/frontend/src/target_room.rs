// SPDX-License-Identifier: GPL-2.0-or-later
//! How many places of a branch target buffer a branch takes.
//!
//! A target in the branch's own page is known by its low bits, another one by more of them, for which
//! buffers have less room (A. Seznec, *Don't use the page number, but a pointer to it*, ISCA 1996).
//! What vendors make of that is not disclosed; how many jumps of each kind are known can be measured
//! (`bench/front_end.py`).

use kernsmith_arch::SMALL;

/// Bits of a branch's key that are the same however wide it is.
const COMMON: u32 = (1 << 26) - 1;

/// In a branch's key: the second place of one that takes two.
pub(super) const SECOND: u32 = 1 << 30;

/// Whether a target lies in another page than the branch; the low 32 bits of each.
#[inline(always)]
pub(super) fn is_far(pc: u32, target: u32) -> bool {
    (pc ^ target) >> SMALL != 0
}

/// Which branches to other pages take two places; drawn from the branch's key, so that it is the
/// same each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TargetRoom {
    /// Of 65,536.
    two: u32,
}

impl TargetRoom {
    /// places: that a branch to another page takes on average, from 1 to 2.
    pub fn new(places: f64) -> Self {
        Self {
            two: ((places - 1.0) * 65536.0).round() as u32,
        }
    }

    /// Whether no branch takes two.
    #[inline(always)]
    pub fn is_even(self) -> bool {
        self.two == 0
    }

    /// Whether the branch with this key takes two, which is at `pc` and leads to `target`; the low
    /// 32 bits of each.
    #[inline(always)]
    pub fn is_two(self, key: u32, pc: u32, target: u32) -> bool {
        let drawn = (key & COMMON).wrapping_mul(0x9e37_79b1) >> 16;
        is_far(pc, target) && drawn < self.two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_those_that_leave_their_page_take_two() {
        let two = |places: f64, target: u32| {
            let room = TargetRoom::new(places);
            let keys = (0..100_000).map(|n| n * 7);
            keys.filter(|key| room.is_two(*key, 0x1ff8, target)).count()
        };
        assert_eq!(two(1.0, 0x2000), 0);
        assert_eq!(two(2.0, 0x2000), 100_000);
        assert!((49_000..51_000).contains(&two(1.5, 0x2000)));
        assert_eq!(two(2.0, 0x1000), 0);
    }
}
