// SPDX-License-Identifier: GPL-2.0-or-later
//! How often each line of the source was executed.

use std::path::PathBuf;

use kernsmith_profile::coverage::{self, NONE};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A function: place of the frame that it is inlined in, place of its name.
type Frame = (Option<u32>, u32);

/// A stretch of code: first address, address behind the last, place of its frame.
type Span = (u64, u64, u32);

/// Which code of a `vmlinux` is of which function of the source, inlined ones too.
///
/// Returns names of functions; frames, each behind the one that it is inlined in; and stretches of
/// code by address. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn source_functions(
    python: Python<'_>,
    vmlinux: PathBuf,
) -> PyResult<(Vec<String>, Vec<Frame>, Vec<Span>)> {
    let found = python.detach(|| coverage::functions(&vmlinux));
    let found = found.map_err(PyValueError::new_err)?;
    let frames = found.frames.into_iter();
    let frames = frames.map(|(parent, name)| ((parent != NONE).then_some(parent), name));
    Ok((found.names, frames.collect(), found.spans))
}

/// Counts of a `vmlinux` by the source that it was made of.
///
/// ranges: (first byte, address of the last instruction, executions) of straight runs of code.
///
/// Returns lists of `files`, `lines` (file, line, count, executed instructions, function),
/// `functions` (name, file, line, entered, executed), `instances` (function, parent, line of the
/// call), `samples` (instance, line, executed), and `executed` and `build_id`; numbers are places in
/// these lists, or None. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn source_coverage(
    python: Python<'_>,
    vmlinux: PathBuf,
    ranges: Vec<(u64, u64, u64)>,
) -> PyResult<Bound<'_, PyDict>> {
    let found = python.detach(|| coverage::cover(&vmlinux, &ranges));
    let found = found.map_err(PyValueError::new_err)?;
    let some = |number: u32| (number != NONE).then_some(number);
    let lines = found.lines.iter();
    let lines = lines.map(|one| (one.file, one.line, one.count, one.executed, one.function));
    let functions = found.functions.into_iter();
    let functions = functions.map(|one| {
        (
            one.name,
            some(one.file),
            one.line,
            one.entered,
            one.executed,
        )
    });
    let instances = found.instances.iter();
    let instances = instances.map(|one| (one.function, some(one.parent), one.call_line));
    let samples = found.samples.iter();
    let samples = samples.map(|one| (one.instance, one.line, one.executed));
    let told = PyDict::new(python);
    told.set_item("files", found.files)?;
    told.set_item("lines", lines.collect::<Vec<_>>())?;
    told.set_item("functions", functions.collect::<Vec<_>>())?;
    told.set_item("instances", instances.collect::<Vec<_>>())?;
    told.set_item("samples", samples.collect::<Vec<_>>())?;
    told.set_item("executed", found.executed)?;
    told.set_item("build_id", found.build_id)?;
    Ok(told)
}
