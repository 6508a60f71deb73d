// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of a trace that stand for the whole.

use std::ops::Range;

use kernsmith_trace::Escape;

/// Words in a window of a sample. The first eighth only brings the state up to date.
pub const WINDOW: usize = 256 * 1024;

/// Where a trace may be cut into windows, and in which window the region begins.
#[derive(Debug)]
pub struct Windows {
    bounds: Vec<usize>,
    begin: usize,
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
            if at >= bounds.len() * WINDOW {
                bounds.push(at);
            }
        }
        bounds.push(at);
        Self { bounds, begin }
    }

    /// One of `every` windows.
    #[must_use]
    pub fn sample(&self, every: usize) -> Vec<Range<usize>> {
        let windows = self.bounds.windows(2).map(|pair| pair[0]..pair[1]);
        if every <= 1 {
            let end = self.bounds.last().copied().unwrap_or(0);
            return std::iter::once(0..end).collect();
        }
        windows
            .enumerate()
            // The window in which the region begins is always there.
            .filter(|(number, window)| number % every == every - 1 || window.contains(&self.begin))
            .map(|(_, window)| window)
            .collect()
    }
}
