// SPDX-License-Identifier: GPL-2.0-or-later
//! Which page a small page is in.

use kernsmith_arch::{PageMap, SMALL};
use kernsmith_frontend::Key;

use super::simulated::Number;

/// log2 of the bytes in a granule where all pages are small: any would do.
const WITHOUT_LARGE: u32 = 30;

/// From small pages, numbered as [`Number`] says, to pages as TLBs know them.
pub struct PageNumbers {
    /// The bit of a small page's number that says kernel mode.
    mode: u32,
    /// Where there is no table: the kernel's small pages that are in large ones, first and last, and
    /// log2 of the small pages in such a page.
    runs: Vec<(u64, u64, u8)>,
    /// By granule, that is by the small page without its low bits: log2 of the small pages in its
    /// pages.
    table: Vec<u8>,
    /// log2 of the small pages in a granule.
    granule: u32,
}

impl PageNumbers {
    /// For small pages that are numbered by a `K` with the mode in this bit.
    pub fn new<K: Number>(pages: &PageMap, mode: u32) -> Self {
        let small = |address| K::of(address, true, SMALL, mode).get();
        let large = pages.runs().iter().filter(|run| run.shift > SMALL);
        let runs = large.map(|run| {
            let pages = (run.shift - SMALL) as u8;
            (small(run.start), small(run.last), pages)
        });
        let mut numbers = Self {
            mode,
            runs: runs.collect(),
            table: Vec::new(),
            granule: pages.granule().unwrap_or(WITHOUT_LARGE) - SMALL,
        };
        if K::BITS == u32::BITS {
            let granules = (1_usize << (mode + 1)) >> numbers.granule;
            numbers.table = vec![0; granules.max(1)];
            for (first, last, pages) in &numbers.runs {
                let [first, last] = [first, last].map(|page| (page >> numbers.granule) as usize);
                numbers.table[first..=last].fill(*pages);
            }
        }
        numbers
    }

    /// The page that a small page is in, or is.
    #[inline(always)]
    pub fn page<K: Number>(&self, small: K) -> K {
        let small = small.get();
        let pages = match self.table.get((small >> self.granule) as usize) {
            Some(pages) => *pages,
            None => self.search(small),
        };
        let (kernel, number) = (small >> self.mode, small & ((1 << self.mode) - 1));
        K::new(
            (number >> pages & ((1 << K::SIZE_AT) - 1))
                | u64::from(pages) << K::SIZE_AT
                | kernel << mode_bit::<K>(),
        )
    }

    #[cold]
    fn search(&self, small: u64) -> u8 {
        let mut runs = self.runs.iter();
        let found = runs.find(|(first, last, _)| (*first..=*last).contains(&small));
        found.map_or(0, |(_, _, pages)| *pages)
    }
}

/// The bit of a page's number that says kernel mode.
pub const fn mode_bit<K: Key>() -> u32 {
    K::BITS - 1
}
