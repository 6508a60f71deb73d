// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative store, the shape of every cache, TLB and branch target buffer.

use super::Replacement;

/// A key that no line, page or branch has: all of them are addresses shifted right.
const EMPTY: u64 = u64::MAX;

/// Guesses of ways for each place: enough that two live keys seldom share one.
const GUESSES_PER_PLACE: usize = 16;

/// Keys (line numbers, page numbers, branch addresses) with a value each, in `sets × ways`.
///
/// The low bits of a key choose its set. An entry stays in its place until it is replaced, and a
/// table of guesses remembers in which way a key was found: so most lookups are one comparison,
/// whatever the number of ways. A wrong guess costs a search and changes nothing else.
#[derive(Debug, Clone)]
pub struct SetAssociative<V> {
    keys: Vec<u64>,
    values: Vec<V>,
    /// When each place was used last, in lookups.
    used: Vec<u64>,
    clock: u64,
    guesses: Vec<u16>,
    /// The next way to be replaced in each set, with [`Replacement::RoundRobin`].
    cursors: Vec<u16>,
    ways: usize,
    set_mask: u64,
    guess_mask: u64,
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
            sets.is_power_of_two() && sets * ways == entries && ways <= usize::from(u16::MAX),
            "{entries} entries in {ways} ways are no power of two of sets"
        );
        let guesses = (entries * GUESSES_PER_PLACE).next_power_of_two();
        Self {
            keys: vec![EMPTY; entries],
            values: vec![V::default(); entries],
            used: vec![0; entries],
            clock: 0,
            guesses: vec![0; guesses],
            cursors: vec![0; sets],
            ways,
            set_mask: sets as u64 - 1,
            guess_mask: guesses as u64 - 1,
            replacement,
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
        let first = self.first_of_set(key);
        let guess = self.guesses[(key & self.guess_mask) as usize];
        let mut place = first + usize::from(guess);
        if self.keys[place] != key {
            place = self.search(key, first)?;
        }
        self.clock += 1;
        self.used[place] = self.clock;
        Some(place)
    }

    #[inline(always)]
    fn first_of_set(&self, key: u64) -> usize {
        (key & self.set_mask) as usize * self.ways
    }

    #[inline(never)]
    fn search(&mut self, key: u64, first: usize) -> Option<usize> {
        let set = &self.keys[first..first + self.ways];
        let way = set.iter().position(|present| *present == key)?;
        self.guesses[(key & self.guess_mask) as usize] = way as u16;
        Some(first + way)
    }

    /// Puts in a key that is not there, in the place of the one to be replaced.
    #[inline(never)]
    pub fn insert(&mut self, key: u64, value: V) {
        let first = self.first_of_set(key);
        let way = match self.replacement {
            Replacement::Lru => self.least_recently_used(first),
            Replacement::RoundRobin => {
                let cursor = &mut self.cursors[(key & self.set_mask) as usize];
                let way = usize::from(*cursor);
                *cursor = ((way + 1) % self.ways) as u16;
                way
            }
        };
        self.guesses[(key & self.guess_mask) as usize] = way as u16;
        self.clock += 1;
        self.keys[first + way] = key;
        self.values[first + way] = value;
        self.used[first + way] = self.clock;
    }

    fn least_recently_used(&self, first: usize) -> usize {
        let mut oldest = 0;
        let mut since = u64::MAX;
        for (way, used) in self.used[first..first + self.ways].iter().enumerate() {
            // Written so that it compiles to conditional moves.
            let older = *used < since;
            oldest = if older { way } else { oldest };
            since = if older { *used } else { since };
        }
        oldest
    }
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
