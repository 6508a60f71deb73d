// SPDX-License-Identifier: GPL-2.0-or-later
//! Which functions can be called in either form by whom, and which are exchanged together.
//!
//! Two compilations of one source agree on how a function is called where it can be called from
//! elsewhere. How a function is called that no other object sees, and whose address nobody takes, is
//! its compiler's business: an argument may be left out, or its value passed in the place of its
//! address (LLVM's DeadArgumentElimination and ArgumentPromotion, gcc's -fipa-sra). So functions
//! whose code differs call such a function, if it differs, in their own form. A caller of which both
//! compilations have the same code calls both forms alike.
//!
//! gcc's callers count on which registers any function of the same file leaves alone (-fipa-ra), and
//! whatever that one calls in turn: there, functions that differ and call each other are exchanged
//! together.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::side::{Calls, Side};

/// Functions that can be exchanged only together.
#[derive(Debug, Clone)]
pub struct Unit {
    pub functions: Vec<String>,
    /// Others that these call in their own form.
    pub along: Vec<String>,
}

#[derive(Debug)]
pub struct Interfaces {
    differing: BTreeSet<String>,
    /// Functions of both compilations.
    common: BTreeSet<String>,
    /// Functions that those that differ call in their own form.
    private: BTreeSet<String>,
    units: Vec<Unit>,
}

impl Interfaces {
    /// differing: functions of which the code differs.
    #[must_use]
    pub fn new(good: &Side, bad: &Side, differing: BTreeSet<String>) -> Self {
        let names = good.functions.all.iter().map(|each| &each.name);
        let common = names.filter(|name| bad.functions.named(name).is_some());
        let mut found = Self {
            common: common.cloned().collect(),
            private: BTreeSet::new(),
            units: Vec::new(),
            differing,
        };
        let calls = [good.calls(), bad.calls()];
        let both = found.differing.intersection(&found.common);
        let both: Vec<String> = both.cloned().collect();
        if good.is_by_clang && bad.is_by_clang {
            let is_private =
                |name: &&String| calls.iter().any(|each| !each.exposed.contains(*name));
            found.private = both.iter().filter(is_private).cloned().collect();
            let unit = |name: String| Unit {
                along: found.along(&calls[1], &name),
                functions: vec![name],
            };
            found.units = both.into_iter().map(unit).collect();
            return found;
        }
        let mut groups = Groups::default();
        for name in &both {
            groups.root(name);
        }
        for (each, caller) in calls
            .iter()
            .flat_map(|each| both.iter().map(move |name| (each, name)))
        {
            for callee in found.reached(each, caller, |name| !found.differs(name)) {
                groups.join(caller, &callee);
            }
        }
        found.units = groups.all();
        found
    }

    #[must_use]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Whether a place in code calls a function in the form that it has itself.
    #[must_use]
    pub fn keeps_form(&self, side: &Side, section: usize, offset: u64, callee: &str) -> bool {
        let caller = side.functions.owner(section, offset);
        let differs = caller.is_none_or(|name| self.differs(name) || !self.common.contains(name));
        self.private.contains(callee) && differs
    }

    /// Of a function of both compilations, whether its code differs.
    fn differs(&self, name: &str) -> bool {
        self.differing.contains(name) && self.common.contains(name)
    }

    /// What a function calls in its own form, and what that calls so in turn.
    fn along(&self, calls: &Calls, caller: &str) -> Vec<String> {
        let (mut found, mut left) = (BTreeSet::new(), vec![caller.to_owned()]);
        while let Some(name) = left.pop() {
            let is_own = |name: &String| self.private.contains(name);
            for callee in self.reached(calls, &name, |name| !self.common.contains(name)) {
                if is_own(&callee) && callee != caller && found.insert(callee.clone()) {
                    left.push(callee);
                }
            }
        }
        found.into_iter().collect()
    }

    /// The differing functions that a function calls, also through others that are passed.
    fn reached(&self, calls: &Calls, caller: &str, passes: impl Fn(&str) -> bool) -> Vec<String> {
        let (mut found, mut seen, mut left) = (Vec::new(), HashSet::new(), vec![caller]);
        while let Some(name) = left.pop() {
            for callee in calls.callees.get(name).into_iter().flatten() {
                if !seen.insert(callee) {
                    continue;
                }
                if self.differs(callee) {
                    found.push(callee.clone());
                } else if passes(callee) {
                    left.push(callee);
                }
            }
        }
        found
    }
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
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in names {
            groups.entry(self.root(&name)).or_default().push(name);
        }
        let unit = |functions| Unit {
            functions,
            along: Vec::new(),
        };
        groups.into_values().map(unit).collect()
    }
}
