// SPDX-License-Identifier: GPL-2.0-or-later
//! What tables of directions and targets are asked by, beside the history.
//!
//! Where histories are of paths, the branch's own address, or its name ([`BranchNames`]). Where they
//! are of directions, nothing in them tells branches apart, nor where they were come from: the address
//! or name goes into set and tag, and with it that of the taken branch before, while the flow is still
//! in the line that it led to. Loops on a Zen 3 say so (docs/silicon.md): what an indirect jump chose is
//! known to the branches that follow it within its target's line, and to none behind the next taken
//! branch.

/// Where a branch is and where it leads, by something that no layout changes: for each, 32 bits of
/// the function and the place in it (see `kernsmith_trace::Block::name`).
///
/// By address, which branches meet in a predictor's tables is another matter of luck in every layout,
/// here and on a processor; and since no vendor says how its tables are indexed, one's luck tells
/// nothing of the other's. By name, it is the same in all layouts (docs/model.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchNames {
    pub pc: u32,
    pub target: u32,
}

/// A name as this draw has it: places within 64 KiB of a function stay together, and lie elsewhere in a
/// predictor's tables. Draw 0 leaves names as they are.
#[inline(always)]
#[must_use]
pub fn drawn(name: u32, draw: u32) -> u32 {
    if draw == 0 {
        return name;
    }
    let group = u64::from(name >> 16) | u64::from(draw) << 16;
    let away = group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    name.wrapping_add(away as u32 & !0xf)
}

/// The taken branch before: what it is known by, and low bits of its target's address.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    pub pc: u32,
    pub target: u32,
}

/// What a branch is looked up by.
#[derive(Debug, Clone, Copy)]
pub struct BranchKey {
    /// Its address or its name.
    pub pc: u64,
    /// Of histories of directions: what the taken branch before is known by, or 0 where it is not near.
    before: Option<u32>,
}

/// log2 of the bytes that a block of the predictor has at most.
const LINE: u32 = 6;

impl Before {
    /// For a branch at an address, of which the low 32 bits count, that is known by `pc`.
    #[inline(always)]
    #[must_use]
    pub fn key(self, address: u64, pc: u64) -> BranchKey {
        let is_near = (address as u32 ^ self.target) >> LINE == 0;
        BranchKey {
            pc,
            before: Some(if is_near { self.pc } else { 0 }),
        }
    }
}

impl BranchKey {
    /// By itself alone, where histories are of paths.
    #[inline(always)]
    #[must_use]
    pub fn of(pc: u64) -> Self {
        Self { pc, before: None }
    }

    /// For what is known whatever the history.
    #[inline(always)]
    #[must_use]
    pub fn alone(self) -> u64 {
        let before = u64::from(self.before.unwrap_or(0));
        self.pc ^ before >> 2 ^ before << 16
    }

    /// What histories of directions are mixed with, for a set and for a tag; none of those of paths.
    #[inline(always)]
    #[must_use]
    pub fn mixed(self) -> Option<(u64, u64)> {
        let (pc, before) = (self.pc, u64::from(self.before?));
        Some((
            pc >> 1 ^ pc >> 8 ^ before >> 3 ^ before << 3,
            pc ^ pc >> 9 ^ before >> 2 ^ before >> 10,
        ))
    }
}
