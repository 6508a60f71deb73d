// SPDX-License-Identifier: GPL-2.0-or-later
//! Orders of functions: where the linker puts them ([`Text`]), what a trace costs there
//! ([`Replay`]), and which order is a good one ([`Algorithm`], [`pack`],
//! [`search`]).

mod call_stack;
mod chains;
mod chunks;
mod collisions;
mod contexts;
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
mod stacks;
mod text;
mod timed;
mod timed_chunks;
mod timed_replay;
mod warm;
mod watch;
mod windows;

pub use collisions::{Collided, Collisions, LineUse, Pair, SetUse, USER};
pub use footprint::Footprints;
pub use graph::{Call, Graph, Node};
pub use orders::Algorithm;
pub use pack::{Zone, pack};
pub use parallel::in_parallel;
pub use part::write_part;
pub use replay::Replay;
pub use search::{Search, search};
pub use stacks::{Folded, Frames, NONE as NO_FRAME, StackNode, Stacks};
pub use text::{Section, Shift, Step, Text};
pub use timed::{AsTraced, Placement, timed, timed_by_part};
pub use warm::Warmed;
pub use watch::Watch;
pub use windows::Sample;
