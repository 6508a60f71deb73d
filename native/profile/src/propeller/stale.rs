// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of one kernel for another one, by what both have: those of a neighbouring version.
//!
//! A function is the same in both when it has the name (where several have it, the source file,
//! too) and the compiler has made the same blocks of it: as many, under the same ids, in the same
//! order and parts, each with the same ways out. Sizes may differ. What is counted in a block is
//! as far from its begin, a branch as far from its end.

use std::collections::HashMap;

use super::control_flow::Places;
use super::counts::{Counted, Counts, bounded};
use super::image::{Function, Image};

/// How clang ends the names of local functions that ThinLTO uses elsewhere: with a number of the
/// file's content.
const PROMOTED: &str = ".llvm.";

/// Counts by another image's addresses.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    pub counts: Counts,
    /// Functions that were executed, and those of them that both images have.
    pub executed: usize,
    pub same: usize,
    /// Of the executed bytes of all mapped functions, the part that is in these; from 0 to 1.
    pub share: f64,
}

/// Counts of an image as those of another one, as far as their functions are the same.
#[must_use]
pub fn carry(counts: &Counts, from: &Image, to: &Image) -> Carried {
    let places = Places::new(from);
    let same = same_functions(from, to);
    let place = |address: u64| {
        let (function, block) = places.at(address)?;
        Some((function, same[function]?, block))
    };
    let mut carried = Carried::default();
    let mut executed = vec![false; from.functions.len()];
    let (mut whole, mut kept) = (0_u128, 0_u128);
    for &(first, last, count) in &counts.ranges {
        let Some((function, _)) = places.at(first) else {
            continue;
        };
        executed[function] = true;
        let bytes = u128::from(last.saturating_sub(first)) + 1;
        whole += bytes * u128::from(bounded(count));
        let (Some(begin), Some(end)) = (place(first), place(last)) else {
            continue;
        };
        if begin.0 == end.0 {
            kept += bytes * u128::from(bounded(count));
            let range = (
                from_begin(first, begin, from, to),
                from_end(last, end, from, to),
            );
            carried.counts.ranges.push((range.0, range.1, count));
        }
    }
    for &(source, target, count) in &counts.branches {
        if let (Some(at), Some(goal)) = (place(source), place(target)) {
            let branch = (
                from_end(source, at, from, to),
                from_begin(target, goal, from, to),
            );
            carried.counts.branches.push((branch.0, branch.1, count));
        }
    }
    let ran = (0..from.functions.len()).filter(|function| executed[*function]);
    carried.executed = ran.clone().count();
    carried.same = ran.filter(|function| same[*function].is_some()).count();
    carried.share = if whole == 0 {
        0.0
    } else {
        kept as f64 / whole as f64
    };
    carried.counts.ranges = summed(carried.counts.ranges);
    carried.counts.branches = summed(carried.counts.branches);
    carried
}

/// A function of one image, the same of the other, and a block of both.
type Both = (usize, usize, usize);

/// As far from the block's begin as it was, within the block.
fn from_begin(address: u64, (own, other, block): Both, from: &Image, to: &Image) -> u64 {
    let (old, new) = (
        from.functions[own].blocks[block],
        to.functions[other].blocks[block],
    );
    let most = u64::from(new.size).saturating_sub(1);
    new.start + (address - old.start).min(most)
}

/// As far from the block's end as it was, within the block.
fn from_end(address: u64, (own, other, block): Both, from: &Image, to: &Image) -> u64 {
    let (old, new) = (
        from.functions[own].blocks[block],
        to.functions[other].blocks[block],
    );
    new.end() - (old.end() - address).min(u64::from(new.size))
}

/// By function of one image, the number of the same one of the other.
fn same_functions(from: &Image, to: &Image) -> Vec<Option<usize>> {
    let mut known: HashMap<(&str, Option<&str>), Option<usize>> = HashMap::new();
    for (number, function) in to.functions.iter().enumerate() {
        let named = known.entry(key(function)).or_insert(Some(number));
        // Two that nothing tells apart.
        if *named != Some(number) {
            *named = None;
        }
    }
    let same = |function: &Function| {
        let number = known.get(&key(function)).copied().flatten()?;
        are_alike(function, &to.functions[number]).then_some(number)
    };
    from.functions.iter().map(same).collect()
}

fn key(function: &Function) -> (&str, Option<&str>) {
    let name = function.names[0].split(PROMOTED).next().unwrap_or_default();
    let module = function.module.as_deref();
    (name, module.filter(|_| function.ambiguous))
}

fn are_alike(one: &Function, other: &Function) -> bool {
    let pairs = one.blocks.iter().zip(&other.blocks);
    one.blocks.len() == other.blocks.len()
        && one.parts == other.parts
        && pairs
            .into_iter()
            .all(|(a, b)| a.is_left_like(b) && (a.size == 0) == (b.size == 0))
}

/// Sorted, each pair of addresses once.
fn summed(mut counts: Vec<Counted>) -> Vec<Counted> {
    counts.sort_unstable();
    counts.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 = kept.2.saturating_add(next.2);
        }
        same
    });
    counts
}
