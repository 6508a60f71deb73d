// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of `perf record`: counts out of them, and traces into them.

use std::path::PathBuf;

use kernsmith_profile::{Image, Kernel, Samples, Workload, convert, record};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Counts of a kernel from a file of `perf record`, by link address.
///
/// instructions: count where the program was, not the branch stacks. static_keys: stretches go over
/// jumps that the kernel patches while it runs.
///
/// Returns `ranges` and `branches`, (from, to, times) each, and what was found beside them. Raises
/// `ValueError` with one sentence.
#[pyfunction]
pub fn perf_data_counts(
    python: Python<'_>,
    path: PathBuf,
    vmlinux: PathBuf,
    instructions: bool,
    static_keys: bool,
) -> PyResult<Bound<'_, PyDict>> {
    let samples = match instructions {
        true => Samples::Instructions,
        false => Samples::Branches,
    };
    let converted = python.detach(|| {
        let mut image = Image::load(&vmlinux)?;
        if static_keys {
            image.code.pass(&image.static_keys);
        }
        Ok((convert(&path, &image, samples)?, image))
    });
    let (converted, image) = converted.map_err(|error: String| PyValueError::new_err(error))?;
    let report = converted.report;
    let found = PyDict::new(python);
    found.set_item("ranges", converted.ranges)?;
    found.set_item("branches", converted.branches)?;
    found.set_item("kernel_build_id", image.build_id)?;
    found.set_item("has_lines", image.has_lines)?;
    found.set_item("samples", report.samples)?;
    found.set_item("entries", report.entries)?;
    found.set_item("inside", report.inside)?;
    found.set_item("guests", report.guests)?;
    found.set_item("lost", report.lost)?;
    found.set_item("stray", report.stray)?;
    found.set_item("moved", report.mapped.then_some(report.moved))?;
    found.set_item("build_id", report.build_id)?;
    found.set_item("modules", report.modules)?;
    found.set_item("host", report.origin.host)?;
    found.set_item("release", report.origin.release)?;
    found.set_item("processor", report.origin.processor)?;
    Ok(found)
}

/// Direct calls in the code of an image, and jumps from one symbol's code to another's: where each
/// is, and where it leads. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn direct_calls(python: Python<'_>, image: PathBuf) -> PyResult<Vec<(u64, u64)>> {
    let image = python.detach(|| Image::load(&image));
    Ok(image.map_err(PyValueError::new_err)?.code.calls().to_vec())
}

/// Writes a file as `perf record -b` would have, from traces of workloads on one kernel.
///
/// kernel: its build id, release, addresses of `_text` and behind its last instruction.
/// workloads: name, trace and tag of each. period: branches from one sample to the next.
/// command: the words that the file says have recorded it.
///
/// Returns samples and branches. Raises `ValueError` with one sentence.
#[pyfunction]
pub fn perf_data_record(
    python: Python<'_>,
    path: PathBuf,
    kernel: (String, String, u64, u64),
    workloads: Vec<(String, PathBuf, String)>,
    period: u64,
    command: Vec<String>,
) -> PyResult<(u64, u64)> {
    let (build_id, release, start, end) = kernel;
    let kernel = Kernel {
        build_id,
        release,
        text: (start, end),
    };
    let workload = |(name, trace, tag)| Workload { name, trace, tag };
    let workloads: Vec<_> = workloads.into_iter().map(workload).collect();
    let recorded = python.detach(|| record(&path, &kernel, &workloads, period, &command));
    let recorded = recorded.map_err(PyValueError::new_err)?;
    Ok((recorded.samples, recorded.branches))
}
