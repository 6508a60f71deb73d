// SPDX-License-Identifier: GPL-2.0-or-later
//! Directions of conditional branches by tagged tables of growing history (TAGE).
//!
//! A. Seznec and P. Michaud, A case for (partially) tagged geometric history length branch
//! prediction, 2006. Sets and ways of the tables, the index from history alone but for one bit of
//! the address: Half&Half (see `path_history.rs`).

use super::TageGeometry;
use super::path_history::PathHistory;

/// Counters of the tables with a tag: from -4 to 3, taken from 0 on.
const COUNTER: std::ops::RangeInclusive<i8> = -4..=3;

/// Entries that helped are kept this often before they make room.
const MOST_USEFUL: u8 = 3;

/// So many failures to find room, more than successes, and all entries are less useful.
const AGE_AFTER: u32 = 1024;

/// Tags that are compared at once, each in a lane of a word.
const LANES: usize = 4;

/// Every lane 1.
const ONES: u64 = 0x0001_0001_0001_0001;

/// What an entry has learned.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    counter: i8,
    useful: u8,
}

impl Entry {
    fn taken(self) -> bool {
        self.counter >= 0
    }

    /// New, and not tried yet.
    fn is_weak(self) -> bool {
        self.useful == 0 && (self.counter == 0 || self.counter == -1)
    }

    fn learn(&mut self, taken: bool) {
        let next = self.counter + if taken { 1 } else { -1 };
        self.counter = next.clamp(*COUNTER.start(), *COUNTER.end());
    }
}

/// The predictor, without the history that indexes it.
#[derive(Debug, Clone)]
pub struct TaggedDirections {
    /// By address: -2 to 1, taken from 0 on.
    base: Vec<i8>,
    /// Table after table, set after set: so many words of tags each. 0 is nobody's.
    tags: Vec<u64>,
    /// Of each lane of `tags`.
    entries: Vec<Entry>,
    tables: usize,
    sets: usize,
    ways: usize,
    words: usize,
    /// Whether entries that were not tried yet are believed: from 0 on not.
    doubt: i32,
    failures: u32,
    dice: u64,
}

impl TaggedDirections {
    /// Knows nothing: all branches are weakly taken.
    #[must_use]
    pub fn new(geometry: &TageGeometry) -> Self {
        let tables = geometry.history.len();
        let words = geometry.ways.div_ceil(LANES);
        let places = tables * geometry.sets * words;
        Self {
            base: vec![0; 1 << geometry.base_bits],
            tags: vec![0; places],
            entries: vec![Entry::default(); places * LANES],
            tables,
            sets: geometry.sets,
            ways: geometry.ways,
            words,
            doubt: 0,
            failures: 0,
            dice: 1,
        }
    }

    /// A conditional branch. Returns whether its direction was predicted, and learns it.
    #[inline(always)]
    pub fn predict(&mut self, pc: u64, history: &PathHistory, taken: bool) -> bool {
        let (provider, alternative) = self.providers(pc, history);
        let base = pc as usize & (self.base.len() - 1);
        let other = alternative.map_or(self.base[base] >= 0, |place| self.entries[place].taken());
        let Some((table, place)) = provider else {
            let right = (self.base[base] >= 0) == taken;
            self.learn_base(base, taken);
            if !right {
                self.allocate(pc, history, 0, taken);
            }
            return right;
        };
        let entry = &mut self.entries[place];
        let (own, weak) = (entry.taken(), entry.is_weak());
        let guess = if weak && self.doubt >= 0 { other } else { own };
        if own != other {
            if weak {
                let step = if other == taken { 1 } else { -1 };
                self.doubt = (self.doubt + step).clamp(-8, 7);
            }
            entry.useful = match own == taken {
                true => (entry.useful + 1).min(MOST_USEFUL),
                false => entry.useful.saturating_sub(1),
            };
        }
        entry.learn(taken);
        if entry.useful == 0 {
            self.learn_base(base, taken);
        }
        if guess != taken {
            self.allocate(pc, history, table + 1, taken);
        }
        guess == taken
    }

    /// A branch's first word in a table, and its tag there.
    #[inline(always)]
    fn place(&self, table: usize, pc: u64, history: &PathHistory) -> (usize, u16) {
        let (index, tag) = history.folded(table);
        let half = (pc as usize >> 5 & 1) * (self.sets / 2);
        let set = (index as usize ^ half) & (self.sets - 1);
        // No entry is nobody's.
        let tag = (tag ^ pc as u32 ^ (pc >> 9) as u32) as u16 & 0xfff | 0x1000;
        ((table * self.sets + set) * self.words, tag)
    }

    /// The first entry with this tag in the set that begins with this word.
    #[inline(always)]
    fn find(&self, first: usize, tag: u16) -> Option<usize> {
        for (word, tags) in self.tags[first..first + self.words].iter().enumerate() {
            // The lowest lane that is equal is the lowest zero; the subtraction borrows only from
            // lanes above it.
            let differing = tags ^ (u64::from(tag) * ONES);
            let zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 15);
            if zeros != 0 {
                return Some((first + word) * LANES + zeros.trailing_zeros() as usize / 16);
            }
        }
        None
    }

    /// The entries with the longest history and with the one before: table and place, place.
    #[inline(always)]
    fn providers(&self, pc: u64, history: &PathHistory) -> (Option<(usize, usize)>, Option<usize>) {
        let mut provider = None;
        for table in (0..self.tables).rev() {
            let (first, tag) = self.place(table, pc, history);
            let Some(place) = self.find(first, tag) else {
                continue;
            };
            if provider.is_some() {
                return (provider, Some(place));
            }
            provider = Some((table, place));
        }
        (provider, None)
    }

    #[inline(always)]
    fn learn_base(&mut self, base: usize, taken: bool) {
        let counter = &mut self.base[base];
        *counter = (*counter + if taken { 1 } else { -1 }).clamp(-2, 1);
    }

    /// Makes an entry in one of the tables from `from` on, of those that have room.
    #[cold]
    fn allocate(&mut self, pc: u64, history: &PathHistory, from: usize, taken: bool) {
        // One time in four, the next table is left out: branches of one history spread.
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let skipped = usize::from(from + 1 < self.tables && self.dice >> 62 == 0);
        for table in from + skipped..self.tables {
            let (first, tag) = self.place(table, pc, history);
            let set = &mut self.entries[first * LANES..][..self.ways];
            let Some(way) = set.iter().position(|entry| entry.useful == 0) else {
                continue;
            };
            set[way].counter = if taken { 0 } else { -1 };
            let (word, lane) = (&mut self.tags[first + way / LANES], 16 * (way % LANES));
            *word = *word & !(0xffff << lane) | u64::from(tag) << lane;
            self.failures = self.failures.saturating_sub(1);
            return;
        }
        self.failures += 1;
        if self.failures >= AGE_AFTER {
            self.failures = 0;
            for entry in &mut self.entries {
                entry.useful >>= 1;
            }
        }
    }
}
