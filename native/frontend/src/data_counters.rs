// SPDX-License-Identifier: GPL-2.0-or-later
//! What loads and stores are counted as.

/// Figures of one mode (kernel or user) over one region. An access that lies in two lines is two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DataCounters {
    /// Lines that loads and stores asked L1d for.
    pub l1d_accesses: u64,
    /// Of these, not in L1d, and not on their way to it.
    pub l1d_misses: u64,
    /// Of these, not in L2 either.
    pub l2_misses: u64,
    /// Of these, not in L3 either.
    pub l3_misses: u64,
    /// Pages of loads and stores that were not in the data TLB.
    pub dtlb_misses: u64,
}

impl std::ops::Add for DataCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            l1d_accesses: self.l1d_accesses + other.l1d_accesses,
            l1d_misses: self.l1d_misses + other.l1d_misses,
            l2_misses: self.l2_misses + other.l2_misses,
            l3_misses: self.l3_misses + other.l3_misses,
            dtlb_misses: self.dtlb_misses + other.dtlb_misses,
        }
    }
}
