// SPDX-License-Identifier: GPL-2.0-or-later
//! In pages of which sizes code is mapped.

/// log2 of the smallest page, in which everything is mapped that a [`PageMap`] does not name.
pub const SMALL: u32 = 12;

/// log2 of the largest page that there can be.
const LARGEST: u32 = 48;

/// Addresses that are mapped in pages of one size, which lie one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first page's first address.
    pub start: u64,
    /// The last page's last address.
    pub last: u64,
    /// log2 of a page's bytes.
    pub shift: u32,
}

impl Run {
    /// Whether it consists of whole pages of a size that there can be.
    fn is_whole(self) -> bool {
        let within = (1 << self.shift.min(LARGEST)) - 1;
        (SMALL..=LARGEST).contains(&self.shift)
            && self.start < self.last
            && self.start & within == 0
            && self.last & within == within
    }
}

/// One page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Its first address.
    pub start: u64,
    /// Its last address.
    pub last: u64,
    /// log2 of its bytes.
    pub shift: u32,
}

/// The kernel's code by the sizes of the pages that it is mapped in. What is not named here has
/// pages of the smallest size: programs', above all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageMap {
    /// They rise; neighbours of one size are one.
    runs: Vec<Run>,
}

impl PageMap {
    /// A map of these runs, which rise.
    ///
    /// # Errors
    ///
    /// One sentence when they do not, overlap, or consist of no whole pages.
    pub fn new(runs: impl IntoIterator<Item = Run>) -> Result<Self, String> {
        let mut map = Self::default();
        for run in runs {
            let behind = map.runs.last().is_none_or(|before| before.last < run.start);
            if !behind || !run.is_whole() {
                return Err(format!(
                    "{:#x} to {:#x} in pages of 2^{} bytes cannot be in a map",
                    run.start, run.last, run.shift
                ));
            }
            map.push(run);
        }
        Ok(map)
    }

    /// Puts a run behind all others.
    fn push(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(before) if before.last + 1 == run.start && before.shift == run.shift => {
                before.last = run.last;
            }
            _ => self.runs.push(run),
        }
    }

    /// All runs, which rise.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The run that an address is in.
    #[must_use]
    pub fn run(&self, address: u64) -> Option<&Run> {
        let place = self.runs.partition_point(|run| run.last < address);
        self.runs.get(place).filter(|run| run.start <= address)
    }

    /// The page that an address is in.
    #[must_use]
    pub fn page(&self, address: u64) -> Page {
        let shift = self.run(address).map_or(SMALL, |run| run.shift);
        let within = (1 << shift) - 1;
        Page {
            start: address & !within,
            last: address | within,
            shift,
        }
    }

    /// log2 of the smallest page that is larger than [`SMALL`], if there is one: no such page is
    /// in two of the pieces that this cuts the address space into, and no piece has pages of two
    /// sizes in it.
    #[must_use]
    pub fn granule(&self) -> Option<u32> {
        let shifts = self.runs.iter().map(|run| run.shift);
        shifts.filter(|shift| *shift > SMALL).min()
    }

    /// The same with the runs of `new` in place of those of `old`; `None` when the runs of `old`
    /// are not in this map as they are, or those of `new` have no room in what is left.
    #[must_use]
    pub fn replaced(&self, old: &Self, new: &Self) -> Option<Self> {
        let mut left = Vec::new();
        let mut taken = old.runs.iter().peekable();
        for run in &self.runs {
            let mut start = run.start;
            while let Some(gone) = taken.next_if(|gone| gone.start <= run.last) {
                if gone.start < start || gone.last > run.last || gone.shift != run.shift {
                    return None;
                }
                if gone.start > start {
                    let last = gone.start - 1;
                    left.push(Run {
                        start,
                        last,
                        ..*run
                    });
                }
                start = gone.last.wrapping_add(1);
            }
            if start.wrapping_sub(1) != run.last {
                left.push(Run { start, ..*run });
            }
        }
        if taken.next().is_some() {
            return None;
        }
        left.extend(&new.runs);
        left.sort_by_key(|run| run.start);
        Self::new(left).ok()
    }
}
