// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, the shape of every cache, TLB and branch target buffer.

use std::cell::Cell;

use super::Replacement;
use super::recency::{Recency, to_front};

/// What entries are known by: a line, page or branch number. All of them are addresses shifted
/// right, so none is [`Key::EMPTY`].
pub trait Key: Copy + Eq + std::fmt::Debug {
    /// A key that nothing has.
    const EMPTY: Self;

    /// As many of its low bits as an index needs.
    fn low(self) -> usize;

    /// A bit for each of four places, which is 1 where this key is.
    #[inline(always)]
    fn places_in(self, four: &[Self; LANES]) -> u32 {
        four.iter().enumerate().fold(0, |found, (lane, present)| {
            found | u32::from(*present == self) << lane
        })
    }
}

impl Key for u64 {
    const EMPTY: Self = Self::MAX;

    #[inline(always)]
    fn low(self) -> usize {
        self as usize
    }
}

impl Key for u32 {
    const EMPTY: Self = Self::MAX;

    #[inline(always)]
    fn low(self) -> usize {
        self as usize
    }

    /// Two instructions; the compiler makes twenty of what it would be for any CPU.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn places_in(self, four: &[Self; LANES]) -> u32 {
        use std::arch::x86_64::{
            _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_movemask_ps, _mm_set1_epi32,
        };
        // SAFETY: every x86-64 CPU has SSE2, and `four` is 16 bytes, which need not be aligned.
        unsafe {
            let present = _mm_loadu_si128(four.as_ptr().cast());
            let equal = _mm_cmpeq_epi32(present, _mm_set1_epi32(self as i32));
            _mm_movemask_ps(_mm_castsi128_ps(equal)) as u32
        }
    }
}

/// Guesses of ways for each place: enough that two live keys seldom share one …
const GUESSES_PER_PLACE: usize = 8;

/// … but few enough that they stay in the host's own first-level cache.
const MOST_GUESSES: usize = 4096;

/// Ways that are compared at a time.
const LANES: usize = 4;

/// Keys (line numbers, page numbers, branch addresses) with a value each, in `sets × ways`.
///
/// The low bits of a key choose its set. An entry stays in its place until it is replaced.
///
/// There are two ways in. [`Self::lookup`] and [`Self::insert`] are for single keys: a table of
/// guesses remembers in which way a key was found, so most lookups are one comparison, whatever the
/// number of ways; a wrong guess costs a search and changes nothing else. [`Self::enter`] is for
/// many keys in a row: it has no branch that depends on the key, since the host predicts none of
/// them, and is fastest with 32-bit keys, of which it compares a whole set at once.
#[derive(Debug, Clone)]
pub struct SetAssociative<V, K = u64> {
    keys: Vec<K>,
    values: Vec<V>,
    recency: Recency,
    /// By set: the key that was looked up or put in last, which is there and is the latest used.
    latest: Vec<K>,
    guesses: Vec<u8>,
    ways: usize,
    set_mask: usize,
    guess_mask: usize,
}

impl<V: Copy + Default, K: Key> SetAssociative<V, K> {
    /// An empty store of `entries` places.
    ///
    /// # Panics
    ///
    /// When `entries / ways` is no power of two; a validated [`super::CpuModel`] has no such
    /// figures.
    #[must_use]
    pub fn new(entries: usize, ways: usize, replacement: Replacement) -> Self {
        let sets = entries / ways;
        assert!(
            sets.is_power_of_two() && sets * ways == entries && ways <= 256,
            "{entries} entries in {ways} ways are no power of two of sets of at most 256"
        );
        let guesses = (entries * GUESSES_PER_PLACE)
            .next_power_of_two()
            .min(MOST_GUESSES);
        Self {
            keys: vec![K::EMPTY; entries + 1],
            values: vec![V::default(); entries],
            recency: Recency::new(sets, ways, replacement),
            latest: vec![K::EMPTY; sets],
            guesses: vec![0; guesses],
            ways,
            set_mask: sets - 1,
            guess_mask: guesses - 1,
        }
    }

    /// The value of `key`, which becomes the most recently used of its set.
    #[inline(always)]
    pub fn lookup(&mut self, key: K) -> Option<&mut V> {
        let place = self.find(key)?;
        Some(&mut self.values[place])
    }

    #[inline(always)]
    fn find(&mut self, key: K) -> Option<usize> {
        let set = key.low() & self.set_mask;
        let first = set * self.ways;
        let mut way = usize::from(self.guesses[key.low() & self.guess_mask]);
        if self.keys[first + way] != key {
            way = self.search(key, first)?;
        }
        self.recency.touch(set, way);
        self.latest[set] = key;
        Some(first + way)
    }

    /// Whether looking `key` up would change anything: it is not the latest of its set. From now on
    /// it is, so it has to be entered next.
    #[inline(always)]
    pub fn is_news(&mut self, key: K) -> bool {
        let latest = &mut self.latest[key.low() & self.set_mask];
        std::mem::replace(latest, key) != key
    }

    /// Looks keys up one after the other, and puts in those that are missing, with the value that
    /// was in their place. `told` is called with each key and whether it was there.
    ///
    /// A key that is no [news](Self::is_news) may be left out.
    #[inline(always)]
    pub fn enter(&mut self, keys: impl Iterator<Item = K>, mut told: impl FnMut(K, bool)) {
        let (mask, held) = (self.set_mask, &mut self.keys);
        match (&mut self.recency, self.ways) {
            (Recency::Order { sets, .. }, 4) => enter::<K, 4>(held, sets, mask, keys, told),
            (Recency::Order { sets, .. }, 8) => enter::<K, 8>(held, sets, mask, keys, told),
            (Recency::Order { sets, .. }, 12) => enter::<K, 12>(held, sets, mask, keys, told),
            (Recency::Order { sets, .. }, 16) => enter::<K, 16>(held, sets, mask, keys, told),
            _ => keys.for_each(|key| {
                let known = self.find(key).is_some();
                if !known {
                    self.put(key);
                }
                told(key, known);
            }),
        }
    }

    #[inline(never)]
    fn search(&mut self, key: K, first: usize) -> Option<usize> {
        let set = &self.keys[first..first + self.ways];
        // Where a key is, and whether it is there at all, is unpredictable: for the usual numbers
        // of ways, all are compared without a branch.
        let way = match self.ways {
            4 => way_of::<K, 4>(set, key),
            8 => way_of::<K, 8>(set, key),
            16 => way_of::<K, 16>(set, key),
            _ => set.iter().position(|present| *present == key),
        }?;
        self.guesses[key.low() & self.guess_mask] = way as u8;
        Some(way)
    }

    /// Puts in a key that is not there, in the place of the one to be replaced.
    #[inline(never)]
    pub fn insert(&mut self, key: K, value: V) {
        let place = self.put(key);
        self.values[place] = value;
    }

    #[inline(always)]
    fn put(&mut self, key: K) -> usize {
        let set = key.low() & self.set_mask;
        let way = self.recency.replace(set);
        self.latest[set] = key;
        self.guesses[key.low() & self.guess_mask] = way as u8;
        let place = set * self.ways + way;
        self.keys[place] = key;
        place
    }
}

/// [`SetAssociative::enter`] for least recently used in a number of ways that is known.
#[inline(always)]
fn enter<K: Key, const WAYS: usize>(
    held: &mut [K],
    orders: &mut [u64],
    set_mask: usize,
    keys: impl Iterator<Item = K>,
    mut told: impl FnMut(K, bool),
) {
    // Writing a key over itself would make the host wait when it compares that set the next time:
    // a part of what it reads is not yet in its cache.
    let nowhere = held.len() - 1;
    keys.for_each(|key| {
        let set = key.low() & set_mask;
        let Some(ways) = held[set * WAYS..].first_chunk::<WAYS>() else {
            unreachable!("every set is whole");
        };
        let order = &mut orders[set];
        let found = ways_of(ways, key);
        let oldest = (*order >> (4 * (WAYS - 1))) as u32 & 15;
        let way = if found == 0 {
            oldest
        } else {
            found.trailing_zeros()
        };
        *order = to_front(*order, u64::from(way));
        let place = if found == 0 {
            set * WAYS + way as usize
        } else {
            nowhere
        };
        held[place] = key;
        told(key, found != 0);
    });
}

#[inline(always)]
fn way_of<K: Key, const WAYS: usize>(set: &[K], key: K) -> Option<usize> {
    let found = ways_of::<K, WAYS>(set.first_chunk()?, key);
    (found != 0).then_some(found.trailing_zeros() as usize)
}

/// A bit for each way, which is 1 where `key` is.
#[inline(always)]
fn ways_of<K: Key, const WAYS: usize>(set: &[K; WAYS], key: K) -> u32 {
    let fours = set.chunks_exact(LANES).filter_map(<[K]>::first_chunk);
    fours.enumerate().fold(0, |found, (number, four)| {
        found | key.places_in(four) << (LANES * number)
    })
}

impl<K: Key> SetAssociative<(), K> {
    /// Keeps those keys of a sequence that miss, in their order, at its front; returns how many.
    #[inline(never)]
    pub fn filter(&mut self, keys: &mut [K]) -> usize {
        let keys = Cell::from_mut(keys).as_slice_of_cells();
        let mut news = 0;
        for key in keys.iter().map(Cell::get) {
            keys[news].set(key);
            news += usize::from(self.is_news(key));
        }
        let mut missing = 0;
        self.enter(keys[..news].iter().map(Cell::get), |key, known| {
            keys[missing].set(key);
            missing += usize::from(!known);
        });
        missing
    }

    /// Looks `key` up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub fn access(&mut self, key: K) -> bool {
        let hit = self.find(key).is_some();
        if !hit {
            self.insert(key, ());
        }
        hit
    }
}
