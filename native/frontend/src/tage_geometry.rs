// SPDX-License-Identifier: GPL-2.0-or-later
//! `[decoupled.predictor]` of a CPU model: what directions and targets are predicted by.

use super::ModelError;
use super::fields::Fields;
use super::path_history::{LONGEST, PathHistory};

/// Bits that a history's tag is folded to.
const TAG: u32 = 13;

/// The last of the draws of names.
const MOST_DRAWS: usize = 9999;

/// The most sets of a table: an index is folded to no more bits.
const MOST_SETS: usize = 1 << 15;

/// Loops with a constant number of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGeometry {
    pub entries: usize,
    pub ways: usize,
}

/// Directions (TAGE) and targets (ITTAGE), with the histories that both are indexed by.
#[derive(Debug, Clone, PartialEq)]
pub struct TageGeometry {
    /// Branches in each table's history, a geometric series.
    pub history: Vec<usize>,
    /// Whether histories are of conditional branches, each taken or not; else of taken branches, each
    /// with what it and its target are known by.
    pub by_direction: bool,
    /// Whether branches and targets are known by function and place, which no layout changes; else
    /// by address.
    pub by_function: bool,
    /// Which of many draws of these names: see [`super::branch_key::drawn`].
    pub draw: u32,
    /// log2 of the entries without a tag.
    pub base_bits: usize,
    pub sets: usize,
    pub ways: usize,
    /// Beside the tables of directions, where there is one.
    pub loops: Option<LoopGeometry>,
    /// log2 of the entries of last targets.
    pub target_bits: usize,
    pub target_sets: usize,
    pub target_ways: usize,
    /// An indirect branch's own last targets, by which it is known beside the history.
    pub own_targets: usize,
    /// What prediction waits for a direction that a faster predictor, of counters by branch, got otherwise;
    /// 0: there is none.
    pub override_cycles: f64,
}

impl TageGeometry {
    /// No branch was resolved yet.
    ///
    /// Index and tag are folded to different widths (as by Seznec and Michaud, 2006): of the same
    /// width they are the same bits, and whatever shares a set shares its tag. Both are odd: the
    /// register moves by two bits, so in an even width a branch's bits keep to every second place
    /// however often it is taken, and a loop with one branch in it comes to few sets.
    #[must_use]
    pub fn path_history(&self) -> PathHistory {
        let index = self.sets.max(self.target_sets).ilog2().max(9) | 1;
        let tag = if index == TAG { TAG - 2 } else { TAG };
        PathHistory::new(&self.history, index, tag)
    }
}

/// Reads the section.
pub(super) fn predictor(parent: &mut Fields) -> Result<TageGeometry, ModelError> {
    let mut fields = parent.section("predictor")?;
    let tables = fields.integer("tables", 1..=8)?;
    let by_direction = fields.choice("history", &[("path", false), ("directions", true)], true)?;
    // A taken branch leaves bits for as many.
    let fewest = if by_direction { 1 } else { 6 };
    let shortest = fields.integer("shortest_history", fewest..=LONGEST)?;
    let longest = fields.integer("longest_history", shortest..=LONGEST)?;
    let by_function = fields.choice("known_by", &[("address", false), ("function", true)], true)?;
    let draw = match fields.has("draw") {
        true if by_function => fields.integer("draw", 0..=MOST_DRAWS)? as u32,
        true => return Err(fields.error("draw", "is of branches that are known by \"function\"")),
        false => 0,
    };
    let geometry = TageGeometry {
        history: series(tables, shortest, longest),
        by_direction,
        by_function,
        draw,
        base_bits: fields.integer("base_bits", 2..=20)?,
        sets: fields.power_of_two("sets", 2..=MOST_SETS)?,
        ways: fields.integer("ways", 1..=16)?,
        loops: loops(&mut fields)?,
        target_bits: fields.integer("target_bits", 2..=16)?,
        target_sets: fields.power_of_two("target_sets", 2..=MOST_SETS)?,
        target_ways: fields.integer("target_ways", 1..=16)?,
        own_targets: match fields.has("own_targets") {
            true => fields.integer("own_targets", 0..=8)?,
            false => 0,
        },
        override_cycles: fields.number_or_zero("override_cycles", 0.0..=100.0)?,
    };
    fields.end()?;
    Ok(geometry)
}

/// Reads the table of loops when there is one.
fn loops(parent: &mut Fields) -> Result<Option<LoopGeometry>, ModelError> {
    if !parent.has("loops") {
        return Ok(None);
    }
    let mut fields = parent.section("loops")?;
    let geometry = LoopGeometry {
        entries: fields.integer("entries", 1..=4096)?,
        ways: fields.integer("ways", 1..=16)?,
    };
    fields.check_sets("ways", geometry.entries, geometry.ways)?;
    fields.end()?;
    Ok(Some(geometry))
}

/// Lengths of history, of which each is longer by the same factor than the one before.
fn series(tables: usize, shortest: usize, longest: usize) -> Vec<usize> {
    let ratio = longest as f64 / shortest as f64;
    let power = |table| match tables {
        1 => 1.0,
        _ => ratio.powf(table as f64 / (tables - 1) as f64),
    };
    (0..tables)
        .map(|table| (shortest as f64 * power(table)).round() as usize)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::dice::Dice;
    use crate::path_history::folded;

    const STEPS: usize = 20_000;

    fn predictor_of(sets: usize) -> TageGeometry {
        TageGeometry {
            history: vec![18, 81, 194],
            by_direction: false,
            by_function: false,
            draw: 0,
            base_bits: 13,
            sets,
            ways: 4,
            loops: None,
            target_bits: 12,
            target_sets: 512,
            target_ways: 2,
            own_targets: 0,
            override_cycles: 0.0,
        }
    }

    #[test]
    fn a_loop_with_one_branch_uses_all_sets() {
        for sets in [512, 1024, 2048, 4096, 8192] {
            let mut history = predictor_of(sets).path_history();
            let mut seen: [HashSet<(u32, u32)>; 3] = Default::default();
            let mut dice = Dice::default();
            for _ in 0..STEPS {
                if dice.throw(2).1 % 2 == 0 {
                    history.take(0x40_1010, 0x40_1014);
                }
                history.take(0x40_1018, 0x40_1000);
                for (number, seen) in seen.iter_mut().enumerate() {
                    seen.insert(folded(history.folds(), number));
                }
            }
            // The shortest one has 18 branches, some six of which go their own way.
            for seen in &seen[1..] {
                assert!(seen.len() > STEPS * 9 / 10, "{sets} sets: {}", seen.len());
                let indexes: HashSet<_> =
                    seen.iter().map(|(index, _)| index % sets as u32).collect();
                assert!(
                    indexes.len() > sets * 9 / 10,
                    "{sets} sets: {}",
                    indexes.len()
                );
            }
        }
    }

    #[test]
    fn of_histories_in_one_set_hardly_any_share_a_tag() {
        for sets in [2, 512, 1024, 2048, 4096, 8192, MOST_SETS] {
            let mut history = predictor_of(sets).path_history();
            let mut seen: [HashSet<(u32, u32)>; 3] = Default::default();
            let mut address = 0x40_1234_u64;
            for _ in 0..STEPS {
                let target = address.wrapping_mul(6_364_136_223_846_793_005) >> 20;
                history.take(address, target);
                address = target;
                for (number, seen) in seen.iter_mut().enumerate() {
                    seen.insert(folded(history.folds(), number));
                }
            }
            for seen in seen {
                assert!(seen.len() > STEPS * 9 / 10, "{sets} sets: {}", seen.len());
            }
        }
    }
}
