// SPDX-License-Identifier: GPL-2.0-or-later
//! Directions of conditional branches by tagged tables of growing history (TAGE).
//!
//! A. Seznec and P. Michaud, A case for (partially) tagged geometric history length branch
//! prediction, 2006. Sets and ways of the tables, the index from history alone but for one bit of
//! the address: Half&Half (see `path_history.rs`).

use super::TageGeometry;
use super::ahead::fetch_ahead;
use super::branch_key::BranchKey;
use super::dice::Dice;
use super::loops::Loops;
use super::path_history::Folds;

/// Counters of the tables with a tag: from -4 to 3, taken from 0 on.
const COUNTER: std::ops::RangeInclusive<i8> = -4..=3;

/// Entries that helped are kept this often before they make room.
const MOST_USEFUL: u8 = 3;

/// So many failures to find room, more than successes, and all entries are less useful.
const AGE_AFTER: u32 = 1024;

/// The most tables with a tag.
pub(super) const TABLES: usize = 8;

/// Tags that are compared at once, each in a lane of a word.
pub(super) const LANES: usize = 4;

/// Every lane 1.
const ONES: u64 = 0x0001_0001_0001_0001;

/// What an entry has learned.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    counter: i8,
    useful: u8,
}

/// Entries of a set, with their tags: in one line of the host's caches.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(16))]
struct Word {
    /// 0 is nobody's.
    tags: u64,
    /// Of each lane of `tags`.
    entries: [Entry; LANES],
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

/// A counter of two bits.
#[inline(always)]
fn learn(counter: &mut i8, taken: bool) {
    *counter = (*counter + if taken { 1 } else { -1 }).clamp(-2, 1);
}

/// The predictor, without the history that indexes it.
#[derive(Debug, Clone)]
pub struct TaggedDirections {
    /// By the branch alone: -2 to 1, taken from 0 on.
    base: Vec<i8>,
    /// Table after table, set after set: so many words each.
    held: Vec<Word>,
    tables: usize,
    sets: usize,
    ways: usize,
    words: usize,
    /// Whether entries that were not tried yet are believed: from 0 on not.
    doubt: i32,
    failures: u32,
    dice: Dice,
    /// Beside the tables.
    loops: Option<Loops>,
    /// A faster predictor, as the base, that learns whatever the tables know; empty where there is none.
    fast: Vec<i8>,
    /// Whether what was predicted last is not what the faster one says.
    pub overrides: bool,
}

impl TaggedDirections {
    /// Knows nothing: all branches are weakly taken.
    #[must_use]
    pub fn new(geometry: &TageGeometry) -> Self {
        let tables = geometry.history.len();
        let words = geometry.ways.div_ceil(LANES);
        Self {
            base: vec![0; 1 << geometry.base_bits],
            held: vec![Word::default(); tables * geometry.sets * words],
            tables,
            sets: geometry.sets,
            ways: geometry.ways,
            words,
            doubt: 0,
            failures: 0,
            dice: Dice::default(),
            loops: geometry.loops.as_ref().map(Loops::new),
            fast: match geometry.override_cycles > 0.0 {
                true => vec![0; 1 << geometry.base_bits],
                false => Vec::new(),
            },
            overrides: false,
        }
    }

    /// A conditional branch. Returns whether its direction was predicted, and learns it.
    #[inline(always)]
    pub fn predict(&mut self, key: BranchKey, places: &[Folds], taken: bool) -> bool {
        let right = self.predict_by_history(key, places, taken);
        let right = match &mut self.loops {
            None => right,
            Some(loops) => loops.predict(key.pc, right == taken, taken),
        };
        if !self.fast.is_empty() {
            let place = key.pc as usize & (self.fast.len() - 1);
            self.overrides = (self.fast[place] >= 0) != (right == taken);
            learn(&mut self.fast[place], taken);
        }
        right
    }

    /// The same without what is known of loops.
    ///
    /// Which tables know a branch is as unpredictable for the host as its direction is for the
    /// model: all are asked, without a branch.
    #[inline(always)]
    fn predict_by_history(&mut self, key: BranchKey, places: &[Folds], taken: bool) -> bool {
        let (found, at) = self.find_all(places);
        let base = key.alone() as usize & (self.base.len() - 1);
        let alone = self.base[base] >= 0;
        if found == 0 {
            self.learn_base(base, taken);
            if alone != taken {
                self.allocate(places, 0, taken);
            }
            return alone == taken;
        }
        let provider = found.ilog2();
        let shorter = found ^ 1 << provider;
        let alternative = at[(shorter | 1).ilog2() as usize] as usize;
        let other = match shorter {
            0 => alone,
            _ => self.held[alternative / LANES].entries[alternative % LANES].taken(),
        };
        let own = at[provider as usize] as usize;
        let entry = &mut self.held[own / LANES].entries[own % LANES];
        let (own, weak) = (entry.taken(), entry.is_weak());
        let guess = if weak && self.doubt >= 0 { other } else { own };
        if weak && own != other {
            let step = if other == taken { 1 } else { -1 };
            self.doubt = (self.doubt + step).clamp(-8, 7);
        }
        let useful = match own == taken {
            true => (entry.useful + 1).min(MOST_USEFUL),
            false => entry.useful.saturating_sub(1),
        };
        entry.useful = if own == other { entry.useful } else { useful };
        entry.learn(taken);
        if entry.useful == 0 {
            self.learn_base(base, taken);
        }
        if guess != taken {
            self.allocate(places, provider as usize + 1, taken);
        }
        guess == taken
    }

    /// Where a branch is in the tables that these histories are of: sets in place of indexes, and its
    /// tags there, all lanes at once.
    #[inline(always)]
    #[must_use]
    pub fn places(&self, key: BranchKey, [index, tag]: Folds) -> Folds {
        let (half, last) = (self.sets as u64 / 2, self.sets as u64 - 1);
        let of_path = || ((key.pc >> 5 & 1) * half, key.pc ^ key.pc >> 9);
        let (set, mixed) = key.mixed().unwrap_or_else(of_path);
        let sets = (index ^ ((set & last) * ONES)) & (last * ONES);
        // No entry is nobody's.
        let tags = (tag ^ ((mixed & 0xfff) * ONES)) & (0xfff * ONES) | (0x1000 * ONES);
        [sets, tags]
    }

    /// They will be asked for soon.
    #[inline(always)]
    pub fn expect(&self, places: &[Folds]) {
        for table in 0..self.tables {
            fetch_ahead(&self.held, self.place(places, table).0);
        }
    }

    /// A branch's first word in a table, and its tag there.
    #[inline(always)]
    fn place(&self, places: &[Folds], table: usize) -> (usize, u64) {
        let [set, tag] = places[table / LANES].map(|lanes| lanes >> (table % LANES * 16) & 0xffff);
        ((table * self.sets + set as usize) * self.words, tag)
    }

    /// Whether the set that begins with this word has an entry with this tag, and where the first
    /// one is.
    #[inline(always)]
    fn find(&self, first: usize, tag: u64) -> (bool, usize) {
        let (known, place) = self.find_in(first, tag);
        if known || self.words == 1 {
            return (known, place);
        }
        let others = (first + 1..first + self.words).map(|word| self.find_in(word, tag));
        others
            .into_iter()
            .find(|(known, _)| *known)
            .unwrap_or_default()
    }

    #[inline(always)]
    fn find_in(&self, word: usize, tag: u64) -> (bool, usize) {
        // The lowest lane that is equal is the lowest zero; the subtraction borrows only from
        // lanes above it.
        let differing = self.held[word].tags ^ (tag * ONES);
        let zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 15);
        (
            zeros != 0,
            word * LANES + zeros.trailing_zeros() as usize / 16,
        )
    }

    /// The tables that know a branch, a bit each; and by table, where that is.
    #[inline(always)]
    fn find_all(&self, places: &[Folds]) -> (u32, [u32; TABLES]) {
        let (mut found, mut all) = (0, [0; TABLES]);
        for (table, at) in all.iter_mut().enumerate().take(self.tables) {
            let (first, tag) = self.place(places, table);
            let (known, place) = self.find(first, tag);
            *at = place as u32;
            found |= u32::from(known) << table;
        }
        (found, all)
    }

    #[inline(always)]
    fn learn_base(&mut self, base: usize, taken: bool) {
        learn(&mut self.base[base], taken);
    }

    /// Makes an entry in one of the tables from `from` on, of those that have room.
    #[cold]
    fn allocate(&mut self, places: &[Folds], from: usize, taken: bool) {
        let (skipped, turn) = self.dice.throw(self.tables.saturating_sub(from));
        for table in from + skipped..self.tables {
            let (first, tag) = self.place(places, table);
            let useful = |way: &usize| self.held[first + way / LANES].entries[way % LANES].useful;
            let mut ways = (0..self.ways).map(|way| (turn + way) % self.ways);
            let Some(way) = ways.find(|way| useful(way) == 0) else {
                continue;
            };
            let (word, lane) = (&mut self.held[first + way / LANES], 16 * (way % LANES));
            word.entries[way % LANES].counter = if taken { 0 } else { -1 };
            word.tags = word.tags & !(0xffff << lane) | tag << lane;
            self.failures = self.failures.saturating_sub(1);
            return;
        }
        self.failures += 1;
        if self.failures >= AGE_AFTER {
            self.failures = 0;
            for entry in self.held.iter_mut().flat_map(|word| &mut word.entries) {
                entry.useful >>= 1;
            }
        }
    }
}
