// SPDX-License-Identifier: GPL-2.0-or-later
//! Targets of indirect branches by tagged tables of growing history (ITTAGE).
//!
//! A. Seznec, A 64-Kbytes ITTAGE indirect branch predictor, 2011: a target that has not been right yet
//! is believed only while such targets are right more often than those of the next shorter history,
//! and one that was right where that was wrong does not make room.

use super::TageGeometry;
use super::branch_key::BranchKey;
use super::dice::Dice;
use super::path_history::{Folds, folded};

/// How often a target must be wrong before another takes its place.
const MOST_CONFIDENT: u8 = 3;

/// So many failures to find room, more than successes, and no entry is useful any more.
const AGE_AFTER: u32 = 1024;

/// The most tables with a tag.
const TABLES: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// 0: nobody's.
    tag: u16,
    confidence: u8,
    /// It was right where the next shorter history was wrong: it does not make room.
    useful: bool,
    target: u64,
}

/// What is known of a branch whatever its history.
#[derive(Debug, Clone, Copy)]
struct Base {
    owner: u64,
    target: u64,
    confidence: u8,
}

impl Base {
    const NOBODY: Self = Self {
        owner: u64::MAX,
        target: 0,
        confidence: 0,
    };

    /// Its target, if the branch is known; learns it.
    fn predict(&mut self, pc: u64, target: u64) -> Option<u64> {
        if self.owner != pc {
            (self.owner, self.target, self.confidence) = (pc, target, 0);
            return None;
        }
        let known = self.target;
        if known == target {
            self.confidence = (self.confidence + 1).min(MOST_CONFIDENT);
        } else if self.confidence > 0 {
            self.confidence -= 1;
        } else {
            self.target = target;
        }
        Some(known)
    }
}

/// Where an indirect branch has led last: a history of its own (T.-Y. Yeh, Y. N. Patt, *Two-Level Adaptive
/// Training Branch Prediction*, MICRO 1991; for targets
/// K. Driesen, U. Hölzle, *Accurate Indirect Branch Prediction*, ISCA 1998).
#[derive(Debug, Clone)]
struct OwnTargets {
    /// By branch: as many last targets as there is room for, of so many bits each.
    last: Vec<u32>,
    bits: u32,
}

/// log2 of the branches that have such a history; those that share a place share it.
const OWN_BITS: u32 = 10;

/// log2 of the bytes within which targets are alike.
const LINE: u32 = 6;

impl OwnTargets {
    fn new(targets: usize) -> Option<Self> {
        (targets > 0).then(|| Self {
            last: vec![0; 1 << OWN_BITS],
            bits: u32::BITS / targets as u32,
        })
    }

    /// Those of the branch, mixed, before it leads to this target.
    #[inline(always)]
    fn lead(&mut self, branch: u64, target: u64) -> u64 {
        let place = (branch ^ branch >> OWN_BITS) as usize & ((1 << OWN_BITS) - 1);
        let before = self.last[place];
        let target = mixed(target >> LINE) >> (u64::BITS - self.bits);
        self.last[place] = before.checked_shl(self.bits).unwrap_or(0) | target as u32;
        mixed(before.into())
    }
}

#[inline(always)]
fn mixed(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The predictor, without the history that indexes it.
#[derive(Debug, Clone)]
pub struct TaggedTargets {
    /// By the branch alone.
    base: Vec<Base>,
    entries: Vec<Entry>,
    tables: usize,
    sets: usize,
    ways: usize,
    own: Option<OwnTargets>,
    /// Whether targets that have not been right yet are believed: from 0 on not.
    doubt: i8,
    failures: u32,
    dice: Dice,
}

impl TaggedTargets {
    /// Knows nothing.
    #[must_use]
    pub fn new(geometry: &TageGeometry) -> Self {
        let tables = geometry.history.len();
        Self {
            base: vec![Base::NOBODY; 1 << geometry.target_bits],
            entries: vec![Entry::default(); tables * geometry.target_sets * geometry.target_ways],
            tables,
            sets: geometry.target_sets,
            ways: geometry.target_ways,
            own: OwnTargets::new(geometry.own_targets),
            doubt: 0,
            failures: 0,
            dice: Dice::default(),
        }
    }

    /// An indirect jump or call. Returns whether its target was predicted, and learns it.
    pub fn predict(&mut self, key: BranchKey, history: &[Folds], target: u64) -> bool {
        let own = self.own.as_mut().map_or(0, |own| own.lead(key.pc, target));
        let sets = self.sets_of(key, history, own);
        let alone = key.alone();
        let mut known = (0..self.tables).rev().filter_map(|table| {
            let (first, tag) = sets[table];
            let set = &self.entries[first..first + self.ways];
            let way = set.iter().position(|entry| entry.tag == tag)?;
            Some((table, first + way))
        });
        let (provider, shorter) = (known.next(), known.next());
        let slot = alone as usize & (self.base.len() - 1);
        let by_itself = self.base[slot].predict(alone, target);
        let alternate = match shorter {
            Some((_, place)) => Some(self.entries[place].target),
            None => by_itself,
        };
        let Some((table, place)) = provider else {
            if alternate != Some(target) {
                self.allocate(&sets[..self.tables], target);
            }
            return alternate == Some(target);
        };
        let own = self.entries[place];
        let doubted = own.confidence == 0 && self.doubt >= 0;
        self.learn(place, alternate == Some(target), target);
        if own.target != target {
            self.allocate(&sets[table + 1..self.tables], target);
        }
        match alternate {
            Some(other) if doubted => other == target,
            _ => own.target == target,
        }
    }

    /// Of each table, where the set of a branch begins, and the branch's tag. own: its own last targets.
    fn sets_of(&self, key: BranchKey, history: &[Folds], own: u64) -> [(usize, u16); TABLES] {
        let of_path = || (0, key.pc ^ key.pc >> 7);
        let (mixed_set, mixed_tag) = key.mixed().unwrap_or_else(of_path);
        let (mixed_set, mixed_tag) = (mixed_set ^ own >> 32, mixed_tag ^ own >> 48);
        let mut sets = [(0, 0); TABLES];
        for (table, place) in sets[..self.tables].iter_mut().enumerate() {
            let (index, tag) = folded(history, table);
            let set = (index as usize ^ mixed_set as usize) & (self.sets - 1);
            let tag = (tag ^ mixed_tag as u32) as u16 & 0xfff | 0x1000;
            *place = ((table * self.sets + set) * self.ways, tag);
        }
        sets
    }

    /// What the entry of the longest history learns. other_right: whether the next shorter one
    /// knew the target.
    fn learn(&mut self, place: usize, other_right: bool, target: u64) {
        let entry = &mut self.entries[place];
        let right = entry.target == target;
        if entry.confidence == 0 && right != other_right {
            let step = if right { -1 } else { 1 };
            self.doubt = (self.doubt + step).clamp(-8, 7);
        }
        if right {
            entry.confidence = (entry.confidence + 1).min(MOST_CONFIDENT);
            entry.useful |= !other_right;
        } else if entry.confidence > 0 {
            entry.confidence -= 1;
        } else {
            entry.target = target;
            entry.useful = false;
        }
    }

    /// A place for the target in the table of the shortest of these histories that has room, or of
    /// the next one.
    fn allocate(&mut self, sets: &[(usize, u16)], target: u64) {
        let (skipped, turn) = self.dice.throw(sets.len());
        for (first, tag) in &sets[skipped..] {
            let mut places = (0..self.ways).map(|way| first + (turn + way) % self.ways);
            if let Some(place) = places.find(|place| !self.entries[*place].useful) {
                self.entries[place] = Entry {
                    tag: *tag,
                    confidence: 0,
                    useful: false,
                    target,
                };
                self.failures = self.failures.saturating_sub(1);
                return;
            }
            self.failures += 1;
        }
        if self.failures >= AGE_AFTER {
            self.failures = 0;
            for entry in &mut self.entries {
                entry.useful = false;
            }
        }
    }
}
