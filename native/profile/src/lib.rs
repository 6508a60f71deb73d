// SPDX-License-Identifier: GPL-2.0-or-later
//! What is common to everything that looks at executed kernel code: the simulated front end of a
//! CPU ([`frontend`]), the sequence of executed blocks ([`trace`]), and orders of functions
//! ([`layout`]).

pub mod frontend;
pub mod layout;
pub mod trace;
