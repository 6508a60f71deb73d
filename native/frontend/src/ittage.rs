// SPDX-License-Identifier: GPL-2.0-or-later
//! Targets of indirect branches by tagged tables of growing history (ITTAGE).
//!
//! A. Seznec, A 64-Kbytes ITTAGE indirect branch predictor, 2011.

use super::TageGeometry;
use super::path_history::{Folds, folded};

/// How often a target must be wrong before another takes its place.
const MOST_CONFIDENT: u8 = 3;

/// The most tables with a tag.
const TABLES: usize = 8;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// 0: nobody's.
    tag: u16,
    confidence: u8,
    target: u64,
}

/// The predictor, without the history that indexes it.
#[derive(Debug, Clone)]
pub struct TaggedTargets {
    /// By address: the last target.
    base: Vec<(u64, u64)>,
    entries: Vec<Entry>,
    tables: usize,
    sets: usize,
    ways: usize,
}

impl TaggedTargets {
    /// Knows nothing.
    #[must_use]
    pub fn new(geometry: &TageGeometry) -> Self {
        let tables = geometry.history.len();
        Self {
            base: vec![(u64::MAX, 0); 1 << geometry.target_bits],
            entries: vec![Entry::default(); tables * geometry.target_sets * geometry.target_ways],
            tables,
            sets: geometry.target_sets,
            ways: geometry.target_ways,
        }
    }

    /// An indirect jump or call. Returns whether its target was predicted, and learns it.
    pub fn predict(&mut self, pc: u64, history: &[Folds], target: u64) -> bool {
        let mut sets = [(0, 0); TABLES];
        for (table, place) in sets[..self.tables].iter_mut().enumerate() {
            let (index, tag) = folded(history, table);
            let set = index as usize & (self.sets - 1);
            let tag = (tag ^ pc as u32 ^ (pc >> 7) as u32) as u16 & 0xfff | 0x1000;
            *place = ((table * self.sets + set) * self.ways, tag);
        }
        let provider = (0..self.tables).rev().find_map(|table| {
            let (first, tag) = sets[table];
            let set = &self.entries[first..first + self.ways];
            let way = set.iter().position(|entry| entry.tag == tag)?;
            Some((table, first + way))
        });
        let slot = pc as usize & (self.base.len() - 1);
        let (owner, last) = std::mem::replace(&mut self.base[slot], (pc, target));
        let guess = match provider {
            Some((_, place)) => Some(self.entries[place].target),
            None => (owner == pc).then_some(last),
        };
        if let Some((_, place)) = provider {
            let entry = &mut self.entries[place];
            if entry.target == target {
                entry.confidence = (entry.confidence + 1).min(MOST_CONFIDENT);
            } else if entry.confidence > 0 {
                entry.confidence -= 1;
            } else {
                entry.target = target;
            }
        }
        let right = guess == Some(target);
        if !right {
            let longer = provider.map_or(0, |(table, _)| table + 1);
            self.allocate(&sets[longer..self.tables], target);
        }
        right
    }

    fn allocate(&mut self, sets: &[(usize, u16)], target: u64) {
        for (first, tag) in sets {
            let set = &mut self.entries[*first..first + self.ways];
            if let Some(entry) = set.iter_mut().find(|entry| entry.confidence == 0) {
                *entry = Entry {
                    tag: *tag,
                    confidence: 0,
                    target,
                };
                return;
            }
            for entry in set {
                entry.confidence -= 1;
            }
        }
    }
}
