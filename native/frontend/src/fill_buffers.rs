// SPDX-License-Identifier: GPL-2.0-or-later
//! What a cache has for lines that are on their way: when all of these wait, the next one is not asked for.
//!
//! D. Kroft, *Lockup-Free Instruction Fetch/Prefetch Cache Organization*, ISCA 1981.

/// For each of so many lines, when it arrives; the oldest one makes room. Times in ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct FillBuffers {
    arrivals: Box<[u64]>,
    next: usize,
}

impl FillBuffers {
    /// None is on its way. 0: of as many as are asked for.
    pub fn new(lines: usize) -> Self {
        Self {
            arrivals: vec![0; lines].into_boxed_slice(),
            next: 0,
        }
    }

    /// Brings a line that is asked for then, and takes so long. Returns when it arrives.
    #[inline(always)]
    pub fn bring(&mut self, asked: u64, takes: u64) -> u64 {
        let Some(oldest) = self.arrivals.get_mut(self.next) else {
            return asked + takes;
        };
        let arrives = asked.max(*oldest) + takes;
        *oldest = arrives;
        self.next += 1;
        if self.next == self.arrivals.len() {
            self.next = 0;
        }
        arrives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_waits_for_the_oldest_one_when_all_buffers_are_full() {
        let mut two = FillBuffers::new(2);
        assert_eq!(
            [0, 1, 2, 3].map(|asked| two.bring(asked, 10)),
            [10, 11, 20, 21]
        );
        assert_eq!(two.bring(50, 10), 60);
    }

    #[test]
    fn without_a_limit_none_waits() {
        let mut all = FillBuffers::new(0);
        assert_eq!(
            [0, 1, 2, 3].map(|asked| all.bring(asked, 10)),
            [10, 11, 12, 13]
        );
    }
}
