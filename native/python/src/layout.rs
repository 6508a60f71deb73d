// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces of one kernel, and what they cost in other layouts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kernsmith_arch::PageMap;
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{
    Algorithm, Footprints, Graph, Replay, Search, Section, Shift, Step, Text, Zone, in_parallel,
    pack, search,
};
use kernsmith_trace::Trace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::collisions::{Owners, collided};

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
    replays: Mutex<Vec<Arc<Replay>>>,
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
    ///
    /// shifts: (number of a step, bytes in front of it).
    #[pyo3(signature = (order, shifts = Vec::new()))]
    fn place(&self, order: Vec<u32>, shifts: Vec<Shift>) -> Vec<u64> {
        self.text.place_shifted(&order, &shifts)
    }

    /// In which pages the kernel's code is mapped in an order, by the first trace and the kernel's
    /// own rule: (first address, last address, bytes of a page) of each run.
    fn pages(&self, order: Vec<u32>) -> PyResult<Vec<(u64, u64, u64)>> {
        let replays = self.chosen(&[0])?;
        let pages = replays[0].pages_in(&self.text, &self.text.place(&order));
        Ok(runs(&pages))
    }

    /// Reads a trace of this kernel in the layout that the sections' addresses are of.
    ///
    /// tag: what the trace must say that it is of. program: the text is a program's, and user mode
    /// takes the place of kernel mode in all that is told of this trace.
    ///
    /// Returns what it says: the CPU model that it was simulated with, its length in blocks, and
    /// the counters of kernel mode. Raises `ValueError` with one sentence, and adds nothing then.
    #[pyo3(signature = (path, tag, *, program = false))]
    fn add_trace<'py>(
        &self,
        python: Python<'py>,
        path: PathBuf,
        tag: &str,
        program: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let trace = python
            .detach(|| Trace::load(&path))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        if trace.facts.tag != tag {
            return Err(PyValueError::new_err(format!(
                "trace {} is of another kernel or workload: '{}', not '{tag}'",
                path.display(),
                trace.facts.tag
            )));
        }
        let facts = PyDict::new(python);
        facts.set_item("cpu", &trace.facts.cpu)?;
        facts.set_item("words", trace.words.len())?;
        facts.set_item(
            "counters",
            dictionary(python, &trace.facts.counters[usize::from(!program)], None)?,
        )?;
        let replay = python
            .detach(|| match program {
                true => Replay::of_program(trace, &self.text),
                false => Replay::new(trace, &self.text),
            })
            .map_err(|reason| {
                PyValueError::new_err(format!("trace {}: {reason}", path.display()))
            })?;
        lock(&self.replays).push(replay.into());
        Ok(facts)
    }

    /// Bytes of kernel code that each trace executes.
    fn touched(&self) -> Vec<u64> {
        let replays = lock(&self.replays);
        replays.iter().map(|replay| replay.touched()).collect()
    }

    /// The order of the sections in `movable` that an algorithm makes from some traces (by
    /// number). Sections that were not executed are left out.
    fn order(
        &self,
        python: Python<'_>,
        algorithm: &str,
        movable: Vec<u32>,
        traces: Vec<usize>,
    ) -> PyResult<Vec<u32>> {
        let known = Algorithm::ALL.iter().find(|(name, _)| *name == algorithm);
        let Some((_, algorithm)) = known else {
            return Err(PyValueError::new_err(format!(
                "there is no algorithm {algorithm:?}: allowed are {}",
                Algorithm::ALL.map(|(name, _)| name).join(", ")
            )));
        };
        let replays = self.chosen(&traces)?;
        Ok(python.detach(|| {
            let replays: Vec<&Replay> = replays.iter().map(AsRef::as_ref).collect();
            let graph = Graph::new(&self.text, &replays, &movable);
            algorithm.order(&graph)
        }))
    }

    /// Calls between the sections in `movable` in some traces: (caller, callee, weight), where
    /// the weights are shares of the executed blocks.
    fn calls(
        &self,
        python: Python<'_>,
        movable: Vec<u32>,
        traces: Vec<usize>,
    ) -> PyResult<Vec<(u32, u32, f64)>> {
        let replays = self.chosen(&traces)?;
        Ok(python.detach(|| {
            let replays: Vec<&Replay> = replays.iter().map(AsRef::as_ref).collect();
            let graph = Graph::new(&self.text, &replays, &movable);
            let section = |node: usize| graph.nodes[node].section;
            let calls = graph.calls.iter();
            calls
                .map(|call| (section(call.from), section(call.to), call.weight))
                .collect()
        }))
    }

    /// The order within zones of sections that takes up the fewest lines and pages in some traces
    /// (by number), and in one that nobody has traced: see `pack` in the crate.
    ///
    /// zones: (sections in their order, how many places a move goes at most, moves to try for
    /// each section). progress: called with the number of moves tried so far.
    #[pyo3(signature = (zones, cpu, traces, *, seed, threads, progress))]
    #[allow(clippy::too_many_arguments)]
    fn pack(
        &self,
        python: Python<'_>,
        zones: Vec<(Vec<u32>, usize, usize)>,
        cpu: PathBuf,
        traces: Vec<usize>,
        seed: u64,
        threads: usize,
        progress: Py<PyAny>,
    ) -> PyResult<Vec<u32>> {
        let model = load_model(&cpu)?;
        let replays = self.chosen(&traces)?;
        let zone = |(sections, reach, tries)| Zone {
            sections,
            reach,
            tries,
        };
        let zones: Vec<Zone> = zones.into_iter().map(zone).collect();
        let mut failed = Ok(());
        let found = python.detach(|| {
            let replays: Vec<&Replay> = replays.iter().map(AsRef::as_ref).collect();
            let footprints = Footprints::new(&self.text, &replays, &model, threads);
            let mut told = |tried: usize| {
                failed = Python::attach(|python| {
                    python.check_signals()?;
                    progress.call1(python, (tried,)).map(drop)
                });
                failed.is_ok()
            };
            pack(&self.text, &footprints, &zones, seed, &mut told)
        });
        failed.map(|()| found)
    }

    /// Improves an order by a local search on some traces (by number), which moves the sections in
    /// `movable`: see `search` in the crate.
    ///
    /// progress: called with the orders tried so far and the cost relative to the beginning's.
    #[pyo3(signature = (order, movable, cpu, traces, *, evaluations, seed, threads, every, progress))]
    #[allow(clippy::too_many_arguments)]
    fn search(
        &self,
        python: Python<'_>,
        order: Vec<u32>,
        movable: Vec<u32>,
        cpu: PathBuf,
        traces: Vec<usize>,
        evaluations: usize,
        seed: u64,
        threads: usize,
        every: usize,
        progress: Py<PyAny>,
    ) -> PyResult<Vec<u32>> {
        let model = load_model(&cpu)?;
        let replays = self.chosen(&traces)?;
        let settings = Search {
            evaluations,
            seed,
            threads,
            every,
        };
        let mut failed = Ok(());
        let found = python.detach(|| {
            let mut told = |tried: usize, cost: f64| {
                failed = Python::attach(|python| {
                    python.check_signals()?;
                    progress.call1(python, (tried, cost)).map(drop)
                });
                failed.is_ok()
            };
            let text = &self.text;
            search(text, &replays, &model, order, &movable, settings, &mut told)
        });
        failed.map(|()| found)
    }

    /// What kernel mode costs in each trace, for each layout: a list for each of one dictionary
    /// for each trace, in the order in which they were added.
    ///
    /// layouts: (order, shifts), as `place` takes them; a displaced one has no shifts.
    /// cpu: the path of a CPU model. threads: how many are used. every: replay only one of so
    /// many windows of each trace; the counts are those of these windows. displaced: the number
    /// of a way to put empty lines between the sections (`Text::displaced`).
    #[pyo3(signature = (layouts, cpu, *, threads = 1, every = 1, displaced = None))]
    fn cost<'py>(
        &self,
        python: Python<'py>,
        layouts: Vec<(Vec<u32>, Vec<Shift>)>,
        cpu: PathBuf,
        threads: usize,
        every: usize,
        displaced: Option<u64>,
    ) -> PyResult<Vec<Vec<Bound<'py, PyDict>>>> {
        let model = load_model(&cpu)?;
        let replays = lock(&self.replays).clone();
        let costs = python.detach(|| {
            let place = |(order, shifts): &(Vec<u32>, Vec<Shift>)| match displaced {
                Some(way) => self.text.displaced(order, model.line_bytes as u64, way),
                None => self.text.place_shifted(order, shifts),
            };
            let layouts: Vec<_> = layouts.iter().map(place).collect();
            let batches: Vec<_> = layouts.chunks(BATCH).collect();
            let count = batches.len() * replays.len();
            let done = in_parallel(threads, count, |number| {
                let batch = batches[number / replays.len()];
                replays[number % replays.len()].cost(&self.text, batch, &model, every)
            });
            let mut costs = vec![Vec::new(); layouts.len()];
            for (number, batch) in done.into_iter().enumerate() {
                let first = number / replays.len() * BATCH;
                for (place, counters) in batch.into_iter().enumerate() {
                    costs[first + place].push(counters[1]);
                }
            }
            costs
        });
        let told = |counters: Vec<Counters>| {
            let one = |counters| dictionary(python, counters, Some(&model));
            counters.iter().map(one).collect::<PyResult<Vec<_>>>()
        };
        costs.into_iter().map(told).collect()
    }

    /// What collides in the instruction cache in an order: for each trace a dictionary as that of
    /// `trace_functions`.
    ///
    /// names: of each section the function that it is told by. cpu: the path of a CPU model.
    fn collisions<'py>(
        &self,
        python: Python<'py>,
        order: Vec<u32>,
        cpu: PathBuf,
        names: Vec<String>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let model = load_model(&cpu)?;
        let owners = Owners::new(&names);
        let replays = lock(&self.replays).clone();
        let found: Vec<_> = python.detach(|| {
            let starts = self.text.place(&order);
            let one = |replay: &Arc<Replay>| {
                replay.collisions(&self.text, &starts, &model, owners.numbers())
            };
            replays.iter().map(one).collect()
        });
        let told = found.iter();
        told.map(|found| collided(python, found, &model, &owners))
            .collect()
    }
}

impl LayoutLab {
    fn chosen(&self, traces: &[usize]) -> PyResult<Vec<Arc<Replay>>> {
        let replays = lock(&self.replays);
        let chosen = traces.iter().map(|number| replays.get(*number).cloned());
        chosen
            .collect::<Option<_>>()
            .ok_or_else(|| PyValueError::new_err("there is no trace of this number"))
    }
}

/// Layouts that are replayed together, so that a trace is decoded once for all of them.
const BATCH: usize = 8;

pub(crate) fn runs(pages: &PageMap) -> Vec<(u64, u64, u64)> {
    let runs = pages.runs().iter();
    runs.map(|run| (run.start, run.last, 1 << run.shift))
        .collect()
}

pub(crate) fn load_model(path: &Path) -> PyResult<CpuModel> {
    CpuModel::load(path).map_err(PyValueError::new_err)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) fn dictionary<'py>(
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
    told.set_item("rep_instructions", counters.rep_instructions)?;
    if let Some(model) = model {
        told.set_item("model_cycles", counters.cycles(model))?;
    }
    Ok(told)
}
