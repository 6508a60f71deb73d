// SPDX-License-Identifier: GPL-2.0-or-later
//! The instruction cache and the second-level cache behind it.

use super::{Counters, CpuModel, LineEvents, SetAssociative};

/// A line number that no address has.
const NOWHERE: u64 = u64::MAX;

/// L1i, and L2 as far as instruction fetches go: data has no part in it.
#[derive(Debug, Clone)]
pub struct InstructionCaches {
    l1i: SetAssociative<()>,
    l2: SetAssociative<()>,
    line_shift: u32,
    current: u64,
    /// Of L1i.
    pub events: LineEvents,
}

impl InstructionCaches {
    /// Empty caches of the model's geometry.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        let lines = |bytes: usize| bytes / model.line_bytes;
        Self {
            l1i: SetAssociative::new(
                lines(model.l1i.bytes),
                model.l1i.ways,
                model.l1i.replacement,
            ),
            l2: SetAssociative::new(lines(model.l2.bytes), model.l2.ways, model.l2.replacement),
            line_shift: model.line_bytes.trailing_zeros(),
            current: NOWHERE,
            events: LineEvents::default(),
        }
    }

    /// Whether all of `start..=last` lies in the line that was fetched last.
    #[inline(always)]
    #[must_use]
    pub fn is_current(&self, start: u64, last: u64) -> bool {
        start >> self.line_shift == self.current && last >> self.line_shift == self.current
    }

    /// Fetches the lines of `start..=last`.
    #[inline(always)]
    pub fn fetch(&mut self, start: u64, last: u64, counters: &mut Counters) {
        let end = last >> self.line_shift;
        let mut line = start >> self.line_shift;
        if line == self.current {
            line += 1;
        }
        while line <= end {
            counters.l1i_accesses += 1;
            self.enter(line, counters);
            line += 1;
        }
        self.current = end;
    }

    #[inline(always)]
    fn enter(&mut self, line: u64, counters: &mut Counters) {
        if self.l1i.lookup(line).is_none() {
            self.miss(line, counters);
        }
    }

    #[inline(never)]
    fn miss(&mut self, line: u64, counters: &mut Counters) {
        self.events.missed(line);
        self.events.evicted(self.l1i.insert(line, ()));
        counters.l1i_misses += 1;
        counters.l2i_misses += u64::from(!self.l2.access(line));
    }
}
