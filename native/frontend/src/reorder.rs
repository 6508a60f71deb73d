// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads that are waited for, and how far dispatch may go on behind them.
//!
//! A window of a fixed number of micro-ops, which leave it in their order: a load that takes long is
//! at its head in the end, the window is full, and dispatch waits until the load is there. Loads
//! that are in the window together overlap (S. Eyerman, L. Eeckhout, T. Karkhanis and J. E. Smith,
//! A mechanistic performance model for superscalar out-of-order processors, 2009, section 3.3).
//! Which load needs which other's result is not known: those in one window never wait for each other.

use std::collections::VecDeque;

/// What is not there yet, the oldest first.
#[derive(Debug, Clone)]
pub struct Reorder {
    size: u64,
    /// Micro-ops dispatched with the load, and when it is there; both rise.
    waiting: VecDeque<(u64, u64)>,
}

impl Reorder {
    /// Nothing is waited for. size: micro-ops.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self {
            size: size as u64,
            waiting: VecDeque::new(),
        }
    }

    /// A load that is among the first `ops` micro-ops is there at `ready`.
    #[inline(always)]
    pub fn wait(&mut self, ops: u64, ready: u64) {
        if let Some((last_ops, last_ready)) = self.waiting.back_mut() {
            if *last_ready >= ready {
                // Whoever waits for this one has waited for that one.
                return;
            }
            if *last_ops == ops {
                *last_ready = ready;
                return;
            }
        }
        self.waiting.push_back((ops, ready));
    }

    /// When so many micro-ops may have been dispatched, as far as loads go.
    #[inline(always)]
    pub fn room(&mut self, ops: u64) -> u64 {
        let mut held = 0;
        while let Some((waiting, ready)) = self.waiting.front() {
            if waiting + self.size >= ops {
                break;
            }
            held = *ready;
            self.waiting.pop_front();
        }
        held
    }
}
