// SPDX-License-Identifier: GPL-2.0-or-later
//! The first-level data cache, and what stands behind an L2 that has code and data.

use super::clocks::ticks;
use super::fill_buffers::FillBuffers;
use super::{CpuModel, DataCounters, DataGeometry, SetAssociative};

/// L1d, L3, and the buffers that lines wait in for L1d. Stores allocate lines as loads do; lines that
/// have to go cost nothing, and no cache has to hold what another one holds.
#[derive(Debug, Clone)]
pub struct DataCaches {
    /// Lines, with the time at which each arrives.
    l1d: SetAssociative<u64>,
    l3: SetAssociative<()>,
    buffers: FillBuffers,
    /// What the line's way takes from L2, from L3 and from memory, in ticks.
    from_l2: u64,
    from_l3: u64,
    from_memory: u64,
}

impl DataCaches {
    /// Empty caches.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DataGeometry) -> Self {
        let [l1d, l3] = [&geometry.l1d, &geometry.l3];
        let lines = |bytes: usize| bytes / model.line_bytes;
        let from_l2 = l1d.miss_cycles;
        let from_l3 = from_l2 + model.l2.miss_cycles;
        Self {
            l1d: SetAssociative::new(lines(l1d.bytes), l1d.ways, l1d.replacement),
            l3: SetAssociative::new(lines(l3.bytes), l3.ways, l3.replacement),
            buffers: FillBuffers::new(geometry.fill_buffers),
            from_l2: ticks(from_l2),
            from_l3: ticks(from_l3),
            from_memory: ticks(from_l3 + l3.miss_cycles),
        }
    }

    /// Asks for a line at a time; returns when it is there, which is not before.
    #[inline(always)]
    pub fn access(
        &mut self,
        line: u64,
        asked: u64,
        l2: &mut SetAssociative<()>,
        counters: &mut DataCounters,
    ) -> u64 {
        counters.l1d_accesses += 1;
        match self.l1d.lookup(line) {
            Some(ready) => asked.max(*ready),
            None => {
                counters.l1d_misses += 1;
                self.bring(line, asked, l2, counters)
            }
        }
    }

    /// Brings a line that nobody has asked for, unless it is there.
    pub fn prefetch(&mut self, line: u64, asked: u64, l2: &mut SetAssociative<()>) {
        if self.l1d.lookup(line).is_none() {
            self.bring(line, asked, l2, &mut DataCounters::default());
        }
    }

    #[inline(never)]
    fn bring(
        &mut self,
        line: u64,
        asked: u64,
        l2: &mut SetAssociative<()>,
        counters: &mut DataCounters,
    ) -> u64 {
        let way = if l2.access(line) {
            self.from_l2
        } else {
            counters.l2_misses += 1;
            if self.behind_l2(line) {
                self.from_l3
            } else {
                counters.l3_misses += 1;
                self.from_memory
            }
        };
        let ready = self.buffers.bring(asked, way);
        self.l1d.insert(line, ready);
        ready
    }

    /// Whether L3 has a line that L2 does not have; it does from now on.
    pub fn behind_l2(&mut self, line: u64) -> bool {
        self.l3.access(line)
    }
}
