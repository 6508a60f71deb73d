// SPDX-License-Identifier: GPL-2.0-or-later
//! A loop as a CPU model executes it, without a program and a trace of it.

use std::path::PathBuf;

use kernsmith_frontend::{Branch, Counters, CpuModel, FrontEnd};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::layout::load_model;

/// Instructions one behind the other, of which the last one is a branch.
struct Step {
    start: u64,
    /// Of each instruction.
    sizes: Vec<u8>,
    branch: Branch,
}

impl Step {
    /// kind: "conditional", "jump", "call" or "return".
    fn new(
        (start, sizes, kind, target, taken): (u64, Vec<u8>, String, u64, bool),
    ) -> Result<Self, String> {
        let Some((last, before)) = sizes.split_last() else {
            return Err(format!("the step at {start:#x} has no instructions"));
        };
        let pc = start + before.iter().map(|size| u64::from(*size)).sum::<u64>();
        let next = pc + u64::from(*last);
        let branch = match kind.as_str() {
            "conditional" => Branch::Conditional { pc, target, taken },
            "jump" => Branch::Jump { pc, target },
            "call" => Branch::Call { pc, target, next },
            "return" => Branch::Return { pc, target },
            other => return Err(format!("the step at {start:#x} ends with a {other:?}")),
        };
        Ok(Self {
            start,
            sizes,
            branch,
        })
    }
}

/// The cycles that a CPU model needs for a round of a loop, on average over some, behind as many that
/// are not counted.
///
/// cpu: a model file. steps: in the order of their execution, with each its address, the sizes of its
/// instructions, what the last one is ("conditional", "jump", "call" or "return"), where that leads and
/// whether it does. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn loop_cycles(
    python: Python<'_>,
    cpu: PathBuf,
    steps: Vec<(u64, Vec<u8>, String, u64, bool)>,
    rounds: u32,
) -> PyResult<f64> {
    let model = load_model(&cpu)?;
    let steps: Result<Vec<_>, _> = steps.into_iter().map(Step::new).collect();
    let steps = steps.map_err(PyValueError::new_err)?;
    Ok(python.detach(|| cycles(&model, &steps, rounds)))
}

fn cycles(model: &CpuModel, steps: &[Step], rounds: u32) -> f64 {
    let mut front_end = FrontEnd::new(model);
    let mut counters = Counters::default();
    for round in 0..2 * rounds {
        if round == rounds {
            counters = Counters::default();
        }
        for (number, step) in steps.iter().enumerate() {
            let sizes = step.sizes.iter().copied();
            let bytes: u64 = sizes.clone().map(u64::from).sum();
            if front_end.wants(number) {
                let conditional = matches!(step.branch, Branch::Conditional { .. });
                front_end.describe(number, step.start, sizes, conditional, Vec::new);
            }
            front_end.enter(number, step.start, step.start + bytes - 1, &mut counters);
            let names = step.branch.by_address();
            front_end.branch(step.branch, names, &mut counters);
            counters.instructions += step.sizes.len() as u64;
        }
    }
    counters.cycles(model) / f64::from(rounds)
}
