// SPDX-License-Identifier: GPL-2.0-or-later
//! A cache, TLB or branch target buffer that is asked for many keys in a row.

use std::cell::Cell;

use super::{CpuModel, Key, Replacement, SetAssociative};

/// Keys in `sets × ways`, of which each is put in when it was missing.
///
/// It does what [`SetAssociative`] does and is several times as fast where the host and the
/// geometry allow it.
#[derive(Debug, Clone)]
pub enum Filter<K> {
    /// 32-bit keys, at most [`LANES`] ways, on a host with AVX2.
    LatestFirst(LatestFirst),
    /// All others.
    Any(SetAssociative<(), K>),
}

impl<K: Key> Filter<K> {
    /// An empty store of `entries` places.
    ///
    /// # Panics
    ///
    /// As [`SetAssociative::new`].
    #[must_use]
    pub fn new(entries: usize, ways: usize, replacement: Replacement) -> Self {
        // It checks the geometry, too.
        let any = SetAssociative::new(entries, ways, replacement);
        if K::BITS == 32 && ways <= LANES && has_avx2() {
            Self::LatestFirst(LatestFirst {
                sets: vec![[u32::MAX; LANES]; entries / ways],
                ways,
                replacement,
            })
        } else {
            Self::Any(any)
        }
    }

    /// Looks keys up one after the other, and puts in those that are missing. `step` is given what
    /// it returned for the key before (at first `state`), the key, and whether it was there.
    #[inline(always)]
    pub fn fold<S>(
        &mut self,
        keys: impl Iterator<Item = K>,
        state: S,
        mut step: impl FnMut(S, K, bool) -> S,
    ) -> S {
        match self {
            // SAFETY: there is such a store only where the host has AVX2.
            #[cfg(target_arch = "x86_64")]
            Self::LatestFirst(store) => unsafe {
                match store.replacement {
                    Replacement::Lru => store.fold::<_, _, true>(keys, state, step),
                    Replacement::RoundRobin => store.fold::<_, _, false>(keys, state, step),
                }
            },
            #[cfg(not(target_arch = "x86_64"))]
            Self::LatestFirst(_) => unreachable!("no other host has AVX2"),
            Self::Any(store) => keys.fold(state, |state, key| step(state, key, store.access(key))),
        }
    }

    /// Keeps those keys of a sequence that miss, in their order, at its front; returns how many.
    #[inline(never)]
    pub fn filter(&mut self, keys: &mut [K]) -> usize {
        let keys = Cell::from_mut(keys).as_slice_of_cells();
        self.fold(keys.iter().map(Cell::get), 0, |missing, key, known| {
            keys[missing].set(key);
            missing + usize::from(!known)
        })
    }
}

/// Two stores, of which the second is asked for what the first one does not have.
#[derive(Debug, Clone)]
pub struct Levels<K> {
    first: Filter<K>,
    second: Filter<K>,
}

impl<K: Key> Levels<K> {
    /// The caches of [`super::InstructionCaches`]: keys are addresses divided by a line's size.
    #[must_use]
    pub fn caches(model: &CpuModel) -> Self {
        let [first, second] = [&model.l1i, &model.l2].map(|cache| {
            let lines = cache.bytes / model.line_bytes;
            Filter::new(lines, cache.ways, cache.replacement)
        });
        Self { first, second }
    }

    /// The TLBs of [`super::InstructionTlbs`]: keys are addresses divided by a page's size.
    #[must_use]
    pub fn tlbs(model: &CpuModel) -> Self {
        let [first, second] = [&model.itlb, &model.stlb]
            .map(|tlb| Filter::new(tlb.entries, tlb.ways, tlb.replacement));
        Self { first, second }
    }

    /// Looks keys up one after the other, of which none should be the one before. `missed(1, …)` is
    /// called with those that the first store did not have, `missed(2, …)` with those that the
    /// second did not have either.
    #[inline(always)]
    pub fn enter(&mut self, keys: &mut [K], mut missed: impl FnMut(u32, &[K])) {
        let missing = self.first.filter(keys);
        missed(1, &keys[..missing]);
        let missing = self.second.filter(&mut keys[..missing]);
        missed(2, &keys[..missing]);
    }
}

/// Keys that are compared and moved at once.
const LANES: usize = 8;

/// Each set has its keys in the order of their last use, the latest first; for round robin, in the
/// order in which they were put in.
#[derive(Debug, Clone)]
pub struct LatestFirst {
    sets: Vec<[u32; LANES]>,
    ways: usize,
    replacement: Replacement,
}

/// By place of a key in its set: where each lane's key comes from when this one goes to the front;
/// then, that all stay.
#[cfg(target_arch = "x86_64")]
static TO_FRONT: [[i32; LANES]; LANES + 1] = [
    [0, 1, 2, 3, 4, 5, 6, 7],
    [1, 0, 2, 3, 4, 5, 6, 7],
    [2, 0, 1, 3, 4, 5, 6, 7],
    [3, 0, 1, 2, 4, 5, 6, 7],
    [4, 0, 1, 2, 3, 5, 6, 7],
    [5, 0, 1, 2, 3, 4, 6, 7],
    [6, 0, 1, 2, 3, 4, 5, 7],
    [7, 0, 1, 2, 3, 4, 5, 6],
    [0, 1, 2, 3, 4, 5, 6, 7],
];

#[cfg(target_arch = "x86_64")]
impl LatestFirst {
    /// See [`Filter::fold`]. USE: whether the use of a key brings it to the front. Nothing here is a branch that depends on a key: the host would
    /// predict none of them.
    #[target_feature(enable = "avx2,bmi1")]
    fn fold<K: Key, S, const USE: bool>(
        &mut self,
        keys: impl Iterator<Item = K>,
        mut state: S,
        mut step: impl FnMut(S, K, bool) -> S,
    ) -> S {
        use std::arch::x86_64::{
            __m256i, _mm256_blend_epi32, _mm256_castsi256_ps, _mm256_cmpeq_epi32,
            _mm256_loadu_si256, _mm256_movemask_ps, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
            _mm256_storeu_si256,
        };
        let mask = self.sets.len() - 1;
        let last = 1_u32 << (self.ways - 1);
        for key in keys {
            let set: *mut __m256i = self.sets[key.low() & mask].as_mut_ptr().cast();
            // SAFETY: a set is 32 bytes, which need not be aligned; so is a row of the table.
            let held = unsafe { _mm256_loadu_si256(set) };
            let wanted = _mm256_set1_epi32(key.low() as i32);
            let equal = _mm256_castsi256_ps(_mm256_cmpeq_epi32(held, wanted));
            let found = _mm256_movemask_ps(equal) as u32;
            let place = (found | last).trailing_zeros() as usize;
            let place = if USE || found == 0 { place & 7 } else { LANES };
            let turn = unsafe { _mm256_loadu_si256(TO_FRONT[place].as_ptr().cast()) };
            let moved = _mm256_permutevar8x32_epi32(held, turn);
            let front = if USE || found == 0 { wanted } else { held };
            unsafe { _mm256_storeu_si256(set, _mm256_blend_epi32::<1>(moved, front)) };
            state = step(state, key, found != 0);
        }
        state
    }
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
