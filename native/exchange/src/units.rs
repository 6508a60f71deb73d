// SPDX-License-Identifier: GPL-2.0-or-later
//! Which functions can be exchanged each by itself, and which only together.
//!
//! Two compilations of one source agree on how a function is called where it can be called from
//! elsewhere. How a function is called that no other object sees, and whose address nobody takes, is
//! its compiler's business: an argument may be left out, or its value passed in the place of its
//! address (LLVM's DeadArgumentElimination and ArgumentPromotion, gcc's -fipa-sra). So such a
//! function and a caller of it go together where the code of both differs; a caller of which both
//! compilations have the same code calls both forms alike. gcc's callers count on which registers any
//! function of the same file leaves alone (-fipa-ra), and whatever that one calls in turn.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::side::{Calls, Side};

/// Functions that are exchanged together; sorted.
pub type Unit = Vec<String>;

/// Those of `differing` functions that both compilations have, in groups.
#[must_use]
pub fn units(good: &Side, bad: &Side, differing: &BTreeSet<String>) -> Vec<Unit> {
    let is_common =
        |name: &String| good.functions.named(name).is_some() && bad.functions.named(name).is_some();
    let mut groups = Groups::default();
    for name in differing.iter().filter(|name| is_common(name)) {
        groups.root(name);
    }
    let calls = [good.calls(), bad.calls()];
    let is_private = |name: &str| calls.iter().any(|each| !each.exposed.contains(name));
    let counts_registers = !(good.is_by_clang && bad.is_by_clang);
    for each in &calls {
        for caller in differing.iter().filter(|name| is_common(name)) {
            let passes = |name: &String| !is_common(name) || counts_registers;
            for callee in reached(each, caller, differing, passes, is_common) {
                if counts_registers || is_private(callee) {
                    groups.join(caller, callee);
                }
            }
        }
    }
    groups.all()
}

/// The differing functions that a function calls, also through others that are passed.
fn reached<'a>(
    calls: &'a Calls,
    caller: &str,
    differing: &BTreeSet<String>,
    passes: impl Fn(&String) -> bool,
    is_common: impl Fn(&String) -> bool,
) -> Vec<&'a str> {
    let (mut found, mut seen, mut left) = (Vec::new(), HashSet::new(), vec![caller]);
    while let Some(name) = left.pop() {
        for callee in calls.callees.get(name).into_iter().flatten() {
            if !seen.insert(callee) {
                continue;
            }
            if differing.contains(callee) && is_common(callee) {
                found.push(callee.as_str());
            } else if passes(callee) {
                left.push(callee);
            }
        }
    }
    found
}

/// Names in groups that are joined.
#[derive(Default)]
struct Groups(BTreeMap<String, String>);

impl Groups {
    fn root(&mut self, name: &str) -> String {
        let mut at = name.to_owned();
        loop {
            let above = self.0.entry(at.clone()).or_insert_with(|| at.clone());
            if *above == at {
                return at;
            }
            at.clone_from(above);
        }
    }

    fn join(&mut self, one: &str, other: &str) {
        let (one, other) = (self.root(one), self.root(other));
        self.0.insert(other, one);
    }

    fn all(&mut self) -> Vec<Unit> {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let mut groups: BTreeMap<String, Unit> = BTreeMap::new();
        for name in names {
            groups.entry(self.root(&name)).or_default().push(name);
        }
        groups.into_values().collect()
    }
}
