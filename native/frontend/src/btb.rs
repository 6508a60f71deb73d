// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a branch goes: branch target buffer, indirect target table and return stack (Kaeli, Emma,
//! *Branch History Table Prediction of Moving Target Branches due to Subroutine Returns*, ISCA 1991).

use super::{PredictorGeometry, Replacement, SetAssociative};

/// The addresses that calls return to, in a ring: when it is full, the oldest one is lost.
#[derive(Debug, Clone)]
pub struct ReturnStack {
    ring: Vec<u64>,
    top: usize,
    depth: usize,
}

impl ReturnStack {
    pub fn new(places: usize) -> Self {
        Self {
            ring: vec![0; places],
            top: 0,
            depth: 0,
        }
    }

    #[inline(always)]
    pub fn push(&mut self, address: u64) {
        self.top = if self.top + 1 == self.ring.len() {
            0
        } else {
            self.top + 1
        };
        self.ring[self.top] = address;
        self.depth = (self.depth + 1).min(self.ring.len());
    }

    /// The predicted target of a return; `None` when the stack has run empty.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<u64> {
        if self.depth == 0 {
            return None;
        }
        let address = self.ring[self.top];
        self.top = if self.top == 0 {
            self.ring.len() - 1
        } else {
            self.top - 1
        };
        self.depth -= 1;
        Some(address)
    }
}

/// Targets of taken branches by the branch's address, and of indirect branches by their path, too.
#[derive(Debug, Clone)]
pub struct Targets {
    buffer: SetAssociative<u64>,
    by_path: TargetsByPath,
    pc_shift: u32,
}

impl Targets {
    pub fn new(geometry: &PredictorGeometry) -> Self {
        Self {
            buffer: SetAssociative::new(geometry.btb_entries, geometry.btb_ways, Replacement::Lru),
            by_path: TargetsByPath::new(geometry),
            pc_shift: geometry.pc_shift,
        }
    }

    /// A taken direct branch. Returns whether the buffer knew it.
    #[inline(always)]
    pub fn direct(&mut self, pc: u64, target: u64) -> bool {
        let branch = pc >> self.pc_shift;
        let hit = self.buffer.lookup(branch).is_some();
        if !hit {
            self.buffer.insert(branch, target);
        }
        hit
    }

    /// An indirect jump or call. Returns whether its target was predicted: by path if there is such
    /// a prediction, else by the target that it had before.
    pub fn indirect(&mut self, pc: u64, target: u64) -> bool {
        let branch = pc >> self.pc_shift;
        let before = match self.buffer.lookup(branch) {
            Some(known) => Some(std::mem::replace(known, target)),
            None => {
                self.buffer.insert(branch, target);
                None
            }
        };
        self.by_path.next(pc, target).or(before) == Some(target)
    }
}

/// Targets of indirect branches, by the branch's address together with the targets of the indirect
/// branches before it.
#[derive(Debug, Clone)]
pub struct TargetsByPath {
    table: Vec<(u64, u64)>,
    path: u64,
    pc_shift: u32,
}

impl TargetsByPath {
    /// An empty table, of no entries if the model has none.
    #[must_use]
    pub fn new(geometry: &PredictorGeometry) -> Self {
        let entries = match geometry.indirect_bits {
            0 => 0,
            bits => 1 << bits,
        };
        Self {
            table: vec![(u64::MAX, 0); entries],
            path: 0,
            pc_shift: geometry.pc_shift,
        }
    }

    /// What the table says of this branch on this path; it learns `target`, and the path goes on.
    #[inline(always)]
    pub fn next(&mut self, pc: u64, target: u64) -> Option<u64> {
        let hash = (pc >> self.pc_shift) ^ (self.path & 0xffff_ffff);
        self.path = (self.path << 3) ^ (target >> self.pc_shift);
        if self.table.is_empty() {
            return None;
        }
        let slot = (hash ^ (hash >> 13)) as usize & (self.table.len() - 1);
        let (tag, known) = std::mem::replace(&mut self.table[slot], (pc, target));
        (tag == pc).then_some(known)
    }
}
