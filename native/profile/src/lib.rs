// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch counts of a kernel: where they come from, and what is made of them.
