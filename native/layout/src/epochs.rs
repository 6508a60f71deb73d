// SPDX-License-Identifier: GPL-2.0-or-later
//! How often the code that a trace executes must be fetched anew, whatever the layout.
//!
//! A cache that does without conflicts keeps a line until as many others as it has room for were
//! fetched. So a trace is cut into epochs, in each of which as many different lines are fetched
//! as the level has entries; what is executed in an epoch is fetched once in it. The same holds
//! for TLBs and pages: where large pages have entries of their own, only small pages make up the
//! epochs of the others, and what lies in a large page is told how often it would be fetched anew
//! if it lay in a small one, and the other way round.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_arch::{PageMap, SMALL};
use kernsmith_frontend::{CpuModel, TlbArrays, TlbGeometry};
use kernsmith_trace::{Block, Event};

use super::Text;
use super::replay::{FIXED, Replay};

/// What is fetched: lines, small pages and large pages.
pub const UNITS: usize = 3;

/// A block of a section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fetched {
    pub start: u32,
    pub end: u32,
    /// What fetching it costs, by line, by small and by large page.
    pub costs: [f32; UNITS],
}

/// By section: the kernel's blocks that a trace executes there.
pub fn by_section(replay: &Replay, text: &Text, model: &CpuModel) -> HashMap<u32, Vec<Fetched>> {
    let layout = [text.place(&[])];
    let [_, kernel] = replay.cost(text, &layout, model, 1)[0];
    let cycles = kernel.cycles(model).max(1.0);
    let bytes = model.line_bytes as u64;
    let lines = |block: &Block| (block.start / bytes..=last_of(block) / bytes).collect();
    let caches = [&model.l1i, &model.l2].map(|cache| {
        let times = epochs(replay, &lines, cache.bytes / model.line_bytes);
        (times, cache.miss_cycles)
    });
    let pages = replay.pages_in(text, &layout[0]);
    let tlbs = [0, 1].map(|size| {
        [&model.itlb, &model.stlb].map(|tlb| {
            let times = of_tlb(replay, &pages, tlb, size);
            (times, tlb.miss_cycles)
        })
    });
    let [small, large] = tlbs;
    let units = [caches, small, large];
    let mut found = HashMap::<u32, Vec<Fetched>>::new();
    for (number, block) in replay.trace().blocks.iter().enumerate() {
        let section = replay.section(number as u32);
        let cost = |(times, miss): &(Vec<u32>, f64)| f64::from(times[number]) * miss / cycles;
        let costs = units
            .each_ref()
            .map(|levels| levels.iter().map(cost).sum::<f64>() as f32);
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

fn last_of(block: &Block) -> u64 {
    block.start + u64::from(block.bytes) - 1
}

/// By block: how often it is fetched anew when it lies in a small page (`size` 0) or in a large one.
fn of_tlb(replay: &Replay, pages: &PageMap, tlb: &TlbGeometry, size: usize) -> Vec<u32> {
    let competes = |shift| match tlb.arrays {
        TlbArrays::Shared(_) => true,
        TlbArrays::BySize { .. } => usize::from(shift > SMALL) == size,
    };
    let starts = |block: &Block| {
        let mut starts = Vec::new();
        let mut address = block.start;
        while address <= last_of(block) {
            let page = pages.page(address);
            starts.extend(competes(page.shift).then_some(page.start));
            address = page.last + 1;
        }
        starts
    };
    epochs(replay, &starts, tlb.arrays.by_size()[size].entries)
}

/// By block: in how many epochs of the region it is executed. In each epoch, `entries` different
/// stretches of code are; `stretches`: those that a block is in.
fn epochs(replay: &Replay, stretches: &dyn Fn(&Block) -> Vec<u64>, entries: usize) -> Vec<u32> {
    let trace = replay.trace();
    let mut numbers = HashMap::new();
    let mut all = Vec::new();
    // By block: where its stretches are in `all`.
    let places: Vec<Range<usize>> = trace
        .blocks
        .iter()
        .map(|block| {
            let first = all.len();
            for stretch in stretches(block) {
                let next = numbers.len();
                all.push(*numbers.entry(stretch).or_insert(next));
            }
            first..all.len()
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
                for stretch in &all[places[block].clone()] {
                    different += usize::from(seen[*stretch] != epoch);
                    seen[*stretch] = epoch;
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
