// SPDX-License-Identifier: GPL-2.0-or-later
//! How many micro-ops may wait for each other's results at a time.
//!
//! Behind a chain of instructions that wait for each other, dispatch goes on until the window is full:
//! T. Karkhanis and J. E. Smith, *A First-Order Superscalar Processor Model*, ISCA 2004.

use super::chains::{Chains, DONE, PER_CYCLE};
use super::clocks::TICKS;
use super::lanes::Lanes;

const PART: u64 = TICKS / PER_CYCLE;

/// Micro-ops that are written at a time: most blocks have no more.
const AT_ONCE: usize = 16;

/// What is under way behind dispatch.
#[derive(Debug, Clone)]
pub struct Window {
    ops: u64,
    /// When registers are ready, from `base` on; and before the block that was dispatched last.
    ready: Lanes,
    before: Lanes,
    /// When that block was dispatched, in parts of a cycle; and its number.
    base: u64,
    number: usize,
    /// When all is done that was dispatched so far.
    done: u64,
    /// By micro-op, in a ring of a power of two: when all up to its block are done.
    ring: Box<[u64]>,
}

impl Window {
    /// Nothing under way. ops: how many micro-ops may be.
    #[must_use]
    pub fn new(ops: usize) -> Self {
        let places = (ops + 1 + 2 * AT_ONCE).next_power_of_two().max(512);
        Self {
            ops: ops as u64,
            ready: Lanes::default(),
            before: Lanes::default(),
            base: 0,
            number: 0,
            done: 0,
            ring: vec![0; places].into_boxed_slice(),
        }
    }

    /// When the last of so many micro-ops, behind so many since the beginning, may be dispatched, in
    /// ticks: what lies a window's length before it is done.
    #[inline(always)]
    #[must_use]
    pub fn room(&self, before: u64, ops: u32) -> u64 {
        let mask = self.ring.len() - 1;
        let place = (before + u64::from(ops)).wrapping_sub(self.ops + 1) as usize & mask;
        let known = self.ring[place];
        // Of a block that is longer than the window, nothing is known yet.
        PART * if u64::from(ops) > self.ops {
            self.done
        } else {
            known
        }
    }

    /// The block of this number is dispatched, from `at` on, in ticks.
    #[inline(always)]
    pub fn dispatch(&mut self, chains: &Chains, number: usize, before: u64, ops: u32, at: u64) {
        let now = at / PART;
        let passed = i16::try_from(now - self.base).unwrap_or(i16::MAX);
        self.before = self.ready.after(-passed).later(&Lanes::default());
        (self.base, self.number) = (now, number);
        self.ready = chains.behind(number, &self.before);
        self.done = self.done.max(now + self.ready.0[DONE] as u64);
        let places = self.ring.len();
        let first = before as usize & (places - 1);
        match self.ring.get_mut(first..first + AT_ONCE) {
            Some(at_once) if ops as usize <= AT_ONCE => at_once.fill(self.done),
            _ => fill_each(&mut self.ring, first, ops as usize, self.done),
        }
    }

    /// When the last instruction of the block that was dispatched last is done, in ticks.
    #[must_use]
    pub fn resolved(&self, chains: &Chains) -> u64 {
        PART * (self.base + chains.last(self.number, &self.before))
    }
}

#[inline(never)]
fn fill_each(ring: &mut [u64], first: usize, ops: usize, done: u64) {
    let mask = ring.len() - 1;
    for op in 0..ops.min(mask + 1) {
        ring[(first + op) & mask] = done;
    }
}

#[cfg(test)]
mod tests {
    use kernsmith_arch::Operation;

    use super::super::chains::Latencies;
    use super::*;

    const CORE: Latencies = Latencies {
        load: 5.0,
        width: 4.0,
    };

    /// A block of four instructions of which so many wait for each other, again and again: cycles for
    /// each, where dispatch is never kept up by anything else.
    fn cycles_each(chained: usize, window: usize) -> f64 {
        let one = |waits| Operation {
            reads: u64::from(waits),
            writes: u64::from(waits),
            cycles: 3,
            ..Operation::default()
        };
        let operations: Vec<_> = (0..4).map(|number| one(number < chained)).collect();
        let mut chains = Chains::default();
        chains.add(0, &operations, CORE);
        let mut window = Window::new(window);
        let (mut dispatched, rounds) = (0, 10_000);
        for round in 0..rounds {
            let ready = window.room(4 * round, 4);
            dispatched = (dispatched + TICKS).max(ready);
            window.dispatch(&chains, 0, 4 * round, 4, dispatched - TICKS);
        }
        dispatched as f64 / TICKS as f64 / rounds as f64
    }

    #[test]
    fn dispatch_goes_as_fast_as_what_waits_for_each_other() {
        for window in [8, 97, 500] {
            assert!((cycles_each(1, window) - 3.0).abs() < 0.1);
            assert!((cycles_each(2, window) - 6.0).abs() < 0.1);
        }
    }

    #[test]
    fn without_chains_only_a_short_window_is_felt() {
        assert_eq!(cycles_each(0, 97), 1.0);
        // The last of four is done three cycles behind its dispatch, and until then no other four are.
        assert!((cycles_each(0, 4) - 3.0).abs() < 0.01);
    }

    #[test]
    fn a_block_that_is_longer_than_the_window_waits_for_all_before_it() {
        let mut chains = Chains::default();
        chains.add(0, &[Operation::default(); 4], CORE);
        let slow = Operation {
            cycles: 100,
            ..Operation::default()
        };
        chains.add(1, &[slow], CORE);
        let mut window = Window::new(3);
        window.dispatch(&chains, 1, 0, 1, 0);
        let done = window.resolved(&chains);
        assert_eq!(done, 100 * TICKS + TICKS / 4);
        assert_eq!(window.room(1, 4), done);
        assert_eq!(window.room(1, 2), 0);
    }
}
