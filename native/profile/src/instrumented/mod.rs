// SPDX-License-Identifier: GPL-2.0-or-later
//! Kernels that count what they execute: compiled with counters in them.
//!
//! A program would write its counters to a file when it ends, by the compiler's run-time library. A
//! kernel has neither, and needs none: its image says where the counters are, and the machine reads
//! them there. What the compiler reads is made of both, the image and the counters.

mod error;
mod gcov;
mod image;
mod llvm;
mod values;

pub use error::InstrumentedError;
pub use image::{Instrumented, Span};
pub use values::Seen;
