// SPDX-License-Identifier: GPL-2.0-or-later
//! Windows of a trace that stand for the whole.

use std::ops::Range;

use kernsmith_trace::{Escape, Trace};

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

/// Where a trace may be cut into windows, and where its region begins.
#[derive(Debug)]
pub struct Windows {
    bounds: Vec<usize>,
    begin: usize,
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
    /// bounds are found from the front.
    #[must_use]
    pub fn new(words: &[u32]) -> Self {
        let mut bounds = vec![0];
        let (mut at, mut begin) = (0, 0);
        while at < words.len() {
            let word = words[at];
            if word == Escape::Begin as u32 {
                begin = at;
            }
            at += if word == Escape::Led as u32 { 3 } else { 1 };
            if at >= bounds.len() * SHORTEST {
                bounds.push(at);
            }
        }
        if bounds.last() != Some(&at) {
            bounds.push(at);
        }
        Self { bounds, begin }
    }

    /// One of `every` windows, and that in which the region begins. Of a short trace windows are
    /// shorter, and of a very short one more of them are taken: never less than [`FEWEST`].
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
        let ranges = starts.iter().copied().zip(ends).enumerate();
        let ranges = ranges
            .map(|(number, (start, end))| (number, start..end))
            .filter(|(number, window)| number % every == every - 1 || window.contains(&self.begin))
            .map(|(_, window)| window);
        Sample {
            ranges: ranges.collect(),
            warm: of_window * SHORTEST / 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a trace of so many of the shortest windows: words in a window that is replayed, and in all.
    fn replayed(cuts: usize, every: usize) -> (usize, usize) {
        let windows = Windows {
            bounds: (0..=cuts).map(|cut| cut * SHORTEST).collect(),
            begin: 0,
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
}
