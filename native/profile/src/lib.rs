// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch counts of a kernel: where they come from, and what is made of them.
//!
//! [`perf`] reads and writes the files of Linux's `perf record`. [`convert`](convert()) makes
//! counts of one: how often each branch of a kernel was taken, and each stretch of its code
//! executed, in the addresses that the kernel was linked at. [`record`] writes one from traces.
//! [`propeller`] makes of counts where blocks and functions are to lie, [`coverage`] which lines of
//! the source ran. [`instrumented`] is for kernels that count by themselves.

mod code;
mod convert;
pub mod coverage;
mod image;
pub mod instrumented;
pub mod perf;
pub mod propeller;
mod record;
mod sampler;
mod tally;

pub use code::Code;
pub use convert::{Converted, Report, Samples, convert, convert_from};
pub use image::Image;
pub use record::{Kernel, Recorded, Workload, record};
pub use sampler::{BranchSample, Sampler};
pub use tally::{Counts, EXTERNAL, Tally};
