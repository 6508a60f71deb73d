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

/// The most tables with a tag.
const TABLES: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// 0: nobody's.
    tag: u16,
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

/// One branch's place in every table.
#[derive(Clone, Copy, Default)]
struct Places {
    first: [usize; TABLES],
    tags: [u16; TABLES],
}

/// The predictor, without the history that indexes it.
#[derive(Debug, Clone)]
pub struct TaggedDirections {
    /// By address: -2 to 1, taken from 0 on.
    base: Vec<i8>,
    /// Table after table, set after set.
    entries: Vec<Entry>,
    tables: usize,
    sets: usize,
    ways: usize,
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
        Self {
            base: vec![0; 1 << geometry.base_bits],
            entries: vec![Entry::default(); tables * geometry.sets * geometry.ways],
            tables,
            sets: geometry.sets,
            ways: geometry.ways,
            doubt: 0,
            failures: 0,
            dice: 1,
        }
    }

    /// A conditional branch. Returns whether its direction was predicted, and learns it.
    #[inline(always)]
    pub fn predict(&mut self, pc: u64, history: &PathHistory, taken: bool) -> bool {
        let places = self.places(pc, history);
        let (provider, alternative) = self.providers(&places);
        let base = pc as usize & (self.base.len() - 1);
        let other = alternative.map_or(self.base[base] >= 0, |place| self.entries[place].taken());
        let Some((table, place)) = provider else {
            let right = (self.base[base] >= 0) == taken;
            self.learn_base(base, taken);
            if !right {
                self.allocate(&places, 0, taken);
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
            self.allocate(&places, table + 1, taken);
        }
        guess == taken
    }

    #[inline(always)]
    fn places(&self, pc: u64, history: &PathHistory) -> Places {
        let mut places = Places::default();
        for table in 0..self.tables {
            let (index, tag) = history.folded(table);
            let half = (pc as usize >> 5 & 1) * (self.sets / 2);
            let set = (index as usize ^ half) & (self.sets - 1);
            places.first[table] = (table * self.sets + set) * self.ways;
            // No entry is nobody's.
            places.tags[table] = (tag ^ pc as u32 ^ (pc >> 9) as u32) as u16 & 0xfff | 0x1000;
        }
        places
    }

    /// The entries with the longest history and with the one before: table and place, place.
    #[inline(always)]
    fn providers(&self, places: &Places) -> (Option<(usize, usize)>, Option<usize>) {
        let (mut provider, mut alternative) = (None, None);
        for table in (0..self.tables).rev() {
            let first = places.first[table];
            let set = &self.entries[first..first + self.ways];
            let tag = places.tags[table];
            let Some(way) = set.iter().position(|entry| entry.tag == tag) else {
                continue;
            };
            if provider.is_some() {
                alternative = Some(first + way);
                break;
            }
            provider = Some((table, first + way));
        }
        (provider, alternative)
    }

    #[inline(always)]
    fn learn_base(&mut self, base: usize, taken: bool) {
        let counter = &mut self.base[base];
        *counter = (*counter + if taken { 1 } else { -1 }).clamp(-2, 1);
    }

    /// Makes an entry in one of the tables from `from` on, of those that have room.
    #[cold]
    fn allocate(&mut self, places: &Places, from: usize, taken: bool) {
        // One time in four, the next table is left out: branches of one history spread.
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let skipped = usize::from(from + 1 < self.tables && self.dice >> 62 == 0);
        for table in from + skipped..self.tables {
            let first = places.first[table];
            let set = &mut self.entries[first..first + self.ways];
            if let Some(entry) = set.iter_mut().find(|entry| entry.useful == 0) {
                *entry = Entry {
                    tag: places.tags[table],
                    counter: if taken { 0 } else { -1 },
                    useful: 0,
                };
                self.failures = self.failures.saturating_sub(1);
                return;
            }
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
