// SPDX-License-Identifier: GPL-2.0-or-later
//! What parts of the code cost is together what all of it costs.

mod invented;

use invented::random::Random;
use invented::{MODELS, text, trace};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{AsTraced, Sample, timed, timed_by_part};
use kernsmith_trace::Trace;

fn sum(parts: &[Counters]) -> Counters {
    parts.iter().fold(Counters::default(), |a, b| a + *b)
}

/// Instructions of the blocks that were entered in the region.
fn instructions(trace: &Trace) -> u64 {
    use kernsmith_trace::Event;
    let mut count = 0;
    for event in trace.events() {
        match event {
            Event::Begin => count = 0,
            Event::Block(number) => count += trace.instructions.sizes(number as usize).len(),
            Event::Cut | Event::Led(..) => {}
        }
    }
    count as u64
}

#[test]
fn parts_are_together_the_whole() {
    let mut random = Random::new(7);
    for toml in MODELS {
        let model = CpuModel::parse(toml).expect("a model");
        let text = text(&mut random, 40);
        let trace = trace(&mut random, &text, 20_000, &[0x40_0000]);
        // User mode, and each kernel block by the section that it is in.
        let slot = |number: usize| {
            let block = trace.blocks[number];
            let section = text
                .section_of(block.start)
                .map_or(1, |section| section + 2);
            if block.kernel { section } else { 0 }
        };
        let slots: Vec<usize> = (0..trace.blocks.len()).map(slot).collect();
        let placed = AsTraced(&trace.blocks);
        let pages = || trace.facts.pages.clone();
        let parts = timed_by_part(&trace, &placed, pages(), &model, &slots, &mut ());
        let whole = timed(&trace, &placed, pages(), &model, &Sample::whole(&trace));
        assert_eq!(parts[0], whole[0]);
        assert_eq!(sum(&parts[1..]), whole[1]);
        assert_eq!(sum(&parts).instructions, instructions(&trace));
        assert!(
            parts[1..]
                .iter()
                .filter(|part| part.l1i_accesses > 0)
                .count()
                > 10
        );
    }
}
