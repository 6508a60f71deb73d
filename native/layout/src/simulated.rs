// SPDX-License-Identifier: GPL-2.0-or-later
//! The front end of a CPU, as it goes through chunks of a trace in one layout.

use kernsmith_arch::SMALL;
use kernsmith_frontend::{
    Counters, CpuModel, Directions, Filter, Levels, Replacement, TargetsByPath, TlbKey, Tlbs,
};
use kernsmith_trace::Block;

use super::chunks::{Chunk, INDIRECT, Leads, NO_CONDITION};
use super::page_numbers::{PageNumbers, mode_bit};
use super::pieces::Pieces;
use super::replay::{FIXED, Replay};
use super::text::Text;

/// What lines, pages and branches are numbered with. With 32 bits, the tables of a layout stay in
/// the host's own caches.
///
/// A number is an address shifted right and cut to some bits, and above them 1 for kernel mode.
/// Those of pages: see [`TlbKey`].
pub trait Number: TlbKey {
    fn new(number: u64) -> Self;

    fn get(self) -> u64;

    /// An address of a mode, shifted right; the mode is bit `bits`.
    fn of(address: u64, kernel: bool, shift: u32, bits: u32) -> Self {
        Self::new((address >> shift & ((1 << bits) - 1)) | u64::from(kernel) << bits)
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
pub struct Room<K> {
    lines: Vec<K>,
    pages: Vec<K>,
    /// By conditional branch of the chunk: whether its direction was predicted.
    expected: Vec<bool>,
    /// By taken branch of the chunk: whether the branch target buffer knew it.
    known: Vec<bool>,
}

impl<K: Number> Room<K> {
    pub fn new() -> Self {
        Self {
            lines: Vec::new(),
            pages: Vec::new(),
            expected: Vec::new(),
            known: Vec::new(),
        }
    }
}

/// The front end in one layout.
pub struct Simulated<'a, K> {
    caches: Levels<K>,
    tlbs: Tlbs<K>,
    directions: Directions,
    /// The branch target buffer.
    buffer: Filter<K>,
    by_path: TargetsByPath,
    /// Of user and kernel mode.
    pub counters: [Counters; 2],
    line: K,
    /// The small page that was entered last, and the page that it is in.
    small_page: K,
    page: K,
    pages: PageNumbers,
    /// log2 of the lines in a small page.
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

    pub fn new(
        replay: &Replay,
        pieces: &Pieces,
        text: &'a Text,
        starts: &'a Vec<u64>,
        model: &CpuModel,
    ) -> Self {
        let place = |(number, block): (u32, &Block)| {
            let start = match replay.section(number) {
                FIXED => block.start,
                number => {
                    let number = number as usize;
                    block.start - text.sections()[number].start + starts[number]
                }
            };
            (start, start + u64::from(block.last_offset))
        };
        let traced = &replay.trace().blocks;
        let blocks: Vec<_> = (0..).zip(traced).map(place).collect();
        let line_shift = model.line_bytes.trailing_zeros();
        let lines_of_page = SMALL - line_shift;
        let pages = replay.pages_in(text, starts);
        let line = |(block, offset, bytes): &(u32, u16, u16)| {
            let start = blocks[*block as usize].0 + u64::from(*offset);
            let last = start + u64::from(*bytes) - 1;
            let spans = (last >> line_shift) - (start >> line_shift);
            let kernel = traced[*block as usize].kernel;
            K::new(K::of(start, kernel, line_shift, Self::LINE_BITS).get() << 1 | spans)
        };
        let pc_shift = model.predictor.pc_shift;
        let branch = |((_, pc), block): (&(u64, u64), &Block)| {
            K::of(*pc, block.kernel, pc_shift, Self::BRANCH_BITS)
        };
        Self {
            lines: pieces.all.iter().map(line).collect(),
            branches: blocks.iter().zip(traced).map(branch).collect(),
            blocks,
            caches: Levels::caches(model),
            tlbs: Tlbs::new(model),
            directions: Directions::new(&model.predictor),
            buffer: Filter::new(
                model.predictor.btb_entries,
                model.predictor.btb_ways,
                Replacement::Lru,
            ),
            by_path: TargetsByPath::new(&model.predictor),
            counters: Default::default(),
            line: K::EMPTY,
            small_page: K::EMPTY,
            page: K::EMPTY,
            lines_of_page,
            pages: PageNumbers::new::<K>(&pages, Self::LINE_BITS - lines_of_page),
            text,
            starts,
        }
    }

    pub fn execute(&mut self, chunk: &Chunk, room: &mut Room<K>) {
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
        let (mut kept, mut current) = (0, self.small_page);
        for line in &room.lines[..count] {
            let page = K::new(line.get() >> self.lines_of_page);
            pages[kept] = page;
            kept += usize::from(page != current);
            current = page;
        }
        self.small_page = current;
        // The same once more: most of these are in few pages.
        let (small_pages, mut current) = (kept, self.page);
        kept = 0;
        for place in 0..small_pages {
            let page = self.pages.page(pages[place]);
            pages[kept] = page;
            kept += usize::from(page != current);
            current = page;
        }
        self.page = current;
        let counters = &mut self.counters;
        self.tlbs.enter(&mut pages[..kept], |level, missed| {
            add(missed, mode_bit::<K>(), counters, |one| match level {
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
            let mode = self.branches[one.block as usize].get() >> Self::BRANCH_BITS;
            self.counters[mode as usize].indirect_mispredictions += u64::from(!right);
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
