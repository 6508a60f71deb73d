// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace as a processor's branch records would have shown it: every N-th taken branch, with the
//! branches before it.
//!
//! Recorded is what Intel's LBR and AMD's LBRv2 record when only the kernel is asked for
//! (`perf record -b -e …:k`): each taken branch, call, return, system call, interrupt and
//! exception that leads into the kernel. Where an exception broke a block off, a trace does not
//! say at which instruction; it is recorded at the block's first.

use kernsmith_trace::{Block, Event, Kind, Trace};

/// Branches that a processor keeps.
pub const DEPTH: usize = 32;

/// One sample.
#[derive(Debug, Clone, Copy)]
pub struct BranchSample<'a> {
    /// Instructions that have been executed, programs' included.
    pub time: u64,
    stack: &'a Stack,
}

impl BranchSample<'_> {
    /// Where from and where to, the latest branch first.
    pub fn branches(&self) -> impl ExactSizeIterator<Item = (u64, u64)> {
        let Stack { last, count } = self.stack;
        (0..(*count).min(DEPTH)).map(move |back| last[(count - 1 - back) % DEPTH])
    }
}

/// The last branches.
#[derive(Debug, Clone, Copy, Default)]
struct Stack {
    last: [(u64, u64); DEPTH],
    count: usize,
}

/// Follows a trace.
#[derive(Debug)]
pub struct Sampler<F> {
    period: u64,
    /// Branches up to the next sample.
    left: u64,
    begun: bool,
    stack: Stack,
    time: u64,
    /// Branches since the region of interest began.
    pub branches: u64,
    each: F,
}

impl<F: FnMut(BranchSample)> Sampler<F> {
    /// period: each so many branches there is a sample, of which `each` is told.
    pub fn new(period: u64, each: F) -> Self {
        Self {
            period: period.max(1),
            left: period.max(1),
            begun: false,
            stack: Stack::default(),
            time: 0,
            branches: 0,
            each,
        }
    }

    /// Goes through a trace; samples are taken from where its region of interest begins.
    pub fn follow(&mut self, trace: &Trace) {
        let lengths: Vec<u64> = (0..trace.blocks.len())
            .map(|number| trace.instructions.sizes(number).len() as u64)
            .collect();
        let mut before: Option<&Block> = None;
        let (mut cut, mut led) = (false, None);
        for event in trace.events() {
            let number = match event {
                Event::Begin => {
                    self.begun = true;
                    continue;
                }
                Event::Cut => {
                    cut = true;
                    continue;
                }
                Event::Led(address, _) => {
                    led = Some(address);
                    continue;
                }
                Event::Block(number) => number as usize,
            };
            let block = &trace.blocks[number];
            if let Some(before) = before {
                match led {
                    _ if cut => self.broken_off(before, block.start),
                    Some(address) => {
                        self.left(before, address);
                        self.branch(address, block.start);
                    }
                    None => self.left(before, block.start),
                }
            }
            (cut, led) = (false, None);
            self.time += lengths[number];
            before = Some(block);
        }
    }

    /// A block's last instruction has led to an address.
    #[inline]
    fn left(&mut self, block: &Block, to: u64) {
        let next = block.start.wrapping_add(block.bytes.into());
        let is_branch = match block.kind {
            Kind::None | Kind::Repeat => false,
            Kind::Conditional => to != next,
            _ => true,
        };
        if is_branch {
            self.branch(block.start.wrapping_add(block.last_offset.into()), to);
        }
    }

    /// A block was left before its last instruction: for a handler, or to begin anew inside of it.
    fn broken_off(&mut self, block: &Block, to: u64) {
        let inside = to.wrapping_sub(block.start) <= block.last_offset.into();
        if !inside {
            self.branch(block.start, to);
        }
    }

    #[inline]
    fn branch(&mut self, from: u64, to: u64) {
        if (to as i64) >= 0 {
            return;
        }
        self.stack.last[self.stack.count % DEPTH] = (from, to);
        self.stack.count += 1;
        if !self.begun {
            return;
        }
        self.branches += 1;
        self.left -= 1;
        if self.left == 0 {
            self.left = self.period;
            (self.each)(BranchSample {
                time: self.time,
                stack: &self.stack,
            });
        }
    }
}
