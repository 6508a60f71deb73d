// SPDX-License-Identifier: GPL-2.0-or-later
//! A vCPU as the engine follows it.

use kernsmith_frontend::{CpuModel, FrontEnd};

use crate::block::Block;

/// What one vCPU has of its own.
pub struct VcpuState {
    pub front_end: FrontEnd,
    /// The block that was entered last, if there was one.
    pub previous: *const Block,
    /// Loads and stores since the last block was entered.
    pub accesses: u64,
}

impl VcpuState {
    /// Everything empty.
    pub fn new(model: &CpuModel) -> Self {
        Self {
            front_end: FrontEnd::new(model),
            previous: std::ptr::null(),
            accesses: 0,
        }
    }
}
