// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in other layouts, through the front end that the tracer simulates.

use std::collections::HashMap;

use kernsmith_frontend::{
    Counters, CpuModel, Directions, Filter, Key, Levels, Replacement, TargetsByPath,
};
use kernsmith_trace::{Block, Event, Trace};

use super::Text;
use super::decode::{Chunk, Decoder, INDIRECT, Leads, NO_CONDITION, Pieces, Windows};

/// In no section of the text: user code, and kernel code that never moves.
pub const FIXED: u32 = u32::MAX;

/// A trace of a kernel whose text is known.
#[derive(Debug)]
pub struct Replay {
    trace: Trace,
    /// The section of each block.
    sections: Vec<u32>,
    windows: Windows,
    /// Whether 32 bits are enough, with the smallest pages.
    narrow: bool,
}

impl Replay {
    /// A trace, and the text of the kernel in the layout that it was taken in.
    #[must_use]
    pub fn new(mut trace: Trace, text: &Text) -> Self {
        trace.sort_blocks();
        let section = |address| {
            text.section_of(address)
                .map_or(FIXED, |number| number as u32)
        };
        let sections = trace.blocks.iter().map(|block| section(block.start));
        Self {
            sections: sections.collect(),
            windows: Windows::new(&trace.words),
            narrow: is_narrow(&trace.blocks, LEAST_PAGE),
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
        for step in self.trace.events() {
            match step {
                Event::Block(number) => seen[number as usize] = true,
                Event::Begin => seen.fill(false),
                Event::Cut | Event::Led(_) => {}
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
        let page_bytes = model.page_bytes as u64;
        if self.narrow && (page_bytes == LEAST_PAGE || is_narrow(&self.trace.blocks, page_bytes)) {
            self.cost_in::<u32>(text, layouts, model, every)
        } else {
            self.cost_in::<u64>(text, layouts, model, every)
        }
    }

    fn cost_in<K: Number>(
        &self,
        text: &Text,
        layouts: &[Vec<u64>],
        model: &CpuModel,
        every: usize,
    ) -> Vec<[Counters; 2]> {
        let pieces = Pieces::new(&self.trace.blocks, &self.sections, model.line_bytes);
        let mut decoder =
            Decoder::new(&self.trace, &self.windows, &pieces, &model.predictor, every);
        let simulated = |starts| Simulated::<K>::new(self, &pieces, text, starts, model);
        let mut machines: Vec<_> = layouts.iter().map(simulated).collect();
        let mut fixed = [Counters::default(); 2];
        let mut chunk = Chunk::default();
        let mut room = Room::new();
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

/// Where the kernel's own code begins (Documentation/arch/x86/x86_64/mm.rst).
const KERNEL: u64 = 0xffff_ffff_8000_0000;

/// No page is smaller.
const LEAST_PAGE: u64 = 4096;

/// Whether the low 32 bits of an address tell which page it is in, of all that are executed in any
/// layout: kernel code lies in the highest 2 GiB, wherever it moves to.
fn is_narrow(blocks: &[Block], page_bytes: u64) -> bool {
    let mut pages = HashMap::new();
    let mut ends = blocks.iter().flat_map(|block| {
        let last = block.start + u64::from(block.bytes) - 1;
        [block.start, last].map(|address| (address / page_bytes, block.kernel))
    });
    ends.all(|(page, kernel)| match kernel {
        true => page >= KERNEL / page_bytes,
        false => *pages.entry(page % ((1 << 32) / page_bytes)).or_insert(page) == page,
    })
}

/// What lines, pages and branches are numbered with. With 32 bits, the tables of a layout stay in
/// the host's own caches.
///
/// A number is an address shifted right and cut to some bits, and above them 1 for kernel mode.
trait Number: Key {
    fn new(number: u64) -> Self;

    fn get(self) -> u64;

    /// An address of a mode, shifted right; the mode is bit `bits`.
    fn of(address: u64, shift: u32, bits: u32) -> Self {
        Self::new((address >> shift & ((1 << bits) - 1)) | address >> 63 << bits)
    }
}

impl Number for u32 {
    #[inline(always)]
    fn new(number: u64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn get(self) -> u64 {
        self.into()
    }
}

impl Number for u64 {
    #[inline(always)]
    fn new(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn get(self) -> u64 {
        self
    }
}

/// Memory that is used again for each chunk and layout.
struct Room<K> {
    lines: Vec<K>,
    pages: Vec<K>,
    /// By conditional branch of the chunk: whether its direction was predicted.
    expected: Vec<bool>,
    /// By taken branch of the chunk: whether the branch target buffer knew it.
    known: Vec<bool>,
}

impl<K: Number> Room<K> {
    fn new() -> Self {
        Self {
            lines: Vec::new(),
            pages: Vec::new(),
            expected: Vec::new(),
            known: Vec::new(),
        }
    }
}

/// The front end in one layout.
struct Simulated<'a, K> {
    caches: Levels<K>,
    tlbs: Levels<K>,
    directions: Directions,
    /// The branch target buffer.
    buffer: Filter<K>,
    by_path: TargetsByPath,
    counters: [Counters; 2],
    line: K,
    page: K,
    /// log2 of the lines in a page.
    lines_of_page: u32,
    /// By piece: 2 × its line, plus 1 when it reaches into the next one.
    lines: Vec<K>,
    /// By block: the number of the branch that ends it.
    branches: Vec<K>,
    /// By block: its start, and the address of its last instruction.
    blocks: Vec<(u64, u64)>,
    text: &'a Text,
    starts: &'a [u64],
}

impl<'a, K: Number> Simulated<'a, K> {
    /// Bits of a line's number below the mode; one bit is left for [`Self::lines`].
    const LINE_BITS: u32 = K::BITS - 2;

    /// Bits of a branch's number below the mode.
    const BRANCH_BITS: u32 = K::BITS - 1;

    fn new(
        replay: &Replay,
        pieces: &Pieces,
        text: &'a Text,
        starts: &'a Vec<u64>,
        model: &CpuModel,
    ) -> Self {
        let place = |(block, section): (&Block, &u32)| {
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
            let last = start + u64::from(*bytes) - 1;
            let spans = (last >> line_shift) - (start >> line_shift);
            K::new(K::of(start, line_shift, Self::LINE_BITS).get() << 1 | spans)
        };
        let pc_shift = model.predictor.pc_shift;
        let branch = |(_, pc): &(u64, u64)| K::of(*pc, pc_shift, Self::BRANCH_BITS);
        Self {
            lines: pieces.all.iter().map(line).collect(),
            branches: blocks.iter().map(branch).collect(),
            blocks,
            caches: Levels::caches(model),
            tlbs: Levels::tlbs(model),
            directions: Directions::new(&model.predictor),
            buffer: Filter::new(
                model.predictor.btb_entries,
                model.predictor.btb_ways,
                Replacement::Lru,
            ),
            by_path: TargetsByPath::new(&model.predictor),
            counters: Default::default(),
            line: K::EMPTY,
            page: K::EMPTY,
            lines_of_page: model.page_bytes.trailing_zeros() - line_shift,
            text,
            starts,
        }
    }

    fn execute(&mut self, chunk: &Chunk, room: &mut Room<K>) {
        if chunk.begins {
            self.counters = Default::default();
        }
        let counted = self.counters;
        self.fetch(&chunk.fetched, room);
        self.predict(&chunk.conditions, room);
        self.lead(chunk, room);
        if chunk.warms {
            self.counters = counted;
        }
    }

    #[inline(never)]
    fn fetch(&mut self, fetched: &[u32], room: &mut Room<K>) {
        let most = 2 * fetched.len() + 2;
        room.lines.resize(room.lines.len().max(most), K::EMPTY);
        let lines = &mut room.lines[..most];
        let (mut count, mut current) = (0, self.line);
        for piece in fetched {
            // Written in any case, and kept when it is another line than the one before.
            let place = self.lines[*piece as usize].get();
            let (line, next) = (K::new(place >> 1), place & 1);
            lines[count] = line;
            count += usize::from(line != current);
            current = K::new(line.get() + next);
            lines[count] = current;
            count += next as usize;
        }
        self.line = current;
        self.translate(count, room);
        let lines = &mut room.lines[..count];
        let counters = &mut self.counters;
        add(lines, Self::LINE_BITS, counters, |one| {
            &mut one.l1i_accesses
        });
        self.caches.enter(lines, |level, missed| {
            add(missed, Self::LINE_BITS, counters, |one| match level {
                1 => &mut one.l1i_misses,
                _ => &mut one.l2i_misses,
            });
        });
    }

    /// The pages of the first lines in `room`.
    #[inline(never)]
    fn translate(&mut self, count: usize, room: &mut Room<K>) {
        room.pages.resize(room.pages.len().max(count + 1), K::EMPTY);
        let pages = &mut room.pages[..=count];
        let (mut kept, mut current) = (0, self.page);
        for line in &room.lines[..count] {
            let page = K::new(line.get() >> self.lines_of_page);
            pages[kept] = page;
            kept += usize::from(page != current);
            current = page;
        }
        self.page = current;
        let mode = Self::LINE_BITS - self.lines_of_page;
        let counters = &mut self.counters;
        self.tlbs.enter(&mut pages[..kept], |level, missed| {
            add(missed, mode, counters, |one| match level {
                1 => &mut one.itlb_misses,
                _ => &mut one.stlb_misses,
            });
        });
    }

    #[inline(never)]
    fn predict(&mut self, conditions: &[u32], room: &mut Room<K>) {
        room.expected.resize(INDIRECT as usize + 1, true);
        let (mut wrong, mut in_kernel) = (0, 0);
        for (condition, expected) in conditions.iter().zip(&mut room.expected) {
            let branch = self.branches[(condition >> 2) as usize].get();
            *expected = self.directions.predict(branch, condition & 1 == 1);
            wrong += u64::from(!*expected);
            in_kernel += u64::from(!*expected) & u64::from(condition >> 1);
        }
        self.counters[0].branch_mispredictions += wrong - in_kernel;
        self.counters[1].branch_mispredictions += in_kernel;
        room.expected[NO_CONDITION as usize] = true;
        room.expected[INDIRECT as usize] = false;
    }

    #[inline(never)]
    fn lead(&mut self, chunk: &Chunk, room: &mut Room<K>) {
        let taken = &chunk.taken[..];
        room.known.resize(room.known.len().max(taken.len()), false);
        let (known, expected) = (&mut room.known[..taken.len()], &room.expected[..]);
        let branches = taken.iter().map(|one| self.branches[one.block as usize]);
        // User mode's in the lower half, kernel mode's in the upper one.
        let (_, missed) = self
            .buffer
            .fold(branches, (0, 0_u64), |(place, missed), branch, hit| {
                known[place] = hit;
                let missing = !hit & expected[taken[place].condition as usize];
                let missing = u64::from(missing) << (branch.get() >> Self::BRANCH_BITS << 5);
                (place + 1, missed + missing)
            });
        self.counters[0].btb_misses += missed & 0xffff_ffff;
        self.counters[1].btb_misses += missed >> 32;
        for one in &chunk.indirect {
            let target = match one.leads {
                Leads::ToBlock(block) => self.blocks[block as usize].0,
                Leads::ToAddress(address) => match self.text.section_of(address) {
                    Some(number) => {
                        address - self.text.sections()[number].start + self.starts[number]
                    }
                    None => address,
                },
            };
            let pc = self.blocks[one.block as usize].1;
            let right = match self.by_path.next(pc, target) {
                Some(guess) => guess == target,
                None => known[one.place] && one.again,
            };
            self.counters[(pc >> 63) as usize].indirect_mispredictions += u64::from(!right);
        }
    }
}

/// Adds numbers to a counter, each in its mode, which is this bit of it.
fn add<K: Number>(
    numbers: &[K],
    mode: u32,
    counters: &mut [Counters; 2],
    counter: impl Fn(&mut Counters) -> &mut u64,
) {
    let modes = numbers.iter().map(|number| number.get() >> mode & 1);
    let in_kernel = modes.sum::<u64>();
    *counter(&mut counters[0]) += numbers.len() as u64 - in_kernel;
    *counter(&mut counters[1]) += in_kernel;
}
