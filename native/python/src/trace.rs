// SPDX-License-Identifier: GPL-2.0-or-later
//! Single traces, as they were traced: no kernel's text is needed.

use std::path::PathBuf;

use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{AsTraced, Sample, timed, timed_by_part, write_part};
use kernsmith_trace::{Block, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::layout::{dictionary, load_model, runs};

/// In which pages the guest of a trace had mapped its kernel's code: (first address, last address,
/// bytes of a page) of each run. Raises `ValueError` with one sentence when it is no trace.
#[pyfunction]
pub fn trace_pages(path: PathBuf) -> PyResult<Vec<(u64, u64, u64)>> {
    let facts = Trace::load_facts(&path);
    let facts = facts.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(runs(&facts.pages))
}

/// What a trace costs as it was traced, with each of some CPU models.
///
/// cpus: model files. Returns for each the figures of user and of kernel mode by name. Raises
/// `ValueError` with one sentence.
#[pyfunction]
pub fn trace_costs<'py>(
    python: Python<'py>,
    path: PathBuf,
    cpus: Vec<PathBuf>,
) -> PyResult<Vec<[Bound<'py, PyDict>; 2]>> {
    let models: Vec<CpuModel> = cpus
        .iter()
        .map(|cpu| load_model(cpu))
        .collect::<Result<_, _>>()?;
    let costs = python.detach(|| -> Result<Vec<[Counters; 2]>, String> {
        let trace = Trace::load(&path).map_err(|error| error.to_string())?;
        let all = Sample::whole(&trace);
        let cost = |model| {
            let pages = trace.facts.pages.clone();
            let placed = AsTraced(&trace.blocks);
            let counted = timed(&trace, &placed, pages, model, &all);
            [0, 1].map(|mode| with_counts(counted[mode], &trace.facts.counters[mode]))
        };
        Ok(models.iter().map(cost).collect())
    });
    let costs = costs.map_err(PyValueError::new_err)?;
    let modes = costs.iter().zip(&models).map(|(counted, model)| {
        let one = |mode: usize| dictionary(python, &counted[mode], Some(model));
        Ok([one(0)?, one(1)?])
    });
    modes.collect()
}

/// The place of a function, and its figures.
type OfFunction<'py> = (Option<usize>, Bound<'py, PyDict>);

/// What each function of a kernel costs in a trace, as it was traced, with a CPU model.
///
/// cpu: its file. starts: addresses of the functions, sorted. Returns the figures in kernel mode of
/// each function that was executed, by its place in `starts` (None before the first), and those of
/// all together, which also have what is not known by function: iterations of `rep`. Raises
/// `ValueError` with one sentence.
#[pyfunction]
pub fn trace_functions<'py>(
    python: Python<'py>,
    path: PathBuf,
    cpu: PathBuf,
    starts: Vec<u64>,
) -> PyResult<(Vec<OfFunction<'py>>, Bound<'py, PyDict>)> {
    let model = load_model(&cpu)?;
    let found = python.detach(|| -> Result<(Vec<Counters>, Counters), String> {
        let trace = Trace::load(&path).map_err(|error| error.to_string())?;
        // User mode, what is before the first function, the functions.
        let slot = |block: &Block| match block.kernel {
            true => 1 + starts.partition_point(|start| *start <= block.start),
            false => 0,
        };
        let slots: Vec<usize> = trace.blocks.iter().map(slot).collect();
        let counted = timed_by_part(&trace, &model, &slots);
        let sum = counted
            .iter()
            .skip(1)
            .fold(Counters::default(), |a, b| a + *b);
        Ok((counted, with_counts(sum, &trace.facts.counters[1])))
    });
    let (counted, all) = found.map_err(PyValueError::new_err)?;
    let executed = counted.iter().enumerate().skip(1);
    let executed = executed.filter(|(_, counters)| **counters != Counters::default());
    let functions = executed.map(|(slot, counters)| {
        Ok((
            slot.checked_sub(2),
            dictionary(python, counters, Some(&model))?,
        ))
    });
    Ok((
        functions.collect::<PyResult<_>>()?,
        dictionary(python, &all, Some(&model))?,
    ))
}

/// Writes one of `every` windows of a trace as a trace of its own, without counters.
///
/// Raises `ValueError` with one sentence.
#[pyfunction]
pub fn trace_part(python: Python<'_>, path: PathBuf, every: u64, part: PathBuf) -> PyResult<()> {
    let done = python.detach(|| {
        let trace = Trace::load(&path).map_err(|error| error.to_string())?;
        write_part(&trace, every.max(1), &part)
            .map_err(|error| format!("{} cannot be written: {error}", part.display()))
    });
    done.map_err(PyValueError::new_err)
}

/// With what no model decides, as it was traced.
fn with_counts(timed: Counters, traced: &Counters) -> Counters {
    Counters {
        instructions: traced.instructions,
        rep_instructions: traced.rep_instructions,
        rep_iterations: traced.rep_iterations,
        rep_bytes: traced.rep_bytes,
        ..timed
    }
}
