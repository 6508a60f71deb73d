// SPDX-License-Identifier: GPL-2.0-or-later
//! Orders of functions: where the linker puts them ([`Text`]) and what a trace costs there
//! ([`Replay`]).

mod replay;
mod text;

pub use replay::Replay;
pub use text::{Section, Step, Text};
