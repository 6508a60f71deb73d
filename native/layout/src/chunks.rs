// SPDX-License-Identifier: GPL-2.0-or-later
//! Cuts a trace into chunks, and each chunk into what the parts of a front end see of it.
//!
//! Caches, TLBs, the direction predictor, the branch target buffer and the return stack do not
//! know of each other, so each may go through a chunk alone: short loops over short records
//! instead of one long loop with a branch for every kind of block, which the host would
//! mispredict. Cutting does not depend on the layout, so it is done once for many layouts.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_frontend::{Counters, PredictorGeometry, ReturnStack};
use kernsmith_trace::{Block, Cursor, ESCAPE, Escape, Kind, Trace};

use super::pieces::{NO_BLOCK, Pieces};
use super::windows::{Sample, Windows};

/// Words that are cut at a time: what comes out stays in the host's second-level cache.
const CHUNK: usize = 16 * 1024;

/// Stands for a direction that is known, in the place of a conditional branch of the chunk.
pub const NO_CONDITION: u32 = CHUNK as u32;

/// Stands there for an indirect branch, which has another way of being predicted.
pub const INDIRECT: u32 = NO_CONDITION + 1;

/// What is left of a block when only the flow of control matters.
#[derive(Debug, Clone, Copy)]
struct Flow {
    start: u32,
    target: u32,
    next: u32,
    kind: Kind,
    kernel: bool,
    conditional: bool,
    direct: bool,
    long: bool,
}

/// Where an indirect branch leads.
#[derive(Debug, Clone, Copy)]
pub enum Leads {
    /// To the start of this block.
    ToBlock(u32),
    /// After it there was an interrupt: to this address.
    ToAddress(u64),
}

/// A branch that is taken, other than a return.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// The block it ends.
    pub block: u32,
    /// Its place among the conditional branches of the chunk, [`NO_CONDITION`] or [`INDIRECT`].
    pub condition: u32,
}

/// An indirect jump or call.
#[derive(Debug, Clone, Copy)]
pub struct Indirect {
    /// Its place among the taken branches of the chunk.
    pub place: usize,
    /// The block it ends.
    pub block: u32,
    pub leads: Leads,
    /// Whether it led there before, too.
    pub again: bool,
}

/// One chunk.
#[derive(Debug, Default)]
pub struct Chunk {
    /// The region of interest begins with this chunk.
    pub begins: bool,
    /// It only brings the state up to date: its costs do not count.
    pub warms: bool,
    /// Pieces, in the order in which they are fetched.
    pub fetched: Vec<u32>,
    /// Conditional branches: 4 × block, plus 2 in kernel mode, plus 1 when it was taken.
    pub conditions: Vec<u32>,
    pub taken: Vec<Taken>,
    pub indirect: Vec<Indirect>,
    /// Of user and kernel mode: what no layout changes: numbers of branches, and what returns cost.
    pub fixed: [Counters; 2],
}

/// Goes through a trace.
pub struct Chunks<'a> {
    trace: &'a Trace,
    flows: Vec<Flow>,
    pieces: &'a Pieces,
    returns: ReturnStack,
    indirect: LastTargets,
    windows: Vec<Range<usize>>,
    /// From the next one on.
    words: Cursor<'a>,
    previous: Option<u32>,
    /// See [`Sample::warm`].
    warm: usize,
    left_to_warm: usize,
}

impl<'a> Chunks<'a> {
    /// Cuts one of `every` windows; 1 is the whole trace.
    #[must_use]
    pub fn new(
        trace: &'a Trace,
        windows: &Windows,
        pieces: &'a Pieces,
        predictor: &PredictorGeometry,
        every: usize,
    ) -> Self {
        let flow = |(block, more): (&Block, &Range<u32>)| Flow {
            start: block.start as u32,
            target: block.target as u32,
            next: (block.start + u64::from(block.bytes)) as u32,
            kind: block.kind,
            kernel: block.kernel,
            conditional: block.kind == Kind::Conditional,
            direct: matches!(block.kind, Kind::Jump | Kind::Call),
            long: !more.is_empty(),
        };
        let Sample {
            ranges: mut windows,
            warm,
        } = windows.sample(every);
        windows.reverse();
        let mut chunks = Self {
            flows: trace.blocks.iter().zip(&pieces.more).map(flow).collect(),
            trace,
            pieces,
            returns: ReturnStack::new(predictor.return_stack),
            indirect: LastTargets::new(&trace.blocks, predictor.pc_shift),
            windows,
            words: trace.words.iter(),
            previous: None,
            warm,
            left_to_warm: 0,
        };
        chunks.enter_window();
        chunks
    }

    fn enter_window(&mut self) {
        if let Some(window) = self.windows.last() {
            self.words = self.trace.words.cursor(window.start);
            if self.warm > 0 {
                self.previous = None;
                self.left_to_warm = self.warm;
            }
        }
    }

    /// Fills in the next chunk; false at the end.
    #[inline(never)]
    pub fn next(&mut self, chunk: &mut Chunk) -> bool {
        chunk.fetched.clear();
        chunk.conditions.clear();
        chunk.taken.clear();
        chunk.indirect.clear();
        chunk.fixed = Default::default();
        chunk.begins = false;
        let Some(window) = self.windows.last().cloned() else {
            return false;
        };
        chunk.warms = self.left_to_warm > 0;
        let begun = self.words.place();
        let end = window.end.min(begun + CHUNK);
        while self.words.place() < end {
            let Some(word) = self.words.peek() else {
                break;
            };
            if word == Escape::Begin as u32 && !chunk.fetched.is_empty() {
                break; // with the next chunk
            }
            self.words.next();
            if word < ESCAPE {
                self.enter(self.trace.words.block(word), chunk);
            } else {
                self.escape(word, chunk);
            }
        }
        self.left_to_warm = self.left_to_warm.saturating_sub(self.words.place() - begun);
        if self.words.place() >= window.end {
            self.windows.pop();
            self.enter_window();
        }
        true
    }

    #[inline(always)]
    fn enter(&mut self, number: u32, chunk: &mut Chunk) {
        let flow = self.flows[number as usize];
        if let Some(before) = self.previous {
            self.led(before, flow.start, Leads::ToBlock(number), chunk);
        }
        let latest = chunk.fetched.last().map(|piece| *piece as usize);
        let (next, both) = latest.map_or((NO_BLOCK, 0), |piece| self.pieces.joined[piece]);
        let (before, piece) = if next == number {
            (chunk.fetched.len() - 1, both)
        } else {
            (chunk.fetched.len(), number)
        };
        chunk.fetched.truncate(before);
        chunk.fetched.push(piece);
        if flow.long {
            let more = self.pieces.more[number as usize].clone();
            chunk.fetched.extend(more);
        }
        self.previous = Some(number);
    }

    /// Block `before` has led to the traced address `to` (low half).
    #[inline(always)]
    fn led(&mut self, before: u32, to: u32, leads: Leads, chunk: &mut Chunk) {
        let flow = self.flows[before as usize];
        let fixed = &mut chunk.fixed[usize::from(flow.kernel)];
        let branch = |condition| Taken {
            block: before,
            condition,
        };
        if flow.conditional {
            let taken = to == flow.target;
            fixed.conditional_branches += 1;
            fixed.taken_branches += u64::from(taken);
            if taken {
                chunk.taken.push(branch(chunk.conditions.len() as u32));
            }
            let mode = u32::from(flow.kernel);
            chunk
                .conditions
                .push(before << 2 | mode << 1 | u32::from(taken));
        } else if flow.direct {
            fixed.taken_branches += 1;
            chunk.taken.push(branch(NO_CONDITION));
            if flow.kind == Kind::Call {
                self.returns.push(u64::from(flow.next));
            }
        } else {
            match flow.kind {
                Kind::Return => {
                    let known = self.returns.pop() == Some(u64::from(to));
                    fixed.taken_branches += 1;
                    fixed.indirect_mispredictions += u64::from(!known);
                }
                Kind::IndirectCall | Kind::IndirectJump => {
                    if flow.kind == Kind::IndirectCall {
                        self.returns.push(u64::from(flow.next));
                    }
                    fixed.taken_branches += 1;
                    let target = match leads {
                        Leads::ToBlock(block) => self.trace.blocks[block as usize].start,
                        Leads::ToAddress(address) => address,
                    };
                    chunk.indirect.push(Indirect {
                        place: chunk.taken.len(),
                        block: before,
                        leads,
                        again: self.indirect.lead(before, target),
                    });
                    chunk.taken.push(branch(INDIRECT));
                }
                _ => {}
            }
        }
    }

    #[cold]
    fn escape(&mut self, word: u32, chunk: &mut Chunk) {
        if word == Escape::Begin as u32 {
            chunk.begins = true;
        } else if word == Escape::Cut as u32 {
            self.previous = None;
        } else {
            let mut next = || self.words.next().map_or(0, u64::from);
            let address = next() | next() << 32;
            next(); // its name: these predictors know branches by address
            if let Some(before) = self.previous.take() {
                self.led(before, address as u32, Leads::ToAddress(address), chunk);
            }
        }
    }
}

/// The target that each indirect branch had last. Whether it has it again is the same in every
/// layout.
#[derive(Debug)]
struct LastTargets {
    /// By block: its branch; blocks may end with the same one.
    branches: Vec<u32>,
    targets: Vec<u64>,
}

impl LastTargets {
    fn new(blocks: &[Block], pc_shift: u32) -> Self {
        let mut numbers = HashMap::new();
        let branch = |block: &Block| {
            let pc = block.start + u64::from(block.last_offset);
            let next = numbers.len() as u32;
            *numbers.entry(pc >> pc_shift).or_insert(next)
        };
        let branches: Vec<_> = blocks.iter().map(branch).collect();
        Self {
            targets: vec![u64::MAX; numbers.len()],
            branches,
        }
    }

    /// The branch of `block` leads to `target`. Returns whether it did so before.
    fn lead(&mut self, block: u32, target: u64) -> bool {
        let last = &mut self.targets[self.branches[block as usize] as usize];
        std::mem::replace(last, target) == target
    }
}
