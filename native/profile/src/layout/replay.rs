// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in other layouts, through the front end that the tracer simulates.

use crate::frontend::{Counters, CpuModel, InstructionCaches, InstructionTlbs, Predictor};
use crate::trace::{ESCAPE, Escape, Trace};

use super::Text;
use super::decode::{Chunk, Decoder, Leads, NO_CONDITION, Pieces, Windows};

/// In no section of the text: user code, and kernel code that never moves.
pub const FIXED: u32 = u32::MAX;

/// A trace of a kernel whose text is known.
#[derive(Debug)]
pub struct Replay {
    trace: Trace,
    /// The section of each block.
    sections: Vec<u32>,
    windows: Windows,
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
            windows: Windows::new(&trace.words),
            trace,
        }
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The section of a block, or [`FIXED`].
    #[must_use]
    pub fn section(&self, block: u32) -> u32 {
        self.sections[block as usize]
    }

    /// Bytes of kernel code that are executed, each counted once.
    #[must_use]
    pub fn touched(&self) -> u64 {
        let mut spans = self.executed();
        spans.sort_unstable();
        let mut reached = 0;
        let mut bytes = 0;
        for (start, end) in spans {
            let from = start.max(reached);
            bytes += end.saturating_sub(from);
            reached = reached.max(end);
        }
        bytes
    }

    /// Start and end of each kernel block of the region.
    fn executed(&self) -> Vec<(u64, u64)> {
        let mut seen = vec![false; self.trace.blocks.len()];
        let mut words = self.trace.words.iter();
        while let Some(word) = words.next() {
            if *word < ESCAPE {
                seen[*word as usize] = true;
            } else if *word == Escape::Begin as u32 {
                seen.fill(false);
            } else if *word == Escape::Led as u32 {
                words.next();
                words.next();
            }
        }
        let blocks = self.trace.blocks.iter().enumerate();
        blocks
            .filter(|(number, block)| seen[*number] && block.kernel)
            .map(|(_, block)| (block.start, block.start + u64::from(block.bytes)))
            .collect()
    }

    /// What user mode and kernel mode cost in each of some layouts: when the sections of `text`
    /// are at these addresses (see [`Text::place`]).
    ///
    /// every: only one of so many windows of the trace is replayed, and the counts are those of
    /// these windows; 1 is the whole trace.
    #[must_use]
    pub fn cost(
        &self,
        text: &Text,
        layouts: &[Vec<u64>],
        model: &CpuModel,
        every: usize,
    ) -> Vec<[Counters; 2]> {
        let pieces = Pieces::new(&self.trace.blocks, model.line_bytes);
        let mut decoder = Decoder::new(
            &self.trace,
            &self.windows,
            &pieces,
            model.predictor.return_stack,
            every,
        );
        let simulated = |starts| Simulated::new(self, &pieces, text, starts, model);
        let mut machines: Vec<_> = layouts.iter().map(simulated).collect();
        let mut fixed = [Counters::default(); 2];
        let mut chunk = Chunk::default();
        let mut room = Room::default();
        while decoder.next(&mut chunk) {
            if chunk.begins {
                fixed = Default::default();
            }
            if !chunk.warms {
                for (sum, more) in fixed.iter_mut().zip(chunk.fixed) {
                    *sum = *sum + more;
                }
            }
            for machine in &mut machines {
                machine.execute(&chunk, &mut room);
            }
        }
        let counted = machines.into_iter().map(|machine| machine.counters);
        counted
            .map(|counters| {
                std::array::from_fn(|mode| self.whole(mode, counters[mode] + fixed[mode]))
            })
            .collect()
    }

    /// Counters with what the layout does not change; of a sample, as large a part of it as of
    /// the conditional branches.
    fn whole(&self, mode: usize, counted: Counters) -> Counters {
        let traced = &self.trace.facts.counters[mode];
        let (part, all) = (counted.conditional_branches, traced.conditional_branches);
        let share = |figure: u64| match all {
            _ if part == all => figure,
            0 => 0,
            _ => (u128::from(figure) * u128::from(part) / u128::from(all)) as u64,
        };
        Counters {
            instructions: share(traced.instructions),
            rep_instructions: share(traced.rep_instructions),
            rep_iterations: share(traced.rep_iterations),
            rep_bytes: share(traced.rep_bytes),
            ..counted
        }
    }
}

/// Memory that is used again for each chunk and layout.
#[derive(Default)]
struct Room {
    lines: Vec<u64>,
    pages: Vec<u64>,
    /// By conditional branch of the chunk: whether its direction was predicted.
    expected: Vec<bool>,
}

/// The front end in one layout.
struct Simulated<'a> {
    caches: InstructionCaches,
    tlbs: InstructionTlbs,
    predictor: Predictor,
    counters: [Counters; 2],
    line: u64,
    page: u64,
    line_shift: u32,
    page_shift: u32,
    /// By piece: 2 × its line, plus 1 when it reaches into the next one.
    lines: Vec<u64>,
    /// By block: its start, and the address of its last instruction.
    blocks: Vec<(u64, u64)>,
    text: &'a Text,
    starts: &'a [u64],
}

impl<'a> Simulated<'a> {
    fn new(
        replay: &Replay,
        pieces: &Pieces,
        text: &'a Text,
        starts: &'a Vec<u64>,
        model: &CpuModel,
    ) -> Self {
        let place = |(block, section): (&crate::trace::Block, &u32)| {
            let start = match *section {
                FIXED => block.start,
                number => {
                    let number = number as usize;
                    block.start - text.sections()[number].start + starts[number]
                }
            };
            (start, start + u64::from(block.last_offset))
        };
        let blocks: Vec<_> = replay
            .trace
            .blocks
            .iter()
            .zip(&replay.sections)
            .map(place)
            .collect();
        let line_shift = model.line_bytes.trailing_zeros();
        let line = |(block, offset, bytes): &(u32, u16, u16)| {
            let start = blocks[*block as usize].0 + u64::from(*offset);
            let (first, last) = (
                start >> line_shift,
                (start + u64::from(*bytes) - 1) >> line_shift,
            );
            first << 1 | (last - first)
        };
        Self {
            lines: pieces.all.iter().map(line).collect(),
            blocks,
            caches: InstructionCaches::new(model),
            tlbs: InstructionTlbs::new(model),
            predictor: Predictor::new(&model.predictor),
            counters: Default::default(),
            line: u64::MAX,
            page: u64::MAX,
            line_shift,
            page_shift: model.page_bytes.trailing_zeros(),
            text,
            starts,
        }
    }

    fn execute(&mut self, chunk: &Chunk, room: &mut Room) {
        if chunk.begins {
            self.counters = Default::default();
        }
        let counted = self.counters;
        self.fetch(&chunk.fetched, room);
        self.predict(&chunk.conditions, room);
        self.lead(&chunk.taken, room);
        if chunk.warms {
            self.counters = counted;
        }
    }

    #[inline(never)]
    fn fetch(&mut self, fetched: &[u32], room: &mut Room) {
        room.lines
            .resize(room.lines.len().max(2 * fetched.len() + 2), 0);
        let lines = &mut room.lines[..2 * fetched.len() + 2];
        let (mut count, mut current) = (0, self.line);
        for piece in fetched {
            // Written in any case, and kept when it is another line than the one before.
            let place = self.lines[*piece as usize];
            let (line, next) = (place >> 1, place & 1);
            lines[count] = line;
            count += usize::from(line != current);
            current = line + next;
            lines[count] = current;
            count += next as usize;
        }
        self.line = current;
        let lines = &lines[..count];
        let kernel_shift = 63 - self.line_shift;
        let mut in_kernel = 0;
        for line in lines {
            let mode = (line >> kernel_shift) as usize & 1;
            in_kernel += mode;
            self.caches.enter(*line, &mut self.counters[mode]);
        }
        self.counters[0].l1i_accesses += (count - in_kernel) as u64;
        self.counters[1].l1i_accesses += in_kernel as u64;
        self.translate(count, room);
    }

    /// The pages of the lines in `room`.
    #[inline(never)]
    fn translate(&mut self, count: usize, room: &mut Room) {
        let lines_of_page = self.page_shift - self.line_shift;
        room.pages.resize(room.pages.len().max(count + 1), 0);
        let pages = &mut room.pages[..=count];
        let (mut kept, mut current) = (0, self.page);
        for line in &room.lines[..count] {
            let page = line >> lines_of_page;
            pages[kept] = page;
            kept += usize::from(page != current);
            current = page;
        }
        self.page = current;
        let kernel_shift = 63 - self.page_shift;
        for page in &pages[..kept] {
            let mode = (page >> kernel_shift) as usize & 1;
            self.tlbs.enter(*page, &mut self.counters[mode]);
        }
    }

    #[inline(never)]
    fn predict(&mut self, conditions: &[u32], room: &mut Room) {
        room.expected.resize(NO_CONDITION as usize + 1, true);
        // User mode's in the lower half, kernel mode's in the upper one.
        let mut wrong = 0_u64;
        for (condition, expected) in conditions.iter().zip(&mut room.expected) {
            let pc = self.blocks[(condition >> 1) as usize].1;
            *expected = self.predictor.direction(pc, condition & 1 == 1);
            wrong += u64::from(!*expected) << (pc >> 63 << 5);
        }
        self.counters[0].branch_mispredictions += wrong & 0xffff_ffff;
        self.counters[1].branch_mispredictions += wrong >> 32;
        room.expected[NO_CONDITION as usize] = true;
    }

    #[inline(never)]
    fn lead(&mut self, taken: &[(u32, Leads)], room: &Room) {
        let mut unknown = 0_u64;
        for (block, leads) in taken {
            let pc = self.blocks[*block as usize].1;
            let target = match leads {
                Leads::Direct(condition) => {
                    let expected = room.expected[*condition as usize];
                    // No figure depends on the target that the buffer knows for a direct branch.
                    let missed = !self.predictor.direct(pc, 0) && expected;
                    unknown += u64::from(missed) << (pc >> 63 << 5);
                    continue;
                }
                Leads::ToBlock(block) => self.blocks[*block as usize].0,
                Leads::ToAddress(address) => match self.text.section_of(*address) {
                    Some(number) => {
                        address - self.text.sections()[number].start + self.starts[number]
                    }
                    None => *address,
                },
            };
            let known = self.predictor.indirect(pc, target);
            self.counters[(pc >> 63) as usize].indirect_mispredictions += u64::from(!known);
        }
        self.counters[0].btb_misses += unknown & 0xffff_ffff;
        self.counters[1].btb_misses += unknown >> 32;
    }
}
