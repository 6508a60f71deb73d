// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects with some functions in another compilation's form.

use std::collections::BTreeMap;

use kernsmith_exchange::Exchange;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Two compilations of one source file whose functions can stand in for each other.
#[pyclass(frozen)]
pub struct FunctionExchange(Exchange);

#[pymethods]
impl FunctionExchange {
    /// good, bad: contents of two objects. differing: names of the functions whose code differs.
    ///
    /// Raises `ValueError` with the reason why no function can be exchanged.
    #[new]
    fn new(python: Python<'_>, good: &[u8], bad: &[u8], differing: Vec<String>) -> PyResult<Self> {
        let made = python.detach(|| Exchange::new(good, bad, &differing));
        Ok(Self(made.map_err(PyValueError::new_err)?))
    }

    /// Functions that can be exchanged, in groups of those that only can be together; and for each
    /// group, others that these call in their own form.
    #[getter]
    fn units(&self) -> Vec<(Vec<String>, Vec<String>)> {
        let units = self.0.units().iter().cloned();
        units.map(|unit| (unit.functions, unit.along)).collect()
    }

    /// Functions that differ and cannot be exchanged, and why.
    #[getter]
    fn kept(&self) -> BTreeMap<String, String> {
        self.0.kept().clone()
    }

    /// The good object with the units of these functions in the bad one's form.
    ///
    /// Raises `ValueError` where one of them cannot be exchanged.
    fn mixed<'py>(
        &self,
        python: Python<'py>,
        chosen: Vec<String>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let made = python.detach(|| self.0.mixed(&chosen));
        Ok(PyBytes::new(python, &made.map_err(PyValueError::new_err)?))
    }
}
