// SPDX-License-Identifier: GPL-2.0-or-later
//! A part of a trace as a trace of its own.

use std::io;
use std::path::Path;

use kernsmith_trace::{Event, Facts, Trace, TraceWriter};

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
            Event::Led(address, name) if wanted => part.led(address, name),
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
    let blocks = trace.blocks.iter().zip(&offsets).enumerate();
    let whole = blocks
        .map(|(number, (block, offsets))| (*block, &offsets[..], trace.instructions.code(number)));
    part.finish(whole, &facts)
}
