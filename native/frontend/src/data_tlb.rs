// SPDX-License-Identifier: GPL-2.0-or-later
//! The data TLB, in front of the second level that code and data share.

use kernsmith_arch::{Page, PageMap};

use super::tlb::{Level, NOWHERE};
use super::{DataCounters, InstructionTlbs, TlbArrays};

/// Looked up by virtual page number alone: see `docs/model.md` on address spaces.
#[derive(Debug, Clone)]
pub struct DataTlb {
    dtlb: Level,
    pages: PageMap,
    current: Page,
}

/// What a translation had to wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walked {
    /// Pages that the data TLB did not have.
    pub misses: u64,
    /// Of these, not in the second level either.
    pub walks: u64,
}

impl DataTlb {
    /// Empty. All pages are small.
    #[must_use]
    pub fn new(arrays: &TlbArrays) -> Self {
        Self {
            dtlb: Level::new(arrays),
            pages: PageMap::default(),
            current: NOWHERE,
        }
    }

    /// From now on, data are mapped like this.
    pub fn map(&mut self, pages: PageMap) {
        self.pages = pages;
        self.current = NOWHERE;
    }

    /// Translates the pages of `first..=last`. second: has the second level.
    #[inline(always)]
    pub fn translate(
        &mut self,
        first: u64,
        last: u64,
        second: &mut InstructionTlbs,
        counters: &mut DataCounters,
    ) -> Walked {
        if first >= self.current.start && last <= self.current.last {
            return Walked::default();
        }
        let walked = self.enter(first, last, second);
        counters.dtlb_misses += walked.misses;
        walked
    }

    #[inline(never)]
    fn enter(&mut self, first: u64, last: u64, second: &mut InstructionTlbs) -> Walked {
        let mut walked = Walked::default();
        let mut address = first;
        loop {
            let page = self.pages.page(address);
            self.current = page;
            if !self.dtlb.access(page) {
                walked.misses += 1;
                walked.walks += u64::from(!second.second_level(page));
            }
            if page.last >= last {
                return walked;
            }
            address = page.last + 1;
        }
    }
}
