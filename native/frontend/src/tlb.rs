// SPDX-License-Identifier: GPL-2.0-or-later
//! The instruction TLB and the second-level TLB behind it.

use super::{Counters, CpuModel, SetAssociative};

/// A page number that no address has.
const NOWHERE: u64 = u64::MAX;

/// Both levels, looked up by virtual page number alone: see `docs/model.md` on address spaces.
#[derive(Debug, Clone)]
pub struct InstructionTlbs {
    itlb: SetAssociative<()>,
    stlb: SetAssociative<()>,
    page_shift: u32,
    current: u64,
}

impl InstructionTlbs {
    /// Empty TLBs of the model's geometry.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        let store =
            |tlb: &super::TlbGeometry| SetAssociative::new(tlb.entries, tlb.ways, tlb.replacement);
        Self {
            itlb: store(&model.itlb),
            stlb: store(&model.stlb),
            page_shift: model.page_bytes.trailing_zeros(),
            current: NOWHERE,
        }
    }

    /// Translates the pages of `start..=last`.
    #[inline(always)]
    pub fn fetch(&mut self, start: u64, last: u64, counters: &mut Counters) {
        let (page, end) = (start >> self.page_shift, last >> self.page_shift);
        if page != self.current || end != self.current {
            self.enter_all(page, end, counters);
        }
    }

    /// Translates the pages `page..=end`, unless it is the page translated last.
    #[inline(never)]
    fn enter_all(&mut self, page: u64, end: u64, counters: &mut Counters) {
        let first = if page == self.current { page + 1 } else { page };
        for page in first..=end {
            self.enter(page, counters);
        }
        self.current = end;
    }

    #[inline(always)]
    fn enter(&mut self, page: u64, counters: &mut Counters) {
        if !self.itlb.access(page) {
            counters.itlb_misses += 1;
            counters.stlb_misses += u64::from(!self.stlb.access(page));
        }
    }
}
