// SPDX-License-Identifier: GPL-2.0-or-later
//! What functions, stacks of functions and collisions cost in a trace.

use std::path::{Path, PathBuf};

use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{
    AsTraced, Collided, Collisions, Folded, Frames, NO_FRAME, Stacks, USER, timed_by_part,
    write_part,
};
use kernsmith_trace::{Block, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::collisions::{Owners, collided};
use crate::layout::{dictionary, load_model};
use crate::trace::with_counts;

/// A kernel's code in parts: of one symbol, and of one function of the source with all that it is
/// inlined in.
#[derive(FromPyObject)]
pub struct Code {
    /// Addresses at which another part begins, sorted.
    starts: Vec<u64>,
    /// The part that begins there.
    parts: Vec<u32>,
    /// By part: its symbol.
    symbols: Vec<String>,
    /// By part: its frame.
    frames: Vec<u32>,
    /// By frame: the one that it is inlined in, and its function.
    tree: Vec<(Option<u32>, u32)>,
    /// Addresses of the code that changes from one thread's stack to another's.
    switches: Vec<u64>,
}

/// Slots in front of those of parts: user mode, and code before all parts.
const OTHERS: usize = 2;

impl Code {
    fn slot(&self, address: u64, kernel: bool) -> usize {
        if !kernel {
            return 0;
        }
        let behind = self.starts.partition_point(|start| *start <= address);
        let part = behind
            .checked_sub(1)
            .and_then(|place| self.parts.get(place));
        part.map_or(OTHERS - 1, |part| *part as usize + OTHERS)
    }

    fn frames(&self) -> Frames {
        let tree = self.tree.iter();
        let others = [NO_FRAME; OTHERS].into_iter();
        Frames {
            all: tree
                .map(|(outer, function)| (outer.unwrap_or(NO_FRAME), *function))
                .collect(),
            of_part: others.chain(self.frames.iter().copied()).collect(),
        }
    }

    /// # Errors
    ///
    /// When a number is none of what it should be one of.
    fn check(&self) -> PyResult<()> {
        let parts = self.symbols.len();
        let is_part = |part: &u32| (*part as usize) < parts;
        let before =
            |(place, frame): (u32, &(Option<u32>, u32))| frame.0.is_none_or(|it| it < place);
        let fine = self.parts.iter().all(is_part)
            && self.parts.len() == self.starts.len()
            && self.frames.len() == parts
            && (0..).zip(&self.tree).all(before);
        match fine {
            true => Ok(()),
            false => Err(PyValueError::new_err(
                "parts and frames of the code do not fit",
            )),
        }
    }
}

/// Everything, of one trace.
struct Found {
    folded: Folded,
    whole: Counters,
    collided: Collided,
}

/// What each part of a kernel's code costs in a trace, as it was traced, with a CPU model.
///
/// cpu: its file. share: of all cycles; functions in a stack that cost less with all that they call
/// are not told apart. most: of a trace with more words, a part of no more is counted, in windows
/// (see [`write_part`]), and all figures are scaled by instructions in kernel mode.
///
/// Returns `parts`: the figures in kernel mode of each part that was executed (part, or None before
/// the first); `whole`: those of all together, which also have what is not known by part:
/// iterations of `rep`; `collisions` (see `collided`) and `stacks` (see `told`). Raises `ValueError`
/// with one sentence.
#[pyfunction]
pub fn trace_functions<'py>(
    python: Python<'py>,
    path: PathBuf,
    cpu: PathBuf,
    code: Code,
    share: f64,
    most: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let model = load_model(&cpu)?;
    code.check()?;
    let owners = Owners::new(&code.symbols);
    let found = python.detach(|| -> Result<Found, String> {
        let trace = Trace::load(&path).map_err(|error| error.to_string())?;
        let counters = trace.facts.counters[1];
        if trace.words.len() <= most {
            return Ok(find(&trace, &counters, None, &model, &code, &owners));
        }
        let part = part_of(&trace, most, &path)?;
        let whole = Some(counters.instructions);
        Ok(find(&part, &counters, whole, &model, &code, &owners))
    });
    let found = found.map_err(PyValueError::new_err)?;
    let executed = found.folded.parts.iter().enumerate().skip(1);
    let executed = executed.filter(|(_, counters)| **counters != Counters::default());
    let parts = executed.map(|(slot, counters)| {
        Ok((
            slot.checked_sub(OTHERS),
            dictionary(python, counters, Some(&model))?,
        ))
    });
    let answer = PyDict::new(python);
    answer.set_item("parts", parts.collect::<PyResult<Vec<_>>>()?)?;
    answer.set_item("whole", dictionary(python, &found.whole, Some(&model))?)?;
    answer.set_item(
        "collisions",
        collided(python, &found.collided, &model, &owners)?,
    )?;
    let folded = found.folded.pruned(&model, share);
    answer.set_item("stacks", told(python, &folded, &model)?)?;
    Ok(answer)
}

/// What each part of a program's code costs in a trace, as it was traced, with a CPU model.
///
/// cpu: its file. starts: addresses at which another part begins, sorted. Returns the figures in
/// user mode of each part that was executed, by its number; what lies in front of all parts is left
/// out. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn program_functions<'py>(
    python: Python<'py>,
    path: PathBuf,
    cpu: PathBuf,
    starts: Vec<u64>,
) -> PyResult<Vec<(usize, Bound<'py, PyDict>)>> {
    let model = load_model(&cpu)?;
    let counted = python.detach(|| -> Result<Vec<Counters>, String> {
        let trace = Trace::load(&path).map_err(|error| error.to_string())?;
        let slot = |block: &Block| match block.kernel {
            true => 0,
            false => starts.partition_point(|start| *start <= block.start),
        };
        let slots: Vec<usize> = trace.blocks.iter().map(slot).collect();
        let (placed, pages) = (AsTraced(&trace.blocks), trace.facts.pages.clone());
        Ok(timed_by_part(
            &trace,
            &placed,
            pages,
            &model,
            &slots,
            &mut (),
        ))
    });
    let counted = counted.map_err(PyValueError::new_err)?;
    let parts = counted.iter().skip(1).enumerate();
    let executed = parts.filter(|(_, counters)| **counters != Counters::default());
    executed
        .map(|(part, counters)| Ok((part, dictionary(python, counters, Some(&model))?)))
        .collect()
}

/// About so many words of a trace, as one of its own.
fn part_of(trace: &Trace, most: usize, path: &Path) -> Result<Trace, String> {
    let part = path.with_extension("functions-part");
    let every = trace.words.len().div_ceil(most.max(1)) as u64;
    let read = write_part(trace, every, &part)
        .map_err(|error| format!("{} cannot be written: {error}", part.display()))
        .and_then(|()| Trace::load(&part).map_err(|error| error.to_string()));
    // It stays open as long as it is read.
    let _ = std::fs::remove_file(&part);
    read
}

/// counters: of kernel mode in the whole trace. instructions: those in kernel mode that all parts
/// together are scaled to; `None`: the trace is whole.
fn find(
    trace: &Trace,
    counters: &Counters,
    instructions: Option<u64>,
    model: &CpuModel,
    code: &Code,
    owners: &Owners<'_>,
) -> Found {
    let slot = |block: &Block| code.slot(block.start, block.kernel);
    let slots: Vec<usize> = trace.blocks.iter().map(slot).collect();
    let last = |block: &Block| {
        let last = block.start + u64::from(block.last_offset);
        code.slot(last, block.kernel)
    };
    let callers: Vec<usize> = trace.blocks.iter().map(last).collect();
    let owner = |slot: &usize| match slot.checked_sub(OTHERS) {
        None if *slot == 0 => USER,
        part => owners.of(part),
    };
    let owned: Vec<u32> = slots.iter().map(owner).collect();
    let placed = AsTraced(&trace.blocks);
    let pages = trace.facts.pages.clone();
    let collisions = Collisions::new(&trace.blocks, &placed, model, &owned);
    let mut watch = (collisions, Stacks::new(trace, &code.switches));
    let mut counted = timed_by_part(trace, &placed, pages, model, &slots, &mut watch);
    let times = instructions.map_or(1.0, |whole| {
        let found: u64 = counted.iter().skip(1).map(|one| one.instructions).sum();
        whole as f64 / found.max(1) as f64
    });
    if instructions.is_some() {
        counted = counted.iter().map(|one| one.scaled(times)).collect();
    }
    let folded = watch.1.fold(&counted, &callers, &code.frames());
    let parts = folded.parts.iter().skip(1);
    let sum = parts.fold(Counters::default(), |a, b| a + *b);
    Found {
        folded,
        whole: with_counts(sum, counters),
        collided: match instructions {
            Some(_) => watch.0.finish().scaled(times),
            None => watch.0.finish(),
        },
    }
}

/// Stacks, for Python: `nodes` of the place of the caller's node or None, function, and of the
/// function's own model cycles, instructions, L1i misses; how many `stacks` there were; and
/// `returns`, and how many of these led to no call that was known to be open; `switches` of threads,
/// and after how many of these more than one thread may have gone on.
fn told<'py>(
    python: Python<'py>,
    folded: &Folded,
    model: &CpuModel,
) -> PyResult<Bound<'py, PyDict>> {
    let nodes = folded.nodes.iter().map(|node| {
        (
            (node.parent != NO_FRAME).then_some(node.parent),
            node.function,
            node.own.cycles(model),
            node.own.instructions,
            node.own.l1i_misses,
        )
    });
    let told = PyDict::new(python);
    told.set_item("nodes", nodes.collect::<Vec<_>>())?;
    told.set_item("stacks", folded.stacks)?;
    told.set_item("returns", folded.returns)?;
    told.set_item("switches", folded.switches)?;
    Ok(told)
}
