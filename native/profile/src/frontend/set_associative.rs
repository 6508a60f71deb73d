// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, the shape of every cache, TLB and branch target buffer.

use super::Replacement;

/// A key that no line, page or branch has: all of them are addresses shifted right.
const EMPTY: u64 = u64::MAX;

/// Keys (line numbers, page numbers, branch addresses) with a value each, in `sets × ways`.
///
/// The low bits of a key choose its set. With [`Replacement::Lru`] each set is kept in the order
/// of last use, most recent first, so that the usual lookup ends at the first comparison. With
/// [`Replacement::RoundRobin`] entries stay where they are and each set has a cursor.
#[derive(Debug, Clone)]
pub struct SetAssociative<V> {
    entries: Vec<(u64, V)>,
    cursors: Vec<u16>,
    ways: usize,
    set_mask: u64,
    replacement: Replacement,
}

impl<V: Copy + Default> SetAssociative<V> {
    /// An empty store of `entries` places.
    ///
    /// # Panics
    ///
    /// When `entries / ways` is no power of two; a validated [`super::CpuModel`] has no such figures.
    #[must_use]
    pub fn new(entries: usize, ways: usize, replacement: Replacement) -> Self {
        let sets = entries / ways;
        assert!(
            sets.is_power_of_two() && sets * ways == entries,
            "{entries} entries in {ways} ways are no power of two of sets"
        );
        Self {
            entries: vec![(EMPTY, V::default()); entries],
            cursors: vec![0; sets],
            ways,
            set_mask: sets as u64 - 1,
            replacement,
        }
    }

    /// The value of `key`, which becomes the most recently used of its set.
    #[inline(always)]
    pub fn lookup(&mut self, key: u64) -> Option<&mut V> {
        let first = (key & self.set_mask) as usize * self.ways;
        if self.entries[first].0 == key {
            return Some(&mut self.entries[first].1);
        }
        self.lookup_behind_first(key, first)
    }

    fn lookup_behind_first(&mut self, key: u64, first: usize) -> Option<&mut V> {
        let set = &mut self.entries[first..first + self.ways];
        let way = set.iter().position(|entry| entry.0 == key)?;
        if self.replacement == Replacement::RoundRobin {
            return Some(&mut set[way].1);
        }
        let found = set[way];
        set.copy_within(..way, 1);
        set[0] = found;
        Some(&mut set[0].1)
    }

    /// Puts in a key that is not there, in the place of the one to be replaced.
    pub fn insert(&mut self, key: u64, value: V) {
        let number = (key & self.set_mask) as usize;
        let first = number * self.ways;
        let set = &mut self.entries[first..first + self.ways];
        match self.replacement {
            Replacement::Lru => {
                set.copy_within(..self.ways - 1, 1);
                set[0] = (key, value);
            }
            Replacement::RoundRobin => {
                let cursor = &mut self.cursors[number];
                set[usize::from(*cursor)] = (key, value);
                *cursor = (*cursor + 1) % self.ways as u16;
            }
        }
    }
}

impl SetAssociative<()> {
    /// Looks `key` up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub fn access(&mut self, key: u64) -> bool {
        let hit = self.lookup(key).is_some();
        if !hit {
            self.insert(key, ());
        }
        hit
    }
}
