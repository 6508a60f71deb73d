// SPDX-License-Identifier: GPL-2.0-or-later
//! Three clocks of a decoupled front end: prediction runs ahead of fetch, fetch ahead of dispatch.
//!
//! What one of them waits for costs the next one only what its lead does not cover. So intervals
//! between misses need no rules of their own (S. Eyerman, L. Eeckhout, T. Karkhanis and J. E. Smith,
//! A mechanistic performance model for superscalar out-of-order processors, 2009): overlap is what
//! the queues allow. Fetch-directed prefetching: G. Reinman, B. Calder and T. Austin, 1999.

use std::hint::select_unpredictable;

use super::CoreGeometry;
use super::chains::Chains;
use super::window::Window;

/// Parts of a cycle that are counted: all usual widths divide it.
pub const TICKS: u64 = 5040;

/// So many cycles in ticks, rounded.
#[must_use]
pub fn ticks(cycles: f64) -> u64 {
    (cycles * TICKS as f64).round() as u64
}

/// The later of two times. The host predicts which one it is no better than it predicts a
/// misprediction, so there must be no branch.
#[inline(always)]
pub(super) fn later(one: u64, other: u64) -> u64 {
    select_unpredictable(one < other, other, one)
}

/// Micro-ops that are written at a time: most blocks have no more.
const AT_ONCE: usize = 16;

/// Places for micro-ops at least, so that few blocks reach from the last one to the first.
const FEWEST_PLACES: usize = 512;

/// The clocks, in ticks since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Clocks {
    /// Up to where the flow is predicted.
    pub predicted: u64,
    /// When the page was translated that was not translated ahead.
    pub translated: u64,
    /// When the last block was fetched.
    pub fetched: u64,
    /// When the last block's micro-ops were all dispatched.
    pub dispatched: u64,
    /// When each of the last blocks was fetched: the predictor is no more of them ahead.
    ahead: Box<[u64]>,
    next: usize,
    /// By micro-op, in a ring of a power of two: when all those before its block's were dispatched.
    /// By micro-op and not by block, so that the block that is a queue's length behind is found
    /// without a search, whose length the host could not predict.
    before: Box<[u64]>,
    ops: u64,
    queue: u64,
    per_op: u64,
    depth: u64,
    /// Of a core whose instructions wait for each other. In a place of its own, so that its lanes stay
    /// together where the clocks are in the host's registers.
    window: Option<Box<Window>>,
}

impl Clocks {
    /// All at zero. blocks: that the predictor may be ahead of fetch.
    #[must_use]
    pub fn new(core: &CoreGeometry, blocks: usize) -> Self {
        let places = (core.queue + 1 + 2 * AT_ONCE).next_power_of_two();
        Self {
            predicted: 0,
            translated: 0,
            fetched: 0,
            dispatched: 0,
            ahead: vec![0; blocks].into_boxed_slice(),
            next: 0,
            before: vec![0; places.max(FEWEST_PLACES)].into_boxed_slice(),
            ops: 0,
            queue: core.queue as u64,
            per_op: ticks(1.0 / core.width),
            depth: ticks(core.depth_cycles),
            window: core.window.map(|ops| Box::new(Window::new(ops))),
        }
    }

    /// From now on, from fetch to dispatch takes as long as in this core, and so does a micro-op.
    pub fn set_times(&mut self, core: &CoreGeometry) {
        self.depth = ticks(core.depth_cycles);
        self.per_op = ticks(1.0 / core.width);
    }

    /// The next block is predicted: not before there is room in the queue.
    #[inline(always)]
    pub fn predict_block(&mut self) {
        self.predicted = later(self.predicted, self.ahead[self.next]);
    }

    /// Micro-ops dispatched since the beginning.
    #[inline(always)]
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// When the branch is resolved that ends the block before.
    #[inline(always)]
    #[must_use]
    pub fn resolved(&self, chains: &Chains) -> u64 {
        match &self.window {
            Some(window) => later(self.dispatched, window.resolved(chains)),
            None => self.dispatched,
        }
    }

    /// The block of this number was fetched, and its micro-ops follow; they are dispatched at `room` at
    /// the earliest.
    #[inline(always)]
    pub fn finish_block(&mut self, block: (&Chains, usize), ops: u32, room: u64) {
        self.leave_queue();
        self.dispatch(block, ops, room);
    }

    /// What was predicted first of all that waits was fetched.
    #[inline(always)]
    pub fn leave_queue(&mut self) {
        self.ahead[self.next] = self.fetched;
        self.next += 1;
        if self.next == self.ahead.len() {
            self.next = 0;
        }
    }

    /// The micro-ops of a block that was fetched follow: see [`Self::finish_block`].
    #[inline(always)]
    pub fn dispatch(&mut self, (chains, number): (&Chains, usize), ops: u32, room: u64) {
        self.remember(ops as usize);
        let mut ready = later(room, self.fetched + self.depth);
        if let Some(window) = &self.window {
            ready = later(ready, window.room(self.ops, ops));
        }
        let takes = u64::from(ops) * self.per_op;
        self.dispatched = later(ready, self.dispatched + takes);
        if let Some(window) = &mut self.window {
            window.dispatch(chains, number, self.ops, ops, self.dispatched - takes);
        }
        self.ops += u64::from(ops);
        // Fetch waits while the queue before dispatch is full: until what lies a queue's length
        // back is dispatched. Before the first micro-op, the ring is still zero.
        let mask = self.before.len() - 1;
        let back = (self.ops as usize).wrapping_sub(self.queue as usize + 1) & mask;
        self.fetched = later(self.fetched, self.before[back]);
    }

    /// So many micro-ops follow on what was dispatched last.
    #[inline(always)]
    fn remember(&mut self, ops: usize) {
        let places = self.before.len();
        let first = self.ops as usize & (places - 1);
        // What is written beyond them is overwritten before it is looked at.
        match self.before.get_mut(first..first + AT_ONCE) {
            Some(at_once) if ops <= AT_ONCE => at_once.fill(self.dispatched),
            _ => remember_each(&mut self.before, first, ops, self.dispatched),
        }
    }

    /// Prediction goes on at this time at the earliest.
    #[inline(always)]
    pub fn steer(&mut self, at: u64) {
        self.predicted = later(self.predicted, at);
    }
}

#[inline(never)]
fn remember_each(before: &mut [u64], first: usize, ops: usize, dispatched: u64) {
    let mask = before.len() - 1;
    for op in 0..ops.min(mask + 1) {
        before[(first + op) & mask] = dispatched;
    }
}
