// SPDX-License-Identifier: GPL-2.0-or-later
//! What an instruction waits for, and what waits for it.

/// Registers that others than the same block's instructions are followed to wait for: bits below this
/// one. Which register each is, is the architecture's own.
pub const CARRIED: usize = 31;

/// An instruction as far as others wait for its results. Registers are bits of a mask; the stack
/// pointer is none of them, since front ends follow it themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operation {
    /// Registers that it computes with.
    pub reads: u64,
    /// Registers that say where in memory it loads or stores.
    pub addresses: u64,
    pub writes: u64,
    /// Whether it loads from memory.
    pub loads: bool,
    /// From its operands to its results, without the load.
    pub cycles: u8,
}
