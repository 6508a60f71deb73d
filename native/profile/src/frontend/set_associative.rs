// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, the shape of every cache, TLB and branch target buffer.

use super::Replacement;
use super::recency::Recency;

/// A key that no line, page or branch has: all of them are addresses shifted right.
const EMPTY: u64 = u64::MAX;

/// Guesses of ways for each place: enough that two live keys seldom share one …
const GUESSES_PER_PLACE: usize = 8;

/// … but few enough that they stay in the host's own first-level cache.
const MOST_GUESSES: usize = 4096;

/// Keys (line numbers, page numbers, branch addresses) with a value each, in `sets × ways`.
///
/// The low bits of a key choose its set. An entry stays in its place until it is replaced, and a
/// table of guesses remembers in which way a key was found: so most lookups are one comparison,
/// whatever the number of ways. A wrong guess costs a search and changes nothing else.
#[derive(Debug, Clone)]
pub struct SetAssociative<V> {
    keys: Vec<u64>,
    values: Vec<V>,
    recency: Recency,
    guesses: Vec<u8>,
    ways: usize,
    set_mask: u64,
    guess_mask: u64,
}

impl<V: Copy + Default> SetAssociative<V> {
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
            keys: vec![EMPTY; entries],
            values: vec![V::default(); entries],
            recency: Recency::new(sets, ways, replacement),
            guesses: vec![0; guesses],
            ways,
            set_mask: sets as u64 - 1,
            guess_mask: guesses as u64 - 1,
        }
    }

    /// The value of `key`, which becomes the most recently used of its set.
    #[inline(always)]
    pub fn lookup(&mut self, key: u64) -> Option<&mut V> {
        let place = self.find(key)?;
        Some(&mut self.values[place])
    }

    #[inline(always)]
    fn find(&mut self, key: u64) -> Option<usize> {
        let set = (key & self.set_mask) as usize;
        let first = set * self.ways;
        let mut way = usize::from(self.guesses[(key & self.guess_mask) as usize]);
        if self.keys[first + way] != key {
            way = self.search(key, first)?;
        }
        self.recency.touch(set, way);
        Some(first + way)
    }

    #[inline(never)]
    fn search(&mut self, key: u64, first: usize) -> Option<usize> {
        let set = &self.keys[first..first + self.ways];
        // Where a key is, and whether it is there at all, is unpredictable: for the usual numbers
        // of ways, all are compared without a branch.
        let way = match self.ways {
            4 => way_of::<4>(set, key),
            8 => way_of::<8>(set, key),
            16 => way_of::<16>(set, key),
            _ => set.iter().position(|present| *present == key),
        }?;
        self.guesses[(key & self.guess_mask) as usize] = way as u8;
        Some(way)
    }

    /// Puts in a key that is not there, in the place of the one to be replaced.
    #[inline(never)]
    pub fn insert(&mut self, key: u64, value: V) {
        let set = (key & self.set_mask) as usize;
        let way = self.recency.replace(set);
        self.guesses[(key & self.guess_mask) as usize] = way as u8;
        self.keys[set * self.ways + way] = key;
        self.values[set * self.ways + way] = value;
    }
}

#[inline(always)]
fn way_of<const WAYS: usize>(set: &[u64], key: u64) -> Option<usize> {
    let set: &[u64; WAYS] = set.first_chunk()?;
    let found = set.iter().enumerate().fold(0_u32, |found, (way, present)| {
        found | u32::from(*present == key) << way
    });
    (found != 0).then_some(found.trailing_zeros() as usize)
}

impl SetAssociative<()> {
    /// Looks `key` up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub fn access(&mut self, key: u64) -> bool {
        let hit = self.find(key).is_some();
        if !hit {
            self.insert(key, ());
        }
        hit
    }
}
