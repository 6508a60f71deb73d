// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a branch goes: branch target buffer, indirect target table and return stack.

use super::{Key, PredictorGeometry, Replacement, SetAssociative};

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

/// Targets of taken branches by the branch's address, and of indirect branches by the address
/// together with the targets of the indirect branches before it.
#[derive(Debug, Clone)]
pub struct Targets<K = u64> {
    buffer: SetAssociative<u64, K>,
    indirect: Vec<(u64, u64)>,
    path: u64,
    pc_shift: u32,
}

impl<K: Key> Targets<K> {
    pub fn new(geometry: &PredictorGeometry) -> Self {
        let indirect = if geometry.indirect_bits == 0 {
            0
        } else {
            1 << geometry.indirect_bits
        };
        Self {
            buffer: SetAssociative::new(geometry.btb_entries, geometry.btb_ways, Replacement::Lru),
            indirect: vec![(u64::MAX, 0); indirect],
            path: 0,
            pc_shift: geometry.pc_shift,
        }
    }

    /// A taken direct branch, by its address shifted right. Returns whether the buffer knew it.
    #[inline(always)]
    pub fn direct(&mut self, branch: K, target: u64) -> bool {
        let hit = self.buffer.lookup(branch).is_some();
        if !hit {
            self.buffer.insert(branch, target);
        }
        hit
    }

    /// See [`SetAssociative::is_news`].
    #[inline(always)]
    pub fn is_news(&mut self, branch: K) -> bool {
        self.buffer.is_news(branch)
    }

    /// The same, for many in a row; `told` is called with whether each was known. No figure depends
    /// on the target that the buffer knows for a direct branch, so it learns none.
    #[inline(always)]
    pub fn enter(&mut self, branches: impl Iterator<Item = K>, told: impl FnMut(K, bool)) {
        self.buffer.enter(branches, told);
    }

    /// An indirect jump or call. Returns whether its target was predicted.
    pub fn indirect(&mut self, branch: K, pc: u64, target: u64) -> bool {
        let by_path = self.by_path(pc, target);
        let last_target = match self.buffer.lookup(branch) {
            Some(known) => Some(std::mem::replace(known, target)),
            None => {
                self.buffer.insert(branch, target);
                None
            }
        };
        self.path = (self.path << 3) ^ (target >> self.pc_shift);
        by_path.or(last_target) == Some(target)
    }

    /// What the table says for this branch on this path; it learns `target`.
    fn by_path(&mut self, pc: u64, target: u64) -> Option<u64> {
        if self.indirect.is_empty() {
            return None;
        }
        let hash = (pc >> self.pc_shift) ^ (self.path & 0xffff_ffff);
        let slot = (hash ^ (hash >> 13)) as usize & (self.indirect.len() - 1);
        let (tag, known) = std::mem::replace(&mut self.indirect[slot], (pc, target));
        (tag == pc).then_some(known)
    }
}
