// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, the shape of every cache, TLB and branch target buffer.

use super::Replacement;
use super::recency::Recency;

/// What entries are known by: a line, page or branch number. All of them are addresses shifted
/// right, so none is [`Key::EMPTY`].
pub trait Key: Copy + Eq + std::fmt::Debug {
    /// A key that nothing has.
    const EMPTY: Self;

    /// How wide it is.
    const BITS: u32;

    /// As many of its low bits as an index needs.
    fn low(self) -> usize;
}

impl Key for u64 {
    const EMPTY: Self = Self::MAX;
    const BITS: u32 = Self::BITS;

    #[inline(always)]
    fn low(self) -> usize {
        self as usize
    }
}

impl Key for u32 {
    const EMPTY: Self = Self::MAX;
    const BITS: u32 = Self::BITS;

    #[inline(always)]
    fn low(self) -> usize {
        self as usize
    }
}

/// Guesses of ways for each place: enough that two live keys seldom share one …
const GUESSES_PER_PLACE: usize = 8;

/// … but few enough that they stay in the host's own first-level cache.
const MOST_GUESSES: usize = 4096;

/// Keys (line numbers, page numbers, branch addresses) with a value each, in `sets × ways`.
///
/// The low bits of a key choose its set. An entry stays in its place until it is replaced.
///
/// A table of guesses remembers in which way a key was found, so most lookups are one comparison,
/// whatever the number of ways; a wrong guess costs a search and changes nothing else.
#[derive(Debug, Clone)]
pub struct SetAssociative<V, K = u64> {
    keys: Vec<K>,
    values: Vec<V>,
    recency: Recency,
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
            keys: vec![K::EMPTY; entries],
            values: vec![V::default(); entries],
            recency: Recency::new(sets, ways, replacement),
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
        Some(first + way)
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

    /// Puts in a key that is not there, in the place of the one to be replaced, which it returns.
    #[inline(never)]
    pub fn insert(&mut self, key: K, value: V) -> Option<K> {
        let set = key.low() & self.set_mask;
        let way = self.recency.replace(set);
        self.guesses[key.low() & self.guess_mask] = way as u8;
        let place = set * self.ways + way;
        self.values[place] = value;
        let replaced = std::mem::replace(&mut self.keys[place], key);
        (replaced != K::EMPTY).then_some(replaced)
    }
}

#[inline(always)]
fn way_of<K: Key, const WAYS: usize>(set: &[K], key: K) -> Option<usize> {
    let set: &[K; WAYS] = set.first_chunk()?;
    let found = set.iter().enumerate().fold(0, |found, (way, present)| {
        found | u32::from(*present == key) << way
    });
    (found != 0).then_some(found.trailing_zeros() as usize)
}

impl<K: Key> SetAssociative<(), K> {
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
