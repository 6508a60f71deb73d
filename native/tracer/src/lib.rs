// SPDX-License-Identifier: GPL-2.0-or-later
//! A QEMU TCG plugin that counts what a marked region of a guest executes, simulates a CPU front
//! end over it, and writes an exact branch profile of its kernel. `README.md` says how to use it,
//! `docs/model.md` what the model is.

pub mod block;
mod difference;
pub mod engine;
pub mod fetching;
mod ffi;
mod frame;
mod idle;
mod instrument;
mod machine;
mod memory;
pub mod names;
pub mod options;
pub mod output;
mod page_reader;
pub mod pipe;
mod plugin;
pub mod profile;
mod running;
pub mod stream;
mod values;
mod vcpu;
mod vcpus;
mod watch;
mod word;
