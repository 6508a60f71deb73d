// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of one kernel, and what they cost in other layouts.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernsmith_profile::frontend::{Counters, CpuModel};
use kernsmith_profile::layout::{Replay, Section, Step, Text};
use kernsmith_profile::trace::Trace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A part of the linker script: an alignment in bytes, or the numbers of a group's sections.
#[derive(FromPyObject)]
enum StepArgument {
    Align(u64),
    Group(Vec<u32>),
}

/// The text of a kernel and traces of it.
///
/// start: address of the first byte of text.
/// sections: (address, size in bytes, alignment) of each input section.
/// steps: the linker script in its order: an alignment, or the numbers of a group's sections.
#[pyclass(frozen)]
pub struct LayoutLab {
    text: Text,
    replays: Mutex<Vec<std::sync::Arc<Replay>>>,
}

#[pymethods]
impl LayoutLab {
    #[new]
    fn new(start: u64, sections: Vec<(u64, u64, u64)>, steps: Vec<StepArgument>) -> PyResult<Self> {
        let section = |(start, size, align)| Section { start, size, align };
        let steps = steps.into_iter().map(|step| match step {
            StepArgument::Align(align) => Step::Align(align),
            StepArgument::Group(numbers) => Step::Group(numbers),
        });
        let sections = sections.into_iter().map(section).collect();
        let text = Text::new(start, sections, steps.collect()).map_err(PyValueError::new_err)?;
        Ok(Self {
            text,
            replays: Mutex::default(),
        })
    }

    /// Addresses of all sections when those in `order` come first in their groups.
    fn place(&self, order: Vec<u32>) -> Vec<u64> {
        self.text.place(&order)
    }

    /// Reads a trace of this kernel in the layout that the sections' addresses are of.
    ///
    /// Returns what it says: its tag, the CPU model that it was simulated with, its length in
    /// blocks, and the counters of kernel mode. Raises `ValueError` with one sentence.
    fn add_trace<'py>(&self, python: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
        let trace = python
            .detach(|| Trace::load(&path))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let facts = PyDict::new(python);
        facts.set_item("tag", &trace.facts.tag)?;
        facts.set_item("cpu", &trace.facts.cpu)?;
        facts.set_item("words", trace.words.len())?;
        facts.set_item(
            "counters",
            dictionary(python, &trace.facts.counters[1], None)?,
        )?;
        let replay = python.detach(|| Replay::new(trace, &self.text));
        lock(&self.replays).push(replay.into());
        Ok(facts)
    }

    /// What kernel mode costs in each trace, for each order: a list for each order of one
    /// dictionary for each trace, in the order in which they were added.
    ///
    /// cpu: the path of a CPU model. threads: how many orders are evaluated at once.
    fn cost<'py>(
        &self,
        python: Python<'py>,
        orders: Vec<Vec<u32>>,
        cpu: PathBuf,
        threads: usize,
    ) -> PyResult<Vec<Vec<Bound<'py, PyDict>>>> {
        let model = load_model(&cpu)?;
        let replays = lock(&self.replays).clone();
        let costs = python.detach(|| {
            in_parallel(threads, orders.len(), |number| {
                let starts = self.text.place(&orders[number]);
                let cost =
                    |replay: &std::sync::Arc<Replay>| replay.cost(&self.text, &starts, &model)[1];
                replays.iter().map(cost).collect::<Vec<_>>()
            })
        });
        let told = |counters: Vec<Counters>| {
            let one = |counters| dictionary(python, counters, Some(&model));
            counters.iter().map(one).collect::<PyResult<Vec<_>>>()
        };
        costs.into_iter().map(told).collect()
    }
}

fn load_model(path: &Path) -> PyResult<CpuModel> {
    CpuModel::load(path).map_err(PyValueError::new_err)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `work(0)`, `work(1)` …, each by one of some threads; the results in this order.
fn in_parallel<T: Send>(threads: usize, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(result) = results.get(number) else {
                        break;
                    };
                    *lock(result) = Some(work(number));
                }
            });
        }
    });
    let taken = results.into_iter().map(|result| {
        result
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    });
    taken.flatten().collect()
}

fn dictionary<'py>(
    python: Python<'py>,
    counters: &Counters,
    model: Option<&CpuModel>,
) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(python);
    told.set_item("kernel_instructions", counters.instructions)?;
    told.set_item("taken_branches", counters.taken_branches)?;
    told.set_item("conditional_branches", counters.conditional_branches)?;
    told.set_item("branch_mispredictions", counters.branch_mispredictions)?;
    told.set_item("indirect_mispredictions", counters.indirect_mispredictions)?;
    told.set_item("btb_misses", counters.btb_misses)?;
    told.set_item("l1i_accesses", counters.l1i_accesses)?;
    told.set_item("l1i_misses", counters.l1i_misses)?;
    told.set_item("l2i_misses", counters.l2i_misses)?;
    told.set_item("itlb_misses", counters.itlb_misses)?;
    told.set_item("stlb_misses", counters.stlb_misses)?;
    if let Some(model) = model {
        told.set_item("model_cycles", counters.cycles(model))?;
    }
    Ok(told)
}
