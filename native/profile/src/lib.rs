// SPDX-License-Identifier: GPL-2.0-or-later
//! What is common to everything that looks at executed kernel code: the simulated front end of a
//! CPU ([`frontend`]).

pub mod frontend;
