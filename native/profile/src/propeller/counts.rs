// SPDX-License-Identifier: GPL-2.0-or-later
//! How often straight runs of code were executed, and branches taken.

/// Largest count that is kept; sums of a kernel's counts stay below 2⁶³.
const LARGEST: u64 = 1 << 40;

/// Two addresses and how often they were seen together.
pub type Counted = (u64, u64, u64);

/// Exact or sampled counts of one kernel.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// First byte of a run, address of its last instruction, executions.
    pub ranges: Vec<Counted>,
    /// Address of a branch, its target, how often it was taken.
    pub branches: Vec<Counted>,
}

/// Says how often the instruction at an address was executed.
pub struct Executions {
    begun: Sums,
    ended: Sums,
}

impl Executions {
    /// Of some runs: each execution of an instruction is in one of them, so runs may touch but
    /// are not counted twice.
    #[must_use]
    pub fn new(ranges: &[Counted]) -> Self {
        let kept = || ranges.iter().filter(|range| range.0 <= range.1);
        Self {
            begun: Sums::new(kept().map(|range| (range.0, range.2)).collect()),
            ended: Sums::new(kept().map(|range| (range.1, range.2)).collect()),
        }
    }

    /// Of the instruction that begins at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> u64 {
        let before = address.checked_sub(1).map(|last| self.ended.up_to(last));
        self.begun.up_to(address) - before.unwrap_or(0)
    }
}

/// Sums of what stands at addresses.
struct Sums(Vec<(u64, u64)>);

impl Sums {
    fn new(mut counts: Vec<(u64, u64)>) -> Self {
        counts.sort_unstable();
        let mut sum = 0;
        for (_, count) in &mut counts {
            sum += bounded(*count);
            *count = sum;
        }
        Self(counts)
    }

    /// Of all up to an address, this one included.
    fn up_to(&self, address: u64) -> u64 {
        let at = self.0.partition_point(|(place, _)| *place <= address);
        at.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

/// A count that can be summed.
#[must_use]
pub fn bounded(count: u64) -> u64 {
    count.min(LARGEST)
}
