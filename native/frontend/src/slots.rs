// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store of 32-bit keys that tells in which place each is, without a branch.

use super::filter::{LANES, has_avx2};

/// Every hexadecimal digit 1.
const ONES: u64 = 0x1111_1111_1111_1111;

/// The ways 0 to 15, one a hexadecimal digit, way 0 in the lowest.
const IN_ORDER: u64 = 0xfedc_ba98_7654_3210;

/// Words of keys that a set has at most.
const WORDS: usize = 2;

/// Keys in `sets × ways`, of which a set forgets the least recently used one.
///
/// It does what [`super::Latest`] does. A key stays in its place until it is replaced, so that
/// others may keep what they know of it in an array of their own.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Set after set, each of so many words.
    keys: Vec<[u32; LANES]>,
    words: usize,
    /// Each set's ways in the order of last use, one a hexadecimal digit, the latest in the lowest.
    orders: Vec<u64>,
    mask: usize,
    last_digit: u32,
}

impl Slots {
    /// An empty store of `entries` places; `None` where it would not be fast: on a host without
    /// AVX2, or with more ways than two words of such a host have lanes.
    #[must_use]
    pub fn new(entries: usize, ways: usize) -> Option<Self> {
        let sets = entries / ways;
        let words = ways.div_ceil(LANES);
        (words <= WORDS && sets.is_power_of_two() && has_avx2()).then(|| Self {
            keys: vec![[u32::MAX; LANES]; sets * words],
            words,
            orders: vec![IN_ORDER; sets],
            mask: sets - 1,
            last_digit: 4 * (ways as u32 - 1),
        })
    }

    /// Places are numbered from 0 to one less than this.
    #[must_use]
    pub fn places(&self) -> usize {
        self.keys.len() * LANES
    }

    /// Looks `key` up and puts it in when it is missing. Returns whether it was there, and its place.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    #[must_use]
    pub fn access(&mut self, key: u32) -> (bool, u32) {
        use std::arch::x86_64::{
            _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_loadu_si256,
            _mm256_movemask_ps, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_storeu_si256,
        };
        let set = key as usize & self.mask;
        let first = set * self.words;
        let (keys, order) = (
            &mut self.keys[first..first + self.words],
            &mut self.orders[set],
        );
        let wanted = _mm256_set1_epi32(key as i32);
        // SAFETY: a word is 32 bytes, which need not be aligned.
        let held = |word: &[u32; LANES]| unsafe { _mm256_loadu_si256(word.as_ptr().cast()) };
        let equal = |word: &[u32; LANES]| {
            let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(held(word), wanted));
            _mm256_movemask_ps(equal) as u32
        };
        let mut found = equal(&keys[0]);
        if let [_, other] = keys {
            found |= equal(other) << LANES;
        }
        let oldest = (*order >> self.last_digit & 15) as u32;
        let way = match found {
            0 => oldest,
            _ => found.trailing_zeros(),
        };
        *order = to_front(*order, way);
        // Where the key is, it is written once more: as wide as it is read the next time.
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let word = &mut keys[way as usize / LANES];
        let lane = _mm256_set1_epi32(way as i32 % LANES as i32);
        let chosen = _mm256_cmpeq_epi32(lanes, lane);
        let changed = _mm256_blendv_epi8(held(word), wanted, chosen);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(word.as_mut_ptr().cast(), changed) };
        (found != 0, (first * LANES) as u32 + way)
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Slots {
    /// Nobody has such a store.
    #[must_use]
    pub fn access(&mut self, _key: u32) -> (bool, u32) {
        unreachable!("no other host has AVX2")
    }
}

/// Moves the digit `way` of `order` to the lowest place; those below it move up.
#[inline(always)]
fn to_front(order: u64, way: u32) -> u64 {
    // As in `recency.rs`.
    let differing = order ^ (u64::from(way) * ONES);
    let zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 3);
    let digit_end = zeros ^ zeros.wrapping_sub(1);
    let below = digit_end >> 4;
    (order & !digit_end) | ((order & below) << 4) | u64::from(way)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::Latest;

    #[test]
    fn it_does_what_latest_does_and_tells_the_place() {
        for (entries, ways) in [
            (64, 8),
            (48, 3),
            (16, 4),
            (8, 8),
            (4, 1),
            (64, 16),
            (48, 12),
        ] {
            let Some(mut slots) = Slots::new(entries, ways) else {
                return; // a host without AVX2
            };
            let mut latest = Latest::<()>::new(entries, ways);
            let mut places = vec![u32::MAX; slots.places()];
            let mut key = 1_u32;
            for _ in 0..20_000 {
                key = key.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                let wanted = (key >> 20) % (3 * entries as u32);
                // SAFETY: there is a store only where the host has AVX2.
                let (known, place) = unsafe { slots.access(wanted) };
                assert_eq!(known, latest.access(wanted.into()), "{entries} {ways}");
                let held = std::mem::replace(&mut places[place as usize], wanted);
                assert_eq!(known, held == wanted);
            }
        }
    }
}
