// SPDX-License-Identifier: GPL-2.0-or-later
//! Propeller's profiles.

use std::path::PathBuf;

use kernsmith_profile::propeller::{BlockOrder, Counted, Counts, Image, Regions, carry, make};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The files that clang and the linker build with, from the counts of an image.
///
/// ranges: (first byte, address of the last instruction, executions) of straight runs of code.
/// branches: (address, target, times taken). blocks: a name of `BlockOrder::ALL`. text: first
/// address of the text and the one behind its last. whole: spans of it whose functions stay in
/// one piece.
///
/// Returns `clusters` and `symbols`, the files' content, and what they cover. Raises `ValueError`
/// with what is wrong with the image, in the words of a sentence that begins with its name.
#[pyfunction]
pub fn propeller_profile<'py>(
    python: Python<'py>,
    image: PathBuf,
    ranges: Vec<Counted>,
    branches: Vec<Counted>,
    blocks: &str,
    text: (u64, u64),
    whole: Vec<(u64, u64)>,
) -> PyResult<Bound<'py, PyDict>> {
    let order = BlockOrder::ALL.iter().find(|(name, _)| *name == blocks);
    let Some((_, order)) = order else {
        return Err(PyValueError::new_err(format!(
            "there is no order of blocks {blocks:?}: allowed are {}",
            BlockOrder::ALL.map(|(name, _)| name).join(", ")
        )));
    };
    let counts = Counts { ranges, branches };
    let regions = Regions { text, whole };
    let profile = python
        .detach(|| Image::read(&image).map(|image| make(&image, &counts, &regions, *order)))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let said = PyDict::new(python);
    said.set_item("clusters", profile.clusters)?;
    said.set_item("symbols", profile.symbols)?;
    said.set_item("functions", profile.functions)?;
    said.set_item("nameless", profile.nameless)?;
    said.set_item("hot_blocks", profile.hot_blocks)?;
    said.set_item("blocks", profile.blocks)?;
    said.set_item("hot_bytes", profile.hot_bytes)?;
    said.set_item("bytes", profile.bytes)?;
    Ok(said)
}

/// Counts of an image as those of another one, as far as the compiler has made the same blocks of
/// their functions.
///
/// ranges, branches: as of `propeller_profile`.
///
/// Returns `ranges` and `branches` by the other image's addresses, how many functions were
/// `executed`, how many of these are the `same`, and the `share` of the run that these are. Raises
/// `ValueError` with one sentence that begins with the image that is wrong.
#[pyfunction]
pub fn propeller_carried(
    python: Python<'_>,
    old: PathBuf,
    image: PathBuf,
    ranges: Vec<Counted>,
    branches: Vec<Counted>,
) -> PyResult<Bound<'_, PyDict>> {
    let counts = Counts { ranges, branches };
    let read =
        |path: &PathBuf| Image::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let carried = python
        .detach(|| Ok(carry(&counts, &read(&old)?, &read(&image)?)))
        .map_err(|error: String| PyValueError::new_err(error))?;
    let said = PyDict::new(python);
    said.set_item("ranges", carried.counts.ranges)?;
    said.set_item("branches", carried.counts.branches)?;
    said.set_item("executed", carried.executed)?;
    said.set_item("same", carried.same)?;
    said.set_item("share", carried.share)?;
    Ok(said)
}
