// SPDX-License-Identifier: GPL-2.0-or-later
//! `kernsmith._native`: the Rust crates, for Python.

mod collisions;
mod coverage;
mod cpu;
mod cpuid;
mod exchange;
mod functions;
mod instrumented;
mod layout;
mod loops;
mod profile;
mod propeller;
mod shared_core;
mod trace;

use pyo3::prelude::*;

/// Functions and classes implemented in Rust.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        coverage::{source_coverage, source_functions},
        cpu::cpu_model_check,
        cpuid::{cpuid, xcr0},
        exchange::FunctionExchange,
        functions::{program_functions, trace_functions},
        instrumented::{
            counted, counters_span, gcov_files, llvm_raw_profile, seen_values, value_functions,
        },
        layout::LayoutLab,
        loops::loop_cycles,
        profile::{direct_calls, perf_data_counts, perf_data_record},
        propeller::{propeller_carried, propeller_profile},
        shared_core::instructions_per_cycle,
        shared_core::interruptions_per_second,
        trace::{WarmTrace, trace_costs, trace_pages, trace_part},
        version,
    };
}

/// The version of the native part.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
