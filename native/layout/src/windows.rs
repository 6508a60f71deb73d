// SPDX-License-Identifier: GPL-2.0-or-later
//! Windows of a trace that stand for the whole.

use std::ops::Range;

use kernsmith_trace::{ESCAPE, Escape, Trace, Words};

/// Words in a window of a sample, where the trace is long enough.
const WINDOW: usize = 256 * 1024;

/// And where it is so long that a sample has [`MANY`] of these: what was in the caches before a window
/// decides less of it then.
const LONGEST: usize = 8 * WINDOW;
const MANY: usize = 64;

/// Words in the shortest window: below, what the window before has left behind decides.
const SHORTEST: usize = WINDOW / 8;

/// A sample has so many windows at least, besides the one in which the region begins.
const FEWEST: usize = 4;

/// Windows that are taken in turn may have one part in so many more or fewer of the kernel's blocks
/// than all have on average.
const UNEVEN: u64 = 5;

/// Where a trace may be cut into windows, and where its region begins.
#[derive(Debug)]
pub struct Windows {
    bounds: Vec<usize>,
    begin: usize,
    /// Between each two bounds: how many of the words are blocks of the kernel.
    kernel: Vec<u64>,
}

/// What is replayed of a trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Sample {
    /// Of the trace's words.
    pub ranges: Vec<Range<usize>>,
    /// So many words of each range only bring the state up to date; 0 when all is replayed.
    pub warm: usize,
}

impl Sample {
    /// All of a trace.
    #[must_use]
    pub fn whole(trace: &Trace) -> Self {
        Self::one(trace.words.len())
    }

    fn one(words: usize) -> Self {
        Self {
            ranges: std::iter::once(0..words).collect(),
            warm: 0,
        }
    }
}

impl Windows {
    /// None begins or ends inside an escape: an address's halves may look like anything, so
    /// bounds are found from the front. is_kernel: whether the block of a word is the kernel's.
    #[must_use]
    pub fn new(words: &Words, is_kernel: impl Fn(u32) -> bool) -> Self {
        let (mut bounds, mut kernel) = (vec![0], vec![0]);
        let (mut at, mut begin) = (0, 0);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == Escape::Begin as u32 {
                begin = at;
            }
            if word == Escape::Led as u32 {
                words.nth(Escape::LED_WORDS - 1);
            }
            if let Some(count) = kernel.last_mut() {
                *count += u64::from(word < ESCAPE && is_kernel(word));
            }
            at = words.place();
            if at >= bounds.len() * SHORTEST {
                bounds.push(at);
                kernel.push(0);
            }
        }
        if bounds.last() != Some(&at) {
            bounds.push(at);
        }
        kernel.truncate(bounds.len() - 1);
        Self {
            bounds,
            begin,
            kernel,
        }
    }

    /// One of `every` windows, and that in which the region begins. Of a short trace windows are
    /// shorter, and of a very short one more of them are taken: never less than [`FEWEST`].
    ///
    /// They are taken in turn. Where a program comes to the kernel in bursts whose period is a
    /// multiple of the turn, hardly any of it may be in them: then they are taken from all windows
    /// in the order of how much of the kernel is in each.
    #[must_use]
    pub fn sample(&self, every: usize) -> Sample {
        let end = self.bounds.last().copied().unwrap_or(0);
        let cuts = self.bounds.len() - 1;
        let every = every.min(cuts / FEWEST);
        if every <= 1 {
            return Sample::one(end);
        }
        let of_window = (cuts / (FEWEST * every)).clamp(1, WINDOW / SHORTEST);
        let of_window = of_window.max((cuts / (MANY * every)).min(LONGEST / SHORTEST));
        let starts: Vec<usize> = self.bounds[..cuts]
            .iter()
            .copied()
            .step_by(of_window)
            .collect();
        let ends = starts[1..].iter().copied().chain([end]);
        let kernel: Vec<u64> = self
            .kernel
            .chunks(of_window)
            .map(|cuts| cuts.iter().sum())
            .collect();
        let taken = taken(&kernel, every);
        let ranges = starts.iter().copied().zip(ends).enumerate();
        let ranges = ranges
            .map(|(number, (start, end))| (number, start..end))
            .filter(|(number, window)| taken[*number] || window.contains(&self.begin))
            .map(|(_, window)| window);
        Sample {
            ranges: ranges.collect(),
            warm: of_window * SHORTEST / 8,
        }
    }
}

/// Which windows are taken. kernel: how much of the kernel is in each.
fn taken(kernel: &[u64], every: usize) -> Vec<bool> {
    let in_turn: Vec<u64> = kernel
        .iter()
        .copied()
        .skip(every - 1)
        .step_by(every)
        .collect();
    // Both as if all windows were like these, and times how many these are.
    let part = in_turn.iter().sum::<u64>() * kernel.len() as u64;
    let all = kernel.iter().sum::<u64>() * in_turn.len() as u64;
    let mut order: Vec<usize> = (0..kernel.len()).collect();
    let mut first = every - 1;
    if part.abs_diff(all) > all / UNEVEN {
        order.sort_by_key(|number| std::cmp::Reverse(kernel[*number]));
        first = every / 2;
    }
    let mut taken = vec![false; kernel.len()];
    for number in order.into_iter().skip(first).step_by(every) {
        taken[number] = true;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a trace of so many of the shortest windows: words in a window that is replayed, and in all.
    fn replayed(cuts: usize, every: usize) -> (usize, usize) {
        let windows = Windows {
            bounds: (0..=cuts).map(|cut| cut * SHORTEST).collect(),
            begin: 0,
            kernel: vec![1; cuts],
        };
        let sample = windows.sample(every);
        let lengths = sample.ranges.iter().map(Range::len);
        (sample.ranges[1].len(), lengths.sum())
    }

    #[test]
    fn windows_are_as_long_as_the_trace_allows() {
        let window = |cuts| replayed(cuts, 16).0;
        assert_eq!(window(64), SHORTEST);
        assert_eq!(window(640), WINDOW);
        assert_eq!(window(8 * 16 * MANY), WINDOW);
        assert_eq!(window(16 * 16 * MANY), 2 * WINDOW);
        assert_eq!(window(1_000_000), LONGEST);
    }

    #[test]
    fn they_are_the_part_of_it_that_is_asked_for() {
        for cuts in [5_000, 70_000] {
            let part = cuts * SHORTEST / replayed(cuts, 16).1;
            assert!((14..=16).contains(&part), "{part}");
        }
    }

    #[test]
    fn bursts_in_the_kernel_are_in_them_whatever_their_period() {
        for (period, length) in [(64, 3), (65, 3), (8, 1), (100, 1), (500, 40)] {
            let count = |window: usize| if window % period < length { 1000 } else { 10 };
            let kernel: Vec<u64> = (0..4000).map(count).collect();
            let taken = taken(&kernel, 8);
            let windows = taken.iter().filter(|taken| **taken).count();
            assert_eq!(windows, 500);
            let part = kernel.iter().zip(&taken).filter(|(_, taken)| **taken);
            let part: u64 = part.map(|(count, _)| count).sum();
            let share = part as f64 / kernel.iter().sum::<u64>() as f64 * 8.0;
            assert!((0.8..=1.2).contains(&share), "{period}, {length}: {share}");
        }
    }

    #[test]
    fn what_the_kernel_has_of_each_is_counted() {
        let mut words = vec![1; 3 * SHORTEST];
        words[SHORTEST..SHORTEST + 7].fill(0);
        words[5..9].copy_from_slice(&[Escape::Led as u32, 0, 0, 0]);
        let windows = Windows::new(&words.into(), |word| word == 0);
        assert_eq!(windows.kernel, [0, 7, 0]);
    }
}
