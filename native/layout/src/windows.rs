// SPDX-License-Identifier: GPL-2.0-or-later
//! Parts of a trace that stand for the whole.

use std::io;
use std::ops::Range;
use std::path::Path;

use kernsmith_trace::{Escape, Event, Facts, Trace, TraceWriter};

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

/// Instructions in a window of a part.
const PART: u64 = 1 << 20;

/// Writes one of `every` windows of a trace's region as a trace of its own, without counters.
///
/// Windows have the same number of instructions, so the parts of two layouts hold the same work:
/// what one costs relative to the other is nearly what the whole does.
///
/// # Errors
///
/// The system's.
pub fn write_part(trace: &Trace, every: u64, path: &Path) -> io::Result<()> {
    let lengths: Vec<u64> = (0..trace.blocks.len())
        .map(|number| trace.instructions.sizes(number).len() as u64)
        .collect();
    let mut part = TraceWriter::create(path)?;
    let (mut begun, mut executed, mut inside) = (false, 0, false);
    for event in trace.events() {
        if event == Event::Begin {
            part.begin();
            begun = true;
        }
        let wanted = begun && (executed / PART).is_multiple_of(every);
        if wanted && !inside {
            part.cut();
        }
        inside = wanted;
        match event {
            Event::Block(number) => {
                executed += u64::from(begun) * lengths[number as usize];
                if wanted {
                    part.block(number as usize);
                }
            }
            Event::Cut if wanted => part.cut(),
            Event::Led(address) if wanted => part.led(address),
            _ => {}
        }
    }
    let facts = Facts {
        counters: Default::default(),
        ..trace.facts.clone()
    };
    let offsets: Vec<Vec<u16>> = (0..trace.blocks.len())
        .map(|number| trace.instructions.offsets(number).collect())
        .collect();
    let blocks = trace.blocks.iter().copied();
    part.finish(blocks.zip(offsets.iter().map(Vec::as_slice)), &facts)
}
