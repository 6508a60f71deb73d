// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU models.

use std::path::PathBuf;

use kernsmith_frontend::{CacheGeometry, CpuModel, TlbGeometry};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Reads and checks a CPU model file.
///
/// Returns its name, description, line size, whether it is one in time, whether it knows what data
/// cost, and the size of each structure. Raises `ValueError` with one sentence that names the file, the key, and what is allowed.
#[pyfunction]
pub fn cpu_model_check<'py>(python: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let model = CpuModel::load(&path).map_err(PyValueError::new_err)?;
    let found = PyDict::new(python);
    found.set_item("name", &model.name)?;
    found.set_item("description", &model.description)?;
    found.set_item("line_bytes", model.line_bytes)?;
    found.set_item("width", model.width)?;
    found.set_item("in_time", model.decoupled.is_some())?;
    found.set_item("data", model.data.is_some())?;
    for (name, cache) in [("l1i", &model.l1i), ("l2", &model.l2)] {
        found.set_item(name, describe_cache(python, cache)?)?;
    }
    for (name, tlb) in [("itlb", &model.itlb), ("stlb", &model.stlb)] {
        found.set_item(name, describe_tlb(python, tlb)?)?;
    }
    Ok(found)
}

fn describe_cache<'py>(python: Python<'py>, cache: &CacheGeometry) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(python);
    found.set_item("bytes", cache.bytes)?;
    found.set_item("ways", cache.ways)?;
    found.set_item("miss_cycles", cache.miss_cycles)?;
    Ok(found)
}

fn describe_tlb<'py>(python: Python<'py>, tlb: &TlbGeometry) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(python);
    for (size, array) in ["small", "large"].into_iter().zip(tlb.arrays.by_size()) {
        let entries = PyDict::new(python);
        entries.set_item("entries", array.entries)?;
        entries.set_item("ways", array.ways)?;
        found.set_item(size, entries)?;
    }
    found.set_item("miss_cycles", tlb.miss_cycles)?;
    Ok(found)
}
