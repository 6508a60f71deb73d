// SPDX-License-Identifier: GPL-2.0-or-later
//! Orders of functions: where the linker puts them ([`Text`]), what a trace costs there
//! ([`Replay`]), and which order is a good one ([`Algorithm`], [`pack`],
//! [`search`]).

mod chains;
mod chunks;
mod epochs;
mod footprint;
mod gathered;
mod graph;
mod orders;
mod pack;
mod page_numbers;
mod parallel;
mod part;
mod pieces;
mod random;
mod replay;
mod search;
mod simulated;
mod text;
mod timed;
mod windows;

pub use footprint::Footprints;
pub use graph::{Call, Graph, Node};
pub use orders::Algorithm;
pub use pack::{Zone, pack};
pub use parallel::in_parallel;
pub use part::write_part;
pub use replay::Replay;
pub use search::{Search, search};
pub use text::{Section, Shift, Step, Text};
pub use timed::{AsTraced, Placement, timed, timed_by_part};
pub use windows::Sample;
