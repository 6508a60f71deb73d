// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in another layout, through the front end that the tracer simulates.

use crate::frontend::{Branch, Counters, CpuModel, FrontEnd};
use crate::trace::{ESCAPE, Escape, Kind, Trace};

use super::Text;

/// In no section of the text: user code, and kernel code that never moves.
const FIXED: u32 = u32::MAX;

/// A block where a layout puts it, in one host cache line with another.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Placed {
    start: u64,
    bytes: u16,
    last_offset: u16,
    kind: Kind,
    kernel: bool,
    /// As in the trace: which of its two ways a conditional branch went is found by these.
    traced_start: u32,
    traced_target: u32,
}

/// A trace of a kernel whose text is known.
#[derive(Debug)]
pub struct Replay {
    trace: Trace,
    /// The section of each block.
    sections: Vec<u32>,
}

impl Replay {
    /// A trace, and the text of the kernel in the layout that it was taken in.
    #[must_use]
    pub fn new(trace: Trace, text: &Text) -> Self {
        let section = |address| {
            text.section_of(address)
                .map_or(FIXED, |number| number as u32)
        };
        let sections = trace.blocks.iter().map(|block| section(block.start));
        Self {
            sections: sections.collect(),
            trace,
        }
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// What user mode and kernel mode cost when the sections of `text` are at `starts`
    /// (see [`Text::place`]).
    #[must_use]
    pub fn cost(&self, text: &Text, starts: &[u64], model: &CpuModel) -> [Counters; 2] {
        let blocks = self.placed(text, starts);
        let moved = |address: u64| match text.section_of(address) {
            Some(number) => address - text.sections()[number].start + starts[number],
            None => address,
        };
        let mut counted = self.counted(&blocks, &moved, model);
        for (counted, traced) in counted.iter_mut().zip(&self.trace.facts.counters) {
            counted.instructions = traced.instructions;
            counted.rep_instructions = traced.rep_instructions;
            counted.rep_iterations = traced.rep_iterations;
            counted.rep_bytes = traced.rep_bytes;
        }
        counted
    }

    fn placed(&self, text: &Text, starts: &[u64]) -> Vec<Placed> {
        let blocks = self.trace.blocks.iter().zip(&self.sections);
        blocks
            .map(|(block, section)| Placed {
                start: match *section {
                    FIXED => block.start,
                    number => {
                        let number = number as usize;
                        block.start - text.sections()[number].start + starts[number]
                    }
                },
                bytes: block.bytes,
                last_offset: block.last_offset,
                kind: block.kind,
                kernel: block.kernel,
                traced_start: block.start as u32,
                traced_target: block.target as u32,
            })
            .collect()
    }

    fn counted(
        &self,
        blocks: &[Placed],
        moved: &dyn Fn(u64) -> u64,
        model: &CpuModel,
    ) -> [Counters; 2] {
        let mut front_end = FrontEnd::new(model);
        let mut counters = [Counters::default(); 2];
        let mut before: Option<&Placed> = None;
        let mut words = self.trace.words.iter();
        while let Some(word) = words.next() {
            if *word >= ESCAPE {
                match *word {
                    word if word == Escape::Begin as u32 => counters = Default::default(),
                    word if word == Escape::Cut as u32 => before = None,
                    _ => {
                        let (low, high) = (words.next(), words.next());
                        let address = |half: Option<&u32>| half.map_or(0, |word| u64::from(*word));
                        let led_to = address(low) | address(high) << 32;
                        if let Some(block) = before.take() {
                            let counters = &mut counters[usize::from(block.kernel)];
                            resolve(
                                &mut front_end,
                                block,
                                moved(led_to),
                                led_to as u32,
                                counters,
                            );
                        }
                    }
                }
                continue;
            }
            let block = &blocks[*word as usize];
            if let Some(before) = before {
                let counters = &mut counters[usize::from(before.kernel)];
                resolve(
                    &mut front_end,
                    before,
                    block.start,
                    block.traced_start,
                    counters,
                );
            }
            let last = block.start + u64::from(block.bytes) - 1;
            let mode = usize::from(block.kernel);
            front_end.fetch(block.start, last, &mut counters[mode]);
            before = Some(block);
        }
        counters
    }
}

/// `block` has led to `to`, which was at `traced` when it was traced (low half).
#[inline(always)]
fn resolve(
    front_end: &mut FrontEnd,
    block: &Placed,
    to: u64,
    traced: u32,
    counters: &mut Counters,
) {
    let pc = block.start + u64::from(block.last_offset);
    let next = block.start + u64::from(block.bytes);
    let branch = match block.kind {
        Kind::Conditional => Branch::Conditional {
            pc,
            target: to,
            taken: traced == block.traced_target,
        },
        Kind::None | Kind::Repeat | Kind::Far => return,
        Kind::Jump => Branch::Jump { pc, target: to },
        Kind::Call => Branch::Call {
            pc,
            target: to,
            next,
        },
        Kind::Return => Branch::Return { target: to },
        Kind::IndirectJump => Branch::IndirectJump { pc, target: to },
        Kind::IndirectCall => Branch::IndirectCall {
            pc,
            target: to,
            next,
        },
    };
    front_end.branch(branch, counters);
}
