// SPDX-License-Identifier: GPL-2.0-or-later
//! How often the code that a trace executes must be fetched anew, whatever the layout.
//!
//! A cache that does without conflicts keeps a line until as many others as it has room for were
//! fetched. So a trace is cut into epochs, in each of which as many different lines are fetched
//! as the level has entries; what is executed in an epoch is fetched once in it. The same holds
//! for TLBs and pages.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_frontend::CpuModel;
use kernsmith_trace::{Block, Event};

use super::Text;
use super::replay::{FIXED, Replay};

/// A block of a section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fetched {
    pub start: u32,
    pub end: u32,
    /// What fetching it costs, by line and by page.
    pub costs: [f32; 2],
}

/// By section: the kernel's blocks that a trace executes there.
pub fn by_section(replay: &Replay, text: &Text, model: &CpuModel) -> HashMap<u32, Vec<Fetched>> {
    let layout = [text.place(&[])];
    let [_, kernel] = replay.cost(text, &layout, model, 1)[0];
    let cycles = kernel.cycles(model).max(1.0);
    let (line, page) = (model.line_bytes as u64, model.page_bytes as u64);
    let levels = [
        (
            line,
            model.l1i.bytes / model.line_bytes,
            model.l1i.miss_cycles,
        ),
        (
            line,
            model.l2.bytes / model.line_bytes,
            model.l2.miss_cycles,
        ),
        (page, model.itlb.entries, model.itlb.miss_cycles),
        (page, model.stlb.entries, model.stlb.miss_cycles),
    ];
    let times = levels.map(|(bytes, entries, miss)| {
        let cost = move |times: u32| f64::from(times) * miss / cycles;
        epochs(replay, bytes, entries)
            .into_iter()
            .map(cost)
            .collect::<Vec<f64>>()
    });
    let mut found = HashMap::<u32, Vec<Fetched>>::new();
    for (number, block) in replay.trace().blocks.iter().enumerate() {
        let section = replay.section(number as u32);
        let costs = [0, 2].map(|level| (times[level][number] + times[level + 1][number]) as f32);
        if section != FIXED && block.kernel && costs.iter().any(|cost| *cost > 0.0) {
            let place = text.sections()[section as usize];
            let start = (block.start - place.start) as u32;
            found.entry(section).or_default().push(Fetched {
                start,
                end: start + u32::from(block.bytes),
                costs,
            });
        }
    }
    found
}

/// By block: in how many epochs of the region it is executed. In each epoch, `entries` different
/// stretches of `bytes` are.
fn epochs(replay: &Replay, bytes: u64, entries: usize) -> Vec<u32> {
    let trace = replay.trace();
    let stretches = |block: &Block| {
        let last = block.start + u64::from(block.bytes) - 1;
        block.start / bytes..=last / bytes
    };
    let mut numbers: Vec<u64> = trace.blocks.iter().flat_map(stretches).collect();
    numbers.sort_unstable();
    numbers.dedup();
    // Stretches that follow each other have numbers that do.
    let places: Vec<Range<usize>> = trace
        .blocks
        .iter()
        .map(|block| {
            let all = stretches(block);
            let first = numbers.partition_point(|number| number < all.start());
            first..first + (all.end() - all.start()) as usize + 1
        })
        .collect();
    let mut times = vec![0; trace.blocks.len()];
    let mut latest = vec![0_u32; trace.blocks.len()];
    let mut seen = vec![0_u32; numbers.len()];
    let (mut epoch, mut different) = (1, 0);
    for step in trace.events() {
        match step {
            Event::Block(block) if latest[block as usize] != epoch => {
                let block = block as usize;
                latest[block] = epoch;
                times[block] += 1;
                for stretch in &mut seen[places[block].clone()] {
                    different += usize::from(*stretch != epoch);
                    *stretch = epoch;
                }
                if different >= entries {
                    epoch += 1;
                    different = 0;
                }
            }
            Event::Begin => times.fill(0),
            _ => {}
        }
    }
    times
}
