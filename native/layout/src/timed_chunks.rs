// SPDX-License-Identifier: GPL-2.0-or-later
//! Cuts a trace into pieces for front ends in time, once for many layouts.

use std::ops::Range;

use kernsmith_frontend::{Counters, Flow, Foreseen, MOST_BLOCKS, ReturnStack, Target, Transfer};
use kernsmith_trace::{Cursor, ESCAPE, Escape, Kind, Trace};

use super::timed::behind;
use super::windows::Sample;

/// One piece.
#[derive(Debug, Default)]
pub struct TimedChunk {
    /// The region of interest begins with it.
    pub begins: bool,
    /// It only brings the state up to date: its costs do not count.
    pub warms: bool,
    pub flow: Flow,
    /// Of user and kernel mode: what no layout changes.
    pub fixed: [Counters; 2],
}

/// What is left of a block when only the flow of control matters.
#[derive(Debug, Clone, Copy)]
struct Left {
    start: u64,
    target: u64,
    instructions: u16,
    kind: Kind,
    kernel: bool,
    /// A call behind which another layout may have other code.
    parted: bool,
}

/// Goes through a trace.
pub struct TimedChunks<'a> {
    trace: &'a Trace,
    blocks: Vec<Left>,
    /// Blocks of calls in place of the addresses behind them.
    calls: ReturnStack,
    /// Those that are left, the next one last.
    ranges: Vec<Range<usize>>,
    warm: usize,
    /// From the next one on.
    words: Cursor<'a>,
    /// Up to where the range only brings the state up to date.
    middle: usize,
    warms: bool,
    before: Option<u32>,
}

impl<'a> TimedChunks<'a> {
    /// parted: of a block, whether what lies behind it may be elsewhere in another layout.
    #[must_use]
    pub fn new(
        trace: &'a Trace,
        sample: &Sample,
        parted: impl Fn(u32) -> bool,
        return_stack: usize,
    ) -> Self {
        let left = |number: u32| {
            let block = trace.blocks[number as usize];
            Left {
                start: block.start,
                target: block.target,
                instructions: trace.instructions.sizes(number as usize).len() as u16,
                kind: block.kind,
                kernel: block.kernel,
                parted: matches!(block.kind, Kind::Call | Kind::IndirectCall) && parted(number),
            }
        };
        let mut chunks = Self {
            trace,
            blocks: (0..trace.blocks.len() as u32).map(left).collect(),
            calls: ReturnStack::new(return_stack),
            ranges: sample.ranges.iter().rev().cloned().collect(),
            warm: sample.warm,
            words: trace.words.iter(),
            middle: 0,
            warms: false,
            before: None,
        };
        chunks.enter_range();
        chunks
    }

    fn enter_range(&mut self) {
        if let Some(range) = self.ranges.last() {
            self.words = self.trace.words.cursor(range.start);
            self.middle = behind(&self.trace.words, range, self.warm);
            self.warms = self.warm > 0;
        }
    }

    /// Fills in the next piece; false at the end.
    #[inline(never)]
    pub fn next(&mut self, chunk: &mut TimedChunk) -> bool {
        chunk.flow.clear();
        chunk.fixed = Default::default();
        chunk.begins = false;
        let Some(range) = self.ranges.last().cloned() else {
            return false;
        };
        if self.warm > 0 && self.words.place() == range.start {
            self.interrupt(chunk);
        }
        let begun = self.words.place();
        self.warms &= begun < self.middle;
        let end = match begun < self.middle {
            true => self.middle,
            false => range.end,
        };
        let end = end.min(begun + MOST_BLOCKS);
        while self.words.place() < end {
            let Some(word) = self.words.peek() else {
                break;
            };
            if word == Escape::Begin as u32 && !chunk.flow.is_empty() {
                break; // with the next piece
            }
            self.words.next();
            if word < ESCAPE {
                self.enter(self.trace.words.block(word), chunk);
            } else {
                self.escape(word, chunk);
            }
        }
        chunk.warms = self.warms;
        if self.words.place() >= range.end {
            self.ranges.pop();
            self.enter_range();
        }
        true
    }

    #[cold]
    fn escape(&mut self, word: u32, chunk: &mut TimedChunk) {
        if word == Escape::Begin as u32 {
            chunk.begins = true;
            self.warms = false;
            return;
        }
        if word == Escape::Led as u32 {
            let mut next = || self.words.next().map_or(0, u64::from);
            let (address, name) = (next() | next() << 32, next() as u32);
            if let Some(before) = self.before {
                self.led(before, address, Target::Address(address, name), chunk);
            }
        }
        self.interrupt(chunk);
    }

    fn interrupt(&mut self, chunk: &mut TimedChunk) {
        self.before = None;
        chunk.flow.interrupt();
    }

    #[inline(always)]
    fn enter(&mut self, number: u32, chunk: &mut TimedChunk) {
        let left = self.blocks[number as usize];
        if let Some(before) = self.before.replace(number) {
            self.led(before, left.start, Target::Block(number), chunk);
        }
        chunk.flow.enter(number);
        chunk.fixed[usize::from(left.kernel)].instructions += u64::from(left.instructions);
    }

    /// The last instruction of a block has led to this address, which is that of `to`.
    #[inline(always)]
    fn led(&mut self, number: u32, address: u64, to: Target, chunk: &mut TimedChunk) {
        let left = self.blocks[number as usize];
        let fixed = &mut chunk.fixed[usize::from(left.kernel)];
        let block = (number, left.kernel);
        let foreseen = match left.kind {
            Kind::None | Kind::Far | Kind::Repeat => return,
            Kind::Conditional => {
                let taken = address == left.target;
                fixed.conditional_branches += 1;
                fixed.taken_branches += u64::from(taken);
                chunk.flow.conditional(block, taken.then_some(to));
                return;
            }
            Kind::Jump => Foreseen::Known(true),
            Kind::Call => {
                self.calls.push(number.into());
                Foreseen::Known(true)
            }
            Kind::IndirectJump => Foreseen::Asked,
            Kind::IndirectCall => {
                self.calls.push(number.into());
                Foreseen::Asked
            }
            Kind::Return => match self.calls.pop().map(|call| call as u32) {
                Some(call) if self.blocks[call as usize].parted => Foreseen::Behind(call),
                call => Foreseen::Known(call.is_some_and(|call| self.behind(call) == address)),
            },
        };
        fixed.taken_branches += 1;
        let wrong = matches!(foreseen, Foreseen::Known(false));
        fixed.indirect_mispredictions += u64::from(wrong);
        let transfer = match left.kind {
            Kind::Call | Kind::IndirectCall => Transfer::Call,
            Kind::Return => Transfer::Return,
            Kind::IndirectJump => Transfer::IndirectJump,
            _ => Transfer::Jump,
        };
        chunk.flow.branch(block, to, foreseen, transfer);
    }

    fn behind(&self, block: u32) -> u64 {
        let block = self.trace.blocks[block as usize];
        block.start + u64::from(block.bytes)
    }
}
