// SPDX-License-Identifier: GPL-2.0-or-later
//! Propeller's profiles: an image's basic blocks ([`Image`], [`address_map`]) with counts on them
//! ([`Graphs`]), repaired to a flow ([`repair`]), put in an order ([`ext_tsp`]), and written as
//! clang and the linker read it ([`make`]).

pub mod address_map;
mod chains;
mod control_flow;
mod counts;
mod ext_tsp;
mod files;
mod flow;
mod function_order;
mod image;
mod modules;
mod network;
mod stale;

pub use control_flow::{Call, Edge, Graph, Graphs};
pub use counts::{Counted, Counts};
pub use ext_tsp::{Jump, ext_tsp, score};
pub use files::{BlockOrder, Profile, Regions, make};
pub use flow::repair;
pub use image::{Function, Image, ImageError};
pub use stale::{Carried, carry};
