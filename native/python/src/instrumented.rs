// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernels that count what they execute.

use std::path::PathBuf;

use kernsmith_profile::instrumented::{Instrumented, Seen};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Where an image has its counters: the first address, and the one behind the last. They are words
/// of 8 bytes.
///
/// Raises `ValueError` with what is wrong with the image, in the words of a sentence that begins with
/// its name. So do the others.
#[pyfunction]
pub fn counters_span(python: Python<'_>, image: PathBuf) -> PyResult<(u64, u64)> {
    let span = read(python, image)?.counters();
    Ok((span.start, span.end))
}

/// What the counters of an image have counted, from their memory before and after, one behind the other.
#[pyfunction]
pub fn counted<'py>(
    python: Python<'py>,
    image: PathBuf,
    looks: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let counted = read(python, image)?.counted(looks);
    let counted = counted.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(python, &counted))
}

/// Where the functions are that an image shows values to: addresses, none where it shows none.
#[pyfunction]
pub fn value_functions(python: Python<'_>, image: PathBuf) -> PyResult<Vec<u64>> {
    Ok(read(python, image)?.shown_to().to_vec())
}

/// A value that was seen: address of the function's record, place in it, value, how often.
type Row = (u64, u64, u64, u64);

/// The values that the machine's file has. Raises `ValueError` with what is wrong with the file.
#[pyfunction]
pub fn seen_values(text: &str) -> PyResult<Vec<Row>> {
    let seen = Instrumented::seen(text);
    let seen = seen.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let row = |seen: Seen| (seen.record, seen.place, seen.value, seen.count);
    Ok(seen.into_iter().map(row).collect())
}

/// LLVM's raw profile of an image, from the content of its counters and the values that were seen.
#[pyfunction]
#[pyo3(signature = (image, counters, seen = Vec::new()))]
pub fn llvm_raw_profile<'py>(
    python: Python<'py>,
    image: PathBuf,
    counters: &[u8],
    seen: Vec<Row>,
) -> PyResult<Bound<'py, PyBytes>> {
    let one = |(record, place, value, count)| Seen {
        record,
        place,
        value,
        count,
    };
    let seen: Vec<_> = seen.into_iter().map(one).collect();
    let profile = read(python, image)?.raw_profile(counters, &seen);
    let profile = profile.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(python, &profile))
}

/// gcc's files (`.gcda`) of the objects of an image in which something was counted, from the content of
/// its counters: name and content of each. `seen_alone`: without the functions that never ran.
#[pyfunction]
#[pyo3(signature = (image, counters, seen_alone = false))]
pub fn gcov_files<'py>(
    python: Python<'py>,
    image: PathBuf,
    counters: &[u8],
    seen_alone: bool,
) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
    let files = read(python, image)?.gcov_files(counters, seen_alone);
    let files = files.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let with_bytes = |(name, file): (String, Vec<u8>)| (name, PyBytes::new(python, &file));
    Ok(files.into_iter().map(with_bytes).collect())
}

fn read(python: Python<'_>, image: PathBuf) -> PyResult<Instrumented> {
    python
        .detach(|| Instrumented::read(&image))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
