// SPDX-License-Identifier: GPL-2.0-or-later
//! Single traces, as they were traced: no kernel's text is needed.

use std::path::PathBuf;

use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{AsTraced, Sample, Warmed, timed, write_part};
use kernsmith_trace::Trace;
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

/// A trace that a CPU model went through, with its state before each window of a sample.
#[pyclass(frozen)]
pub struct WarmTrace(Warmed);

#[pymethods]
impl WarmTrace {
    /// cpu: the model's file. every: one of so many windows is kept.
    ///
    /// Raises `ValueError` with one sentence: it is no trace, or the model is not in time.
    #[new]
    fn new(python: Python<'_>, path: PathBuf, cpu: PathBuf, every: usize) -> PyResult<Self> {
        let model = load_model(&cpu)?;
        let warmed = python.detach(|| {
            let trace = Trace::load(&path).map_err(|error| error.to_string())?;
            Warmed::new(trace, model, every)
        });
        Ok(Self(warmed.map_err(PyValueError::new_err)?))
    }

    /// What the windows cost with each of some models that differ from that one in times alone: the
    /// figures of user and of kernel mode by name.
    ///
    /// cpus: their files. Raises `ValueError` with one sentence.
    fn costs<'py>(
        &self,
        python: Python<'py>,
        cpus: Vec<PathBuf>,
    ) -> PyResult<Vec<[Bound<'py, PyDict>; 2]>> {
        let each = cpus.iter().map(|cpu| {
            let model = load_model(cpu)?;
            let counted = python.detach(|| self.0.costs(&model));
            let counted = counted.map_err(PyValueError::new_err)?;
            let one = |mode: usize| dictionary(python, &counted[mode], Some(&model));
            Ok([one(0)?, one(1)?])
        });
        each.collect()
    }
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
pub(crate) fn with_counts(timed: Counters, traced: &Counters) -> Counters {
    Counters {
        instructions: traced.instructions,
        rep_instructions: traced.rep_instructions,
        rep_iterations: traced.rep_iterations,
        rep_bytes: traced.rep_bytes,
        ..timed
    }
}
