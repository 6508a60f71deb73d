// SPDX-License-Identifier: GPL-2.0-or-later
//! Times that are worked with at once, each in a lane of the host's words.
//!
//! A loop over lanes inside of another loop is what compilers turn inside out, so the host's own
//! instructions are named where it has them.

/// How many there are.
pub const LANES: usize = 32;

/// Times, or what is added to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Lanes(pub [i16; LANES]);

impl Default for Lanes {
    fn default() -> Self {
        Self([0; LANES])
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes {
    /// The later one of each.
    #[inline(always)]
    #[must_use]
    pub fn later(&self, other: &Self) -> Self {
        use std::arch::x86_64::_mm_max_epi16;
        // SAFETY: every such host has SSE2.
        self.with(other, |one, other| unsafe { _mm_max_epi16(one, other) })
    }

    /// Those that `kept` has all bits of; of others, 0.
    #[inline(always)]
    #[must_use]
    pub fn masked(&self, kept: &Self) -> Self {
        use std::arch::x86_64::_mm_and_si128;
        // SAFETY: as above.
        self.with(kept, |one, other| unsafe { _mm_and_si128(one, other) })
    }

    /// Each so much later than a time; what is as low as can be stays below all times.
    #[inline(always)]
    #[must_use]
    pub fn after(&self, time: i16) -> Self {
        use std::arch::x86_64::{_mm_adds_epi16, _mm_set1_epi16};
        // SAFETY: as above.
        let time = unsafe { _mm_set1_epi16(time) };
        self.with(self, |one, _| unsafe { _mm_adds_epi16(one, time) })
    }

    #[inline(always)]
    fn with(
        &self,
        other: &Self,
        work: impl Fn(
            std::arch::x86_64::__m128i,
            std::arch::x86_64::__m128i,
        ) -> std::arch::x86_64::__m128i,
    ) -> Self {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_store_si128};
        let mut result = Self::default();
        let (one, other): (*const __m128i, *const __m128i) =
            (self.0.as_ptr().cast(), other.0.as_ptr().cast());
        let to: *mut __m128i = result.0.as_mut_ptr().cast();
        for part in 0..LANES / 8 {
            // SAFETY: so many parts of 16 bytes, aligned as the whole is.
            unsafe {
                let parts = [one, other].map(|from| _mm_load_si128(from.add(part)));
                _mm_store_si128(to.add(part), work(parts[0], parts[1]));
            }
        }
        result
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Lanes {
    /// The later one of each.
    #[must_use]
    pub fn later(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].max(other.0[lane])))
    }

    /// Those that `kept` has all bits of; of others, 0.
    #[must_use]
    pub fn masked(&self, kept: &Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] & kept.0[lane]))
    }

    /// Each so much later than a time; what is as low as can be stays below all times.
    #[must_use]
    pub fn after(&self, time: i16) -> Self {
        Self(self.0.map(|one| one.saturating_add(time)))
    }
}

impl Lanes {
    /// The latest of all.
    #[must_use]
    pub fn latest(&self) -> i16 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_worked_with_each_by_itself() {
        let one = Lanes(std::array::from_fn(|lane| lane as i16));
        let other = Lanes(std::array::from_fn(|lane| 9 - lane as i16));
        let each = |work: &dyn Fn(usize) -> i16| Lanes(std::array::from_fn(work));
        assert_eq!(
            one.later(&other),
            each(&|lane| (lane as i16).max(9 - lane as i16))
        );
        let mask = each(&|lane| if lane % 3 == 0 { -1 } else { 0 });
        assert_eq!(
            one.masked(&mask),
            each(&|lane| if lane % 3 == 0 { lane as i16 } else { 0 })
        );
        assert_eq!(one.after(-4), each(&|lane| lane as i16 - 4));
        assert_eq!(
            Lanes([i16::MIN; LANES]).after(7000).latest(),
            i16::MIN + 7000
        );
        assert_eq!(Lanes([i16::MAX - 1; LANES]).after(7).latest(), i16::MAX);
        assert_eq!(one.latest(), LANES as i16 - 1);
    }
}
