// SPDX-License-Identifier: GPL-2.0-or-later
//! What collides in the instruction cache, for Python.

use std::collections::HashMap;

use kernsmith_frontend::CpuModel;
use kernsmith_layout::{Collided, USER};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Numbers for names of functions: the same for the same name.
pub struct Owners<'a> {
    names: Vec<&'a str>,
    /// By part of the code.
    numbers: Vec<u32>,
}

impl<'a> Owners<'a> {
    /// symbols: of each part its name.
    pub fn new(symbols: &'a [String]) -> Self {
        let (mut names, mut known) = (vec!["?"], HashMap::new());
        let numbers = symbols.iter().map(|symbol| {
            *known.entry(symbol.as_str()).or_insert_with(|| {
                names.push(symbol);
                names.len() as u32 - 1
            })
        });
        let numbers = numbers.collect();
        Self { names, numbers }
    }

    /// That of a part; of none, that of "?".
    pub fn of(&self, part: Option<usize>) -> u32 {
        let number = part.and_then(|part| self.numbers.get(part));
        number.copied().unwrap_or_default()
    }

    /// By part.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Empty for user mode.
    fn name(&self, number: u32) -> &'a str {
        match self.names.get(number as usize) {
            Some(name) => name,
            None if number == USER => "",
            None => "?",
        }
    }
}

/// Pairs of functions and lines of code that are told at most: those with the most misses.
const TOLD: usize = 1000;

/// What collides, for Python: `ways`, `line_bytes`, `first`; of each set lines (see `SetUse`),
/// fetches, misses, conflicts; `pairs` of evictor, evicted, misses, conflicts; `lines` with address,
/// function, fetches, misses, conflicts. User mode has an empty name.
pub fn collided<'py>(
    python: Python<'py>,
    found: &Collided,
    model: &CpuModel,
    owners: &Owners<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let sets = found.sets.iter();
    let sets = sets.map(|one| (one.lines, one.fetches, one.misses, one.conflicts));
    let pairs = found.pairs.iter().take(TOLD).map(|one| {
        let names = [one.evictor, one.evicted].map(|number| owners.name(number));
        (names[0], names[1], one.misses, one.conflicts)
    });
    let lines = found.lines.iter().take(TOLD).map(|one| {
        let owner = owners.name(one.owner);
        (one.address, owner, one.fetches, one.misses, one.conflicts)
    });
    let told = PyDict::new(python);
    told.set_item("ways", model.l1i.ways)?;
    told.set_item("line_bytes", model.line_bytes)?;
    told.set_item("first", found.first)?;
    told.set_item("sets", sets.collect::<Vec<_>>())?;
    told.set_item("pairs", pairs.collect::<Vec<_>>())?;
    told.set_item("lines", lines.collect::<Vec<_>>())?;
    Ok(told)
}
