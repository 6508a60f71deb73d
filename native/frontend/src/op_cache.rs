// SPDX-License-Identifier: GPL-2.0-or-later
//! The micro-op cache: which micro-ops of a block need not be decoded.
//!
//! A line has micro-ops of one window of code. Where lines belong to windows, a window's micro-ops fill
//! the same ones wherever it was entered. Where they belong to runs, one begins where fetch comes to a
//! window, or where the line before is full; code that is entered at two places is there twice, and
//! short runs leave lines half empty. The latter is what loops found on a Zen 5 (docs/silicon.md); of
//! its lines AMD's guide says that they end with their window, at a taken branch or when they are full.

use super::OpCacheGeometry;
use super::shape::{Stretch, WINDOW_BITS};
use super::store::Store;

/// The cache, and where fetch is in it.
#[derive(Debug, Clone)]
pub struct OpCache {
    lines: Store,
    runs: Option<Runs>,
    /// Whether micro-ops came from here last, not from the decoders.
    pub(super) cached: bool,
}

impl OpCache {
    /// Nothing is in it.
    #[must_use]
    pub fn new(geometry: &OpCacheGeometry) -> Self {
        Self {
            lines: Store::new(
                geometry.sets * geometry.ways,
                geometry.ways,
                geometry.replacement,
            ),
            runs: Runs::of(geometry),
            cached: true,
        }
    }

    /// Whether all micro-ops of a stretch are there; they are from now on. goes_on: the micro-op
    /// before is in the same window, and these follow on it. begins: see [`super::Shapes::begins`].
    #[inline(always)]
    pub(super) fn access(&mut self, stretch: &Stretch, goes_on: bool, begins: &[u8]) -> bool {
        let Some(runs) = &mut self.runs else {
            return stretch.lines().fold(true, |cached, line| {
                let known = self.lines.access(line);
                cached & known
            });
        };
        let went_on = runs.enter(goes_on);
        let mut cached = self.cached | !went_on;
        for first in runs.lines(stretch.ops) {
            let window = stretch.window & ((1 << WINDOW_BITS) - 1);
            let line = window | u64::from(begins[usize::from(first)]) << WINDOW_BITS;
            cached &= self.lines.access(line);
        }
        cached
    }
}

/// Lines that belong to runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    /// Micro-ops that a line has at most.
    most: u16,
    /// That the line has which was used last; 0: the next micro-op begins another one.
    pub open: u16,
}

impl Runs {
    /// Those of a cache whose lines do.
    pub fn of(geometry: &OpCacheGeometry) -> Option<Self> {
        geometry.by_run.then_some(Self {
            most: geometry.ops as u16,
            open: 0,
        })
    }

    /// Fetch comes to a window, or goes on in it. Returns whether it goes on in a line.
    #[inline(always)]
    pub fn enter(&mut self, goes_on: bool) -> bool {
        self.open = if goes_on { self.open } else { 0 };
        self.open > 0
    }

    /// So many micro-ops follow in the window: with which of them lines begin.
    #[inline(always)]
    pub fn lines(&mut self, ops: u16) -> impl Iterator<Item = u16> + use<> {
        let room = if self.open > 0 {
            self.most - self.open
        } else {
            0
        };
        self.open = (self.open + ops) % self.most;
        (room..ops).step_by(usize::from(self.most))
    }
}
