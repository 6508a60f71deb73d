// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects of which some functions are in one compilation's form, and the others in another's.
//!
//! Nothing is compiled: both forms are in the object, and its symbols say which one is called
//! (`wiring`). The README says what comes along of the other form, and what goes together.

mod code;
mod data;
mod functions;
mod interfaces;
mod names;
mod object;
mod obstacles;
mod references;
mod roles;
mod side;
mod wiring;

use std::collections::{BTreeMap, BTreeSet};

use interfaces::Interfaces;
use obstacles::Obstacles;
use references::References;
use side::Side;
use wiring::Wiring;

pub use interfaces::Unit;

/// Two compilations of one source file whose functions can stand in for each other.
#[derive(Debug)]
pub struct Exchange {
    wiring: Wiring,
    units: Vec<Unit>,
    kept: BTreeMap<String, String>,
}

impl Exchange {
    /// differing: names of the functions of which the two objects have other code.
    ///
    /// # Errors
    ///
    /// Why no function can be exchanged, as one sentence without a full stop.
    pub fn new(good: &[u8], bad: &[u8], differing: &[String]) -> Result<Self, String> {
        let read = |which: &str, data| {
            Side::read(data).map_err(|why| format!("the {which} object cannot be read: {why}"))
        };
        let (good, bad) = (read("good", good)?, read("bad", bad)?);
        let interfaces = Interfaces::new(&good, &bad, canonical(&good, &bad, differing));
        let references = References::new(&good, &bad, &interfaces);
        let obstacles = Obstacles::new(&references)?;
        let (mut units, mut kept) = (Vec::new(), BTreeMap::new());
        for unit in interfaces.units() {
            let mut names = unit.functions.iter();
            let found = names.find_map(|name| Some((name, obstacles.of(name)?)));
            let Some((obstacle, why)) = found else {
                units.push(unit.clone());
                continue;
            };
            for name in &unit.functions {
                let words = if name == obstacle {
                    format!("it {why}")
                } else {
                    format!("it goes together with {obstacle}, which {why}")
                };
                kept.insert(name.clone(), words);
            }
        }
        let wiring = Wiring::new(&references, &units);
        Ok(Self {
            wiring,
            units,
            kept,
        })
    }

    /// Functions that can be exchanged; in groups of those that only can be together.
    #[must_use]
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Functions that differ, and why they cannot be exchanged.
    #[must_use]
    pub fn kept(&self) -> &BTreeMap<String, String> {
        &self.kept
    }

    /// The good object with these functions in the bad one's form, and what goes with them.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or has no such function.
    pub fn mixed(&self, chosen: &[String]) -> Result<Vec<u8>, String> {
        let mut functions = BTreeSet::new();
        for name in chosen {
            let mut units = self.units.iter();
            let unit = units.find(|unit| unit.functions.contains(name));
            let unit = unit.ok_or_else(|| format!("{name} cannot be exchanged"))?;
            functions.extend(unit.functions.iter().map(String::as_str));
        }
        self.wiring.object(&functions).write()
    }
}

/// Functions by the names that they are known by here; a piece of one as the whole.
fn canonical(good: &Side, bad: &Side, names: &[String]) -> BTreeSet<String> {
    let found = |name: &str| {
        let sides = [&good.functions, &bad.functions];
        let function = sides.iter().find_map(|each| each.named(name));
        function.map(|function| function.name.clone())
    };
    let one = |name: &String| found(name).or_else(|| found(functions::whole(name)?));
    names.iter().filter_map(one).collect()
}
