// SPDX-License-Identifier: GPL-2.0-or-later
//! What loads and stores meet: the data TLB, L1d, L2 and L3, a prefetcher, and the reorder window.

use kernsmith_arch::PageMap;

use super::clocks::ticks;
use super::data_cache::DataCaches;
use super::data_tlb::DataTlb;
use super::reorder::Reorder;
use super::stride::Strides;
use super::{CpuModel, DataCounters, DataGeometry, InstructionTlbs, SetAssociative};

/// A load or store that was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub address: u64,
    /// At least one.
    pub bytes: u64,
    pub store: bool,
    /// What tells its instruction from others.
    pub place: u64,
}

/// What instructions and data share.
pub(super) struct Shared<'a> {
    pub l2: &'a mut SetAssociative<()>,
    pub tlbs: &'a mut InstructionTlbs,
}

/// All structures of the data side.
#[derive(Debug, Clone)]
pub(super) struct DataSide {
    tlb: DataTlb,
    pub caches: DataCaches,
    strides: Option<Strides>,
    reorder: Reorder,
    line_shift: u32,
    dtlb: u64,
    stlb: u64,
    /// What an L3 miss adds, in ticks.
    pub memory: u64,
}

impl DataSide {
    /// Everything empty.
    pub fn new(model: &CpuModel, geometry: &DataGeometry) -> Self {
        Self {
            tlb: DataTlb::new(&geometry.dtlb.arrays),
            caches: DataCaches::new(model, geometry),
            strides: geometry.stride.as_ref().map(Strides::new),
            reorder: Reorder::new(geometry.reorder),
            line_shift: model.line_bytes.trailing_zeros(),
            dtlb: ticks(geometry.dtlb.miss_cycles),
            stlb: ticks(model.stlb.miss_cycles),
            memory: ticks(geometry.l3.miss_cycles),
        }
    }

    /// From now on, data are mapped like this.
    pub fn map(&mut self, pages: PageMap) {
        self.tlb.map(pages);
    }

    /// When so many micro-ops may have been dispatched, as far as loads go.
    #[inline(always)]
    pub fn room(&mut self, ops: u64) -> u64 {
        self.reorder.room(ops)
    }

    /// A load or store of an instruction that is among the first `ops` micro-ops, dispatched `now`.
    /// Stores are waited for by nobody.
    #[inline(always)]
    pub fn access(
        &mut self,
        access: Access,
        (ops, now): (u64, u64),
        shared: Shared<'_>,
        counters: &mut DataCounters,
    ) {
        let Access { address, bytes, .. } = access;
        let last = address.wrapping_add(bytes - 1);
        let walked = self.tlb.translate(address, last, shared.tlbs, counters);
        let asked = now + walked.misses * self.dtlb + walked.walks * self.stlb;
        let mut ready = asked;
        for line in (address >> self.line_shift)..=(last >> self.line_shift) {
            let there = self.caches.access(line, asked, shared.l2, counters);
            ready = ready.max(there);
        }
        if access.store {
            return;
        }
        if ready > now {
            self.reorder.wait(ops, ready);
        }
        let strides = self.strides.as_mut();
        if let Some(wanted) = strides.and_then(|strides| strides.meet(access.place, address)) {
            let line = wanted >> self.line_shift;
            if line != address >> self.line_shift {
                self.caches.prefetch(line, asked, shared.l2);
            }
        }
    }
}
