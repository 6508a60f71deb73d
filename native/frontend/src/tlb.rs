// SPDX-License-Identifier: GPL-2.0-or-later
//! The instruction TLB and the second-level TLB behind it.

use kernsmith_arch::{Page, PageMap, SMALL};

use super::{Counters, CpuModel, SetAssociative, TlbArrays, TlbEntries};

/// A page that no address is in.
pub(super) const NOWHERE: Page = Page {
    start: u64::MAX,
    last: 0,
    shift: SMALL,
};

/// Bits of a page's size in what the page is known by, above those of its number.
const SIZE_BITS: u32 = 6;

/// Both levels, looked up by virtual page number alone: see `docs/model.md` on address spaces.
#[derive(Debug, Clone)]
pub struct InstructionTlbs {
    itlb: Level,
    stlb: Level,
    pages: PageMap,
    current: Page,
}

/// One TLB, in one store or by size of the page in two.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// All pages, or small ones.
    small: SetAssociative<()>,
    large: Option<SetAssociative<()>>,
}

impl Level {
    pub(super) fn new(arrays: &TlbArrays) -> Self {
        let store = |one: TlbEntries| SetAssociative::new(one.entries, one.ways, one.replacement);
        match *arrays {
            TlbArrays::Shared(entries) => Self {
                small: store(entries),
                large: None,
            },
            TlbArrays::BySize { small, large } => Self {
                small: store(small),
                large: Some(store(large)),
            },
        }
    }

    /// Looks a page up and puts it in when it is missing. Returns whether it was there.
    #[inline(always)]
    pub(super) fn access(&mut self, page: Page) -> bool {
        // The number is in the low bits, which choose a set; pages of two sizes are never one.
        let key = page.start >> page.shift | u64::from(page.shift) << (u64::BITS - SIZE_BITS);
        match &mut self.large {
            Some(large) if page.shift > SMALL => large.access(key),
            _ => self.small.access(key),
        }
    }
}

impl InstructionTlbs {
    /// Empty TLBs of the model's geometry. All pages are small.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        Self {
            itlb: Level::new(&model.itlb.arrays),
            stlb: Level::new(&model.stlb.arrays),
            pages: PageMap::default(),
            current: NOWHERE,
        }
    }

    /// From now on, code is mapped like this.
    pub fn map(&mut self, pages: PageMap) {
        self.pages = pages;
        self.current = NOWHERE;
    }

    /// The page that was translated last; nothing is asked for while the flow stays in it.
    #[inline(always)]
    #[must_use]
    pub fn current(&self) -> Page {
        self.current
    }

    /// Translates the pages of `start..=last`.
    #[inline(always)]
    pub fn fetch(&mut self, start: u64, last: u64, counters: &mut Counters) {
        if start < self.current.start || last > self.current.last {
            self.enter_all(start, last, counters);
        }
    }

    /// Translates the pages of `start..=last`, unless it is the page translated last.
    #[inline(never)]
    fn enter_all(&mut self, start: u64, last: u64, counters: &mut Counters) {
        let mut page = self.pages.page(start);
        loop {
            if page.start != self.current.start {
                self.enter(page, counters);
            }
            self.current = page;
            if page.last >= last {
                return;
            }
            page = self.pages.page(page.last + 1);
        }
    }

    /// Looks a page of data up in the second level and puts it in when it is missing. Returns whether
    /// it was there.
    pub(super) fn second_level(&mut self, page: Page) -> bool {
        self.stlb.access(page)
    }

    #[inline(always)]
    fn enter(&mut self, page: Page, counters: &mut Counters) {
        if !self.itlb.access(page) {
            counters.itlb_misses += 1;
            counters.stlb_misses += u64::from(!self.stlb.access(page));
        }
    }
}
