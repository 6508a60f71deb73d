// SPDX-License-Identifier: GPL-2.0-or-later
//! Adds up what fetching costs, line by line or page by page, by workload.

use kernsmith_arch::{Page, PageMap};

/// Costs of this many workloads lie together.
pub const LANES: usize = 16;

/// One cost a workload.
pub type Lanes = [f32; LANES];

/// Lines or pages that are fetched, in the order of their addresses.
#[derive(Default)]
pub struct Gathered {
    /// The addresses of the current one, first and last.
    current: (u64, u64),
    /// Of the current one, by workload: the dearest of what lies in it.
    dearest: Lanes,
    whole: Lanes,
}

impl Gathered {
    /// Code from `first` to `last`, in lines of `1 << shift` bytes.
    #[inline(always)]
    pub fn fetch_lines(&mut self, shift: u32, first: u64, last: u64, costs: &Lanes) {
        let line = |address: u64| (address >> shift << shift, address | ((1 << shift) - 1));
        if first > self.current.1 {
            self.leave(line(first));
        }
        self.raise(costs);
        if last > self.current.1 {
            let between = (line(last).0 - self.current.1 - 1) >> shift;
            for (sum, cost) in self.whole.iter_mut().zip(costs) {
                *sum += between as f32 * cost;
            }
            self.leave(line(last));
            self.raise(costs);
        }
    }

    /// Code from `first` to `last`, which costs this in a small page and that in a large one.
    #[inline(always)]
    pub fn fetch_pages(
        &mut self,
        pages: &PageMap,
        first: u64,
        last: u64,
        small: &Lanes,
        large: &Lanes,
    ) {
        if first > self.current.1 {
            self.leave_for(pages.page(first));
        }
        loop {
            self.raise(if self.is_small() { small } else { large });
            if last <= self.current.1 {
                return;
            }
            self.leave_for(pages.page(self.current.1 + 1));
        }
    }

    fn is_small(&self) -> bool {
        self.current.1 - self.current.0 < 1 << kernsmith_arch::SMALL
    }

    #[inline(always)]
    fn raise(&mut self, costs: &Lanes) {
        for (most, cost) in self.dearest.iter_mut().zip(costs) {
            *most = if *cost > *most { *cost } else { *most };
        }
    }

    fn leave_for(&mut self, page: Page) {
        self.leave((page.start, page.last));
    }

    #[inline(always)]
    fn leave(&mut self, next: (u64, u64)) {
        for (sum, most) in self.whole.iter_mut().zip(&mut self.dearest) {
            *sum += *most;
            *most = 0.0;
        }
        self.current = next;
    }

    /// Of all workloads together.
    pub fn sum(mut self) -> f64 {
        self.leave((0, 0));
        self.whole.iter().map(|sum| f64::from(*sum)).sum()
    }
}
