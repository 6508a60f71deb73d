// SPDX-License-Identifier: GPL-2.0-or-later
//! A cache, TLB or branch target buffer that is asked for many keys in a row.

use std::cell::Cell;

use super::{CpuModel, Key, Replacement, SetAssociative, TlbArrays, TlbEntries};

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
        let ordered = replacement != Replacement::Random;
        if K::BITS == 32 && ways <= LANES && ordered && has_avx2() {
            Self::LatestFirst(LatestFirst::new(&[(entries, ways)], replacement))
        } else {
            Self::Any(any)
        }
    }

    /// Two stores in one: large pages are in entries of their own (see [`TlbKey`]). `None` where it
    /// would be no faster than two are.
    fn by_size(small: &TlbEntries, large: &TlbEntries) -> Option<Self> {
        let fits = small.ways.max(large.ways) <= LANES
            && small.replacement == large.replacement
            && small.replacement != Replacement::Random;
        (K::BITS == 32 && fits && has_avx2()).then(|| {
            let banks = [small, large].map(|bank| (bank.entries, bank.ways));
            Self::LatestFirst(LatestFirst::new(&banks, small.replacement))
        })
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
                match (store.replacement, store.by_size) {
                    (Replacement::Lru, false) => store.fold::<_, _, true, false>(keys, state, step),
                    (Replacement::Lru, true) => store.fold::<_, _, true, true>(keys, state, step),
                    (Replacement::RoundRobin, false) => {
                        store.fold::<_, _, false, false>(keys, state, step)
                    }
                    (Replacement::RoundRobin, true) => {
                        store.fold::<_, _, false, true>(keys, state, step)
                    }
                    (Replacement::Random, _) => unreachable!("such a store has no order"),
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

/// The TLBs of [`super::InstructionTlbs`].
#[derive(Debug, Clone)]
pub struct Tlbs<K> {
    levels: [Tlb<K>; 2],
}

/// One level.
#[derive(Debug, Clone)]
enum Tlb<K> {
    Whole(Filter<K>),
    /// Of small and of large pages.
    BySize([Filter<K>; 2]),
}

/// What a page is known by: its number in the low bits; from [`Self::SIZE_AT`] on, in six bits,
/// zero for a small page and something else for each larger size; above them, whatever tells pages
/// of the same number apart.
pub trait TlbKey: Key {
    /// Where the bits of the size begin.
    const SIZE_AT: u32 = Self::BITS - 8;

    /// Whether the page is larger than the smallest.
    fn is_large(self) -> bool;
}

impl TlbKey for u32 {
    #[inline(always)]
    fn is_large(self) -> bool {
        self >> Self::SIZE_AT & 63 != 0
    }
}

impl TlbKey for u64 {
    #[inline(always)]
    fn is_large(self) -> bool {
        self >> Self::SIZE_AT & 63 != 0
    }
}

impl<K: TlbKey> Tlb<K> {
    fn new(arrays: &TlbArrays) -> Self {
        let filter = |one: TlbEntries| Filter::new(one.entries, one.ways, one.replacement);
        match *arrays {
            TlbArrays::Shared(entries) => Self::Whole(filter(entries)),
            TlbArrays::BySize { small, large } => match Filter::by_size(&small, &large) {
                Some(both) => Self::Whole(both),
                None => Self::BySize([small, large].map(filter)),
            },
        }
    }

    /// See [`Filter::filter`].
    fn filter(&mut self, keys: &mut [K]) -> usize {
        let by_size = match self {
            Self::Whole(all) => return all.filter(keys),
            Self::BySize(by_size) => by_size,
        };
        // Runs of pages of one kind, so that each is asked for many in a row.
        let (mut missing, mut begin) = (0, 0);
        while let Some(first) = keys.get(begin) {
            let large = first.is_large();
            let others = keys[begin..].iter().position(|key| key.is_large() != large);
            let end = others.map_or(keys.len(), |length| begin + length);
            let missed = by_size[usize::from(large)].filter(&mut keys[begin..end]);
            keys.copy_within(begin..begin + missed, missing);
            missing += missed;
            begin = end;
        }
        missing
    }
}

impl<K: TlbKey> Tlbs<K> {
    /// Empty TLBs of the model's geometry.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        Self {
            levels: [&model.itlb, &model.stlb].map(|level| Tlb::new(&level.arrays)),
        }
    }

    /// See [`Levels::enter`].
    #[inline(always)]
    pub fn enter(&mut self, keys: &mut [K], mut missed: impl FnMut(u32, &[K])) {
        let [first, second] = &mut self.levels;
        let missing = first.filter(keys);
        missed(1, &keys[..missing]);
        let missing = second.filter(&mut keys[..missing]);
        missed(2, &keys[..missing]);
    }
}

/// Keys that are compared and moved at once.
pub(super) const LANES: usize = 8;

/// Each set has its keys in the order of their last use, the latest first; for round robin, in the
/// order in which they were put in.
#[derive(Debug, Clone)]
pub struct LatestFirst {
    sets: Vec<[u32; LANES]>,
    /// All keys are in the first one, or, by size, large pages in the second one.
    banks: [Bank; 2],
    by_size: bool,
    replacement: Replacement,
}

/// Some of the sets.
#[derive(Debug, Clone, Copy, Default)]
struct Bank {
    first: usize,
    /// One less than there are.
    mask: usize,
    /// The last way, as a bit.
    last: u32,
}

impl LatestFirst {
    /// banks: entries and ways of each.
    fn new(banks: &[(usize, usize)], replacement: Replacement) -> Self {
        let mut found = [Bank::default(); 2];
        let mut sets = 0;
        for (bank, (entries, ways)) in found.iter_mut().zip(banks) {
            *bank = Bank {
                first: sets,
                mask: entries / ways - 1,
                last: 1 << (ways - 1),
            };
            sets += entries / ways;
        }
        Self {
            sets: vec![[u32::MAX; LANES]; sets],
            banks: found,
            by_size: banks.len() > 1,
            replacement,
        }
    }
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
    /// See [`Filter::fold`]. USE: whether the use of a key brings it to the front. `BY_SIZE`: whether
    /// keys are pages, of which large ones are in the second bank. Nothing here is a branch that
    /// depends on a key: the host would predict none of them.
    #[target_feature(enable = "avx2,bmi1")]
    fn fold<K: Key, S, const USE: bool, const BY_SIZE: bool>(
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
        for key in keys {
            let bank = BY_SIZE && (key.low() as u32).is_large();
            let Bank { first, mask, last } = self.banks[usize::from(bank)];
            let set = first + (key.low() & mask);
            let set: *mut __m256i = self.sets[set].as_mut_ptr().cast();
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

/// Whether the host has what the fast stores need.
pub(super) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
