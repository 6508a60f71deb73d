// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts of branches and of what was executed between them, from branch stacks.
//!
//! As `llvm-profgen` counts (`computeCounterFromLBR` of `llvm/tools/llvm-profgen/PerfReader.cpp`):
//! each entry of a stack is a branch; from where it led to up to the next branch, the code was
//! executed in one go. The stretch after the latest branch is not known, and not counted.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::code::Code;

/// What counts say of a place outside of the kernel, as `llvm-profgen` does.
pub const EXTERNAL: u64 = 1;

/// The same for an offset into the code.
const OUTSIDE: u32 = u32::MAX;

/// Different branches and stretches that are counted, at most. No kernel has as many.
const MOST: usize = 1 << 24;

/// By addresses: (from, to, how often), sorted.
pub type Counts = Vec<(u64, u64, u64)>;

type Table = HashMap<u64, u64, BuildHasherDefault<Mixed>>;

/// Counts of the code of one kernel, by its link addresses.
#[derive(Debug, Default)]
pub struct Tally {
    /// (where it begins, its last instruction) → times.
    ranges: Table,
    /// (where from, where to) → times.
    branches: Table,
    /// Entries of stacks, and those that begin or end in the kernel's code.
    pub entries: u64,
    pub inside: u64,
    /// Addresses between the code's first and last byte, and those where no instruction begins.
    pub addresses: u64,
    pub misplaced: u64,
}

impl Tally {
    /// Counts a branch stack, the latest branch first.
    ///
    /// moved: how far the kernel runs from where it was linked. other: called with where a branch
    /// led that did not lead into the kernel's code.
    ///
    /// # Errors
    ///
    /// When there are more different branches than a kernel has.
    #[inline]
    pub fn add(
        &mut self,
        code: &Code,
        moved: u64,
        branches: impl Iterator<Item = (u64, u64)>,
        mut other: impl FnMut(u64),
    ) -> Result<(), String> {
        let mut end = OUTSIDE;
        for (from, to) in branches {
            self.entries += 1;
            let source = self.place(code, from.wrapping_sub(moved));
            let target = self.place(code, to.wrapping_sub(moved));
            if target == OUTSIDE {
                other(to);
                if source == OUTSIDE {
                    continue;
                }
            } else {
                *self.branches.entry(pair(source, target)).or_default() += 1;
                if end != OUTSIDE {
                    *self.ranges.entry(pair(target, end)).or_default() += 1;
                }
            }
            self.inside += 1;
            end = source;
        }
        self.check()
    }

    /// Counts where a program was: that instruction was executed.
    ///
    /// # Errors
    ///
    /// As [`Self::add`].
    pub fn add_instruction(&mut self, code: &Code, moved: u64, ip: u64) -> Result<bool, String> {
        self.entries += 1;
        let place = self.place(code, ip.wrapping_sub(moved));
        if place == OUTSIDE {
            return Ok(false);
        }
        self.inside += 1;
        *self.ranges.entry(pair(place, place)).or_default() += 1;
        self.check()?;
        Ok(true)
    }

    /// Ranges and branches by link address.
    #[must_use]
    pub fn counts(&self, code: &Code) -> (Counts, Counts) {
        let address = |offset| match offset {
            OUTSIDE => EXTERNAL,
            offset => code.address(offset),
        };
        let listed = |table: &Table, valid: &dyn Fn(u32, u32) -> bool| {
            let all = table.iter().map(|(key, count)| (unpair(*key), *count));
            let kept = all.filter(|((from, to), _)| valid(*from, *to));
            let mut list: Counts = kept
                .map(|((from, to), count)| (address(from), address(to), count))
                .collect();
            list.sort_unstable();
            list
        };
        let ranges = listed(&self.ranges, &|from, to| code.falls_through(from, to));
        (ranges, listed(&self.branches, &|_, _| true))
    }

    /// The offset of an instruction.
    #[inline]
    fn place(&mut self, code: &Code, address: u64) -> u32 {
        let Some(offset) = code.offset(address) else {
            return OUTSIDE;
        };
        self.addresses += 1;
        if code.begins(offset) {
            return offset;
        }
        self.misplaced += 1;
        OUTSIDE
    }

    fn check(&self) -> Result<(), String> {
        if self.ranges.len() + self.branches.len() > MOST {
            return Err("has more different branches than any kernel".to_owned());
        }
        Ok(())
    }
}

#[inline]
fn pair(from: u32, to: u32) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

fn unpair(key: u64) -> (u32, u32) {
    ((key >> 32) as u32, key as u32)
}

/// Spreads pairs of offsets: quick, and good enough for keys that nobody chooses to collide.
#[derive(Debug, Default)]
pub struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, key: u64) {
        let mixed = u128::from(self.0 ^ key) * u128::from(0x9E37_79B9_7F4A_7C15_u64);
        self.0 = (mixed >> 64) as u64 ^ mixed as u64;
    }
}
