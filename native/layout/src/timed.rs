// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace through a decoupled front end: block after block, since its clocks need them in order.

use std::ops::Range;

use kernsmith_arch::{Operation, PageMap};
use kernsmith_frontend::{Branch, BranchNames, Counters, CpuModel, FrontEnd};
use kernsmith_trace::{Block, Escape, Event, Kind, Trace, Words};

use super::watch::Watch;
use super::windows::Sample;

/// Where blocks and addresses of a trace are in a layout.
pub trait Placement {
    /// Where the block of this number begins.
    fn block(&self, number: u32) -> u64;

    /// Where what was at this address is.
    fn address(&self, traced: u64) -> u64;
}

/// As it was traced.
#[derive(Debug)]
pub struct AsTraced<'a>(pub &'a [Block]);

impl Placement for AsTraced<'_> {
    fn block(&self, number: u32) -> u64 {
        self.0[number as usize].start
    }

    fn address(&self, traced: u64) -> u64 {
        traced
    }
}

/// What user mode and kernel mode cost: see [`kernsmith_frontend::Counters`]. Instructions are all of
/// each block that was entered; repetitions are not counted.
///
/// A window of a sample begins with an interruption.
#[must_use]
pub fn timed(
    trace: &Trace,
    placement: &impl Placement,
    pages: PageMap,
    model: &CpuModel,
    sample: &Sample,
) -> [Counters; 2] {
    let modes = modes(trace);
    let counted = in_slots(trace, placement, pages, model, sample, &modes, &mut ());
    of_modes(&counted)
}

/// What a block's instructions wait for; of an architecture that nobody knows, nothing.
pub(super) fn operations(trace: &Trace, block: usize) -> Vec<Operation> {
    let Ok(architecture) = kernsmith_arch::find(&trace.facts.architecture) else {
        return Vec::new();
    };
    let each = trace.instructions.each(block);
    each.map(|code| architecture.operation(code)).collect()
}

/// Slots for user mode and kernel mode.
pub(super) fn modes(trace: &Trace) -> Vec<usize> {
    let mode = |block: &Block| usize::from(block.kernel);
    trace.blocks.iter().map(mode).collect()
}

/// Of what was counted in these.
pub(super) fn of_modes(counted: &[Counters]) -> [Counters; 2] {
    [0, 1].map(|mode| counted.get(mode).copied().unwrap_or_default())
}

/// The same with counters for each of several parts of the code.
///
/// slots: of each block the number of its part. watch: is told what happens.
#[must_use]
pub fn timed_by_part(
    trace: &Trace,
    placement: &impl Placement,
    pages: PageMap,
    model: &CpuModel,
    slots: &[usize],
    watch: &mut impl Watch,
) -> Vec<Counters> {
    let all = Sample::whole(trace);
    in_slots(trace, placement, pages, model, &all, slots, watch)
}

/// Costs by slot; slots: of each block the number of its own.
fn in_slots(
    trace: &Trace,
    placement: &impl Placement,
    pages: PageMap,
    model: &CpuModel,
    sample: &Sample,
    slots: &[usize],
    watch: &mut impl Watch,
) -> Vec<Counters> {
    let mut front_end = FrontEnd::new(model);
    front_end.map(pages);
    let mut run = Run::new(trace, placement, slots, front_end, watch);
    let warm = sample.warm;
    for range in &sample.ranges {
        if warm > 0 {
            run.step(Event::Cut);
        }
        let middle = behind(&trace.words, range, warm);
        let counted = (warm > 0).then(|| run.counters.clone());
        let begun = run.all(range.start..middle);
        if let Some(counted) = counted.filter(|_| !begun) {
            run.counters = counted;
        }
        run.all(middle..range.end);
    }
    run.counters
}

/// Where the event ends that reaches so many words into a range: not inside of an escape.
pub(super) fn behind(words: &Words, range: &Range<usize>, least: usize) -> usize {
    let end = (range.start + least).min(range.end);
    let mut words = words.cursor(range.start);
    while words.place() < end {
        if words.next() == Some(Escape::Led as u32) {
            words.nth(Escape::LED_WORDS - 1);
        }
    }
    words.place()
}

/// All that a step needs to know of a block, in one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    /// Where it begins, in the trace and in this layout.
    traced: u64,
    start: u64,
    /// As it was traced.
    target: u64,
    bytes: u16,
    last_offset: u16,
    instructions: u16,
    kind: Kind,
    name: u32,
    /// Whose counters are its own.
    slot: u32,
}

fn placed(trace: &Trace, placement: &impl Placement, slots: &[usize]) -> Vec<Placed> {
    let place = |((number, block), slot): ((u32, &Block), &usize)| Placed {
        traced: block.start,
        start: placement.block(number),
        target: block.target,
        bytes: block.bytes,
        last_offset: block.last_offset,
        instructions: trace.instructions.sizes(number as usize).len() as u16,
        kind: block.kind,
        name: block.name,
        slot: *slot as u32,
    };
    let numbered = (0..).zip(&trace.blocks);
    numbered.zip(slots).map(place).collect()
}

pub(super) struct Run<'a, P, W> {
    trace: &'a Trace,
    placement: &'a P,
    /// By number.
    blocks: Vec<Placed>,
    pub front_end: FrontEnd,
    /// By slot.
    counters: Vec<Counters>,
    /// The block whose last instruction led here; none after an interruption.
    pub before: Option<Placed>,
    watch: &'a mut W,
}

impl<'a, P: Placement, W: Watch> Run<'a, P, W> {
    /// At the beginning. slots: of each block the number of its counters.
    pub fn new(
        trace: &'a Trace,
        placement: &'a P,
        slots: &[usize],
        front_end: FrontEnd,
        watch: &'a mut W,
    ) -> Self {
        let count = slots.iter().max().map_or(0, |most| most + 1);
        let mut run = Self {
            trace,
            placement,
            blocks: placed(trace, placement, slots),
            front_end,
            counters: vec![Counters::default(); count],
            before: None,
            watch,
        };
        run.describe();
        run.watch.start(&mut run.front_end);
        run
    }

    /// Tells the front end of all blocks.
    fn describe(&mut self) {
        for (number, block) in self.blocks.iter().enumerate() {
            let sizes = self.trace.instructions.sizes(number).iter().copied();
            let conditional = block.kind == Kind::Conditional;
            let operations = || operations(self.trace, number);
            self.front_end
                .describe(number, block.start, sizes, conditional, operations);
        }
    }

    /// Costs by slot, of what was gone through since the region began.
    pub fn counters(&self) -> &[Counters] {
        &self.counters
    }

    /// Goes through a range of the trace's words. Returns whether the region has begun in it.
    pub fn all(&mut self, range: Range<usize>) -> bool {
        let mut begun = false;
        for event in self.trace.events_in(range) {
            begun |= event == Event::Begin;
            self.step(event);
        }
        begun
    }

    #[inline(always)]
    fn step(&mut self, event: Event) {
        match event {
            Event::Block(number) => self.enter(number),
            Event::Cut => {
                self.before = None;
                self.front_end.interrupt();
                self.watch.interrupted(None);
            }
            Event::Led(address, name) => {
                if let Some(before) = self.before.take() {
                    self.resolve(before, address, (self.placement.address(address), name));
                }
                self.front_end.interrupt();
                self.watch.interrupted(Some(address));
            }
            Event::Begin => {
                self.counters.fill(Counters::default());
                self.watch.begin();
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self, number: u32) {
        let mut block = self.blocks[number as usize];
        block.slot = self.watch.slot(number, block.slot);
        if let Some(before) = self.before.replace(block) {
            self.resolve(before, block.traced, (block.start, block.name));
        }
        let last = block.start + u64::from(block.bytes) - 1;
        let slot = block.slot as usize;
        if slot >= self.counters.len() {
            self.counters.resize(slot + 1, Counters::default());
        }
        let counters = &mut self.counters[slot];
        counters.instructions += u64::from(block.instructions);
        self.front_end
            .enter(number as usize, block.start, last, counters);
        self.watch
            .fetched(number, block.start, last, &mut self.front_end);
    }

    /// The last instruction of a block has led to this address: as it was traced, and here with its
    /// name.
    #[inline(always)]
    fn resolve(&mut self, block: Placed, traced: u64, (target, name): (u64, u32)) {
        let pc = block.start + u64::from(block.last_offset);
        let next = block.start + u64::from(block.bytes);
        let branch = match block.kind {
            Kind::Conditional => Branch::Conditional {
                pc,
                target,
                taken: traced == block.target,
            },
            Kind::Jump => Branch::Jump { pc, target },
            Kind::Call => Branch::Call { pc, target, next },
            Kind::Return => Branch::Return { pc, target },
            Kind::IndirectJump => Branch::IndirectJump { pc, target },
            Kind::IndirectCall => Branch::IndirectCall { pc, target, next },
            Kind::None | Kind::Far | Kind::Repeat => return,
        };
        let counters = &mut self.counters[block.slot as usize];
        let names = BranchNames {
            pc: block.name.wrapping_add(block.last_offset.into()),
            target: name,
        };
        self.front_end.branch(branch, names, counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_warms_up_does_not_end_inside_an_escape() {
        let led = Escape::Led as u32;
        let words = Words::from(vec![1, led, 7, 7, 7, 2, led, 7, 7, 7, 3]);
        let found = |start, least| behind(&words, &(start..words.len()), least);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|least| found(0, least)),
            [0, 1, 5, 5, 5, 5, 6]
        );
        assert_eq!(found(5, 2), 10);
        assert_eq!(found(5, 100), 11);
    }
}
