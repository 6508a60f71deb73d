// SPDX-License-Identifier: GPL-2.0-or-later
//! Three clocks of a decoupled front end: prediction runs ahead of fetch, fetch ahead of dispatch.
//!
//! What one of them waits for costs the next one only what its lead does not cover. So intervals
//! between misses need no rules of their own (S. Eyerman, L. Eeckhout, T. Karkhanis and J. E. Smith,
//! A mechanistic performance model for superscalar out-of-order processors, 2009): overlap is what
//! the queues allow. Fetch-directed prefetching: G. Reinman, B. Calder and T. Austin, 1999.

use super::CoreGeometry;

/// Parts of a cycle that are counted: all usual widths divide it.
pub const TICKS: u64 = 5040;

/// So many cycles in ticks, rounded.
#[must_use]
pub fn ticks(cycles: f64) -> u64 {
    (cycles * TICKS as f64).round() as u64
}

/// When what was dispatched last lies so many micro-ops back.
#[derive(Debug, Clone, Copy, Default)]
struct Dispatched {
    ops: u64,
    at: u64,
}

/// Blocks whose dispatch is remembered; more than a queue of micro-ops holds.
const REMEMBERED: usize = 256;

/// The clocks, in ticks since the beginning.
#[derive(Debug, Clone)]
pub struct Clocks {
    /// Up to where the flow is predicted.
    pub predicted: u64,
    /// When the last block was fetched.
    pub fetched: u64,
    /// When the last block's micro-ops were all dispatched.
    pub dispatched: u64,
    /// When each of the last blocks was fetched: the predictor is no more of them ahead.
    ahead: Box<[u64]>,
    next: usize,
    behind: Box<[Dispatched; REMEMBERED]>,
    blocks: usize,
    oldest: usize,
    ops: u64,
    queue: u64,
    per_op: u64,
    depth: u64,
}

impl Clocks {
    /// All at zero. blocks: that the predictor may be ahead of fetch.
    #[must_use]
    pub fn new(core: &CoreGeometry, blocks: usize) -> Self {
        Self {
            predicted: 0,
            fetched: 0,
            dispatched: 0,
            ahead: vec![0; blocks].into_boxed_slice(),
            next: 0,
            behind: Box::new([Dispatched::default(); REMEMBERED]),
            blocks: 0,
            oldest: 0,
            ops: 0,
            queue: core.queue as u64,
            per_op: ticks(1.0 / core.width),
            depth: ticks(core.depth_cycles),
        }
    }

    /// The next block is predicted: not before there is room in the queue.
    #[inline(always)]
    pub fn predict_block(&mut self) {
        self.predicted = self.predicted.max(self.ahead[self.next]);
    }

    /// Micro-ops dispatched since the beginning.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// The block was fetched, and its micro-ops follow; they are dispatched at `room` at the
    /// earliest.
    #[inline(always)]
    pub fn finish_block(&mut self, ops: u32, room: u64) {
        self.ahead[self.next] = self.fetched;
        self.next = if self.next + 1 == self.ahead.len() {
            0
        } else {
            self.next + 1
        };
        let ready = room.max(self.fetched + self.depth);
        self.dispatched = ready.max(self.dispatched + u64::from(ops) * self.per_op);
        self.ops += u64::from(ops);
        self.behind[self.blocks % REMEMBERED] = Dispatched {
            ops: self.ops,
            at: self.dispatched,
        };
        self.blocks += 1;
        // Fetch waits while the queue before dispatch is full.
        let full = self.ops.saturating_sub(self.queue);
        self.oldest = self.oldest.max(self.blocks.saturating_sub(REMEMBERED));
        while self.behind[self.oldest % REMEMBERED].ops < full {
            self.fetched = self.fetched.max(self.behind[self.oldest % REMEMBERED].at);
            self.oldest += 1;
        }
    }

    /// Prediction goes on at this time at the earliest.
    #[inline(always)]
    pub fn steer(&mut self, at: u64) {
        self.predicted = self.predicted.max(at);
    }
}
