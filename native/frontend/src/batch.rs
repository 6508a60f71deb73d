// SPDX-License-Identifier: GPL-2.0-or-later
//! A front end in time that is told of many blocks at once. Given what
//! [`super::BatchPredictors`] have predicted, it says what [`super::Decoupled`] says.

use kernsmith_arch::PageMap;

use super::batch_fetch::Pages;
use super::batch_predictors::Predicted;
use super::block_ahead::{BlockAhead, Entered};
use super::clocks::{Clocks, ticks};
use super::costs::Costs;
use super::exclusive_buffers::ExclusiveBuffers;
use super::fill_buffers::FillBuffers;
use super::flow::{Flow, MOST, REDIRECTED, Target};
use super::op_cache::Runs;
use super::placed::Placed;
use super::slots::Slots;
use super::target_room::TargetRoom;
use super::{Counters, CpuModel, DecoupledGeometry, Filter, Replacement, SetAssociative};

/// In [`Step::lines`]: the first line of a block is where a taken branch goes.
pub(super) const LED: u32 = 1 << 31;

/// In [`Step::ops`]: kernel mode, that fetch goes on in a window, and in a line of the micro-op cache
/// that has so many micro-ops, where lines belong to runs.
pub(super) const KERNEL: u32 = 1 << 31;
pub(super) const SAME: u32 = 1 << 30;
pub(super) const OPEN_AT: u32 = 16;
pub(super) const OPEN: u32 = 0xf << OPEN_AT;
pub(super) const OPS: u32 = (1 << OPEN_AT) - 1;

/// What the clocks have to know of a block that was entered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Step {
    /// See [`Flow::led`].
    pub(super) led: u32,
    /// Lines entered up to its end, and [`LED`].
    pub(super) lines: u32,
    /// Ticks that its micro-ops take.
    pub(super) supply: u32,
    /// Micro-ops, and the bits from [`KERNEL`] on.
    pub(super) ops: u32,
}

/// A line that there is more to say of than its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rare {
    /// Its place among the lines that were entered, and its number.
    pub(super) entered: u32,
    pub(super) line: u32,
    /// Ticks until its page was translated.
    pub(super) walked: u32,
    /// Ticks until it is there, and until the next line is; or [`PRESENT`].
    pub(super) brought: u32,
    pub(super) next: u32,
    /// Where the next line is.
    pub(super) next_place: u32,
}

/// In [`Rare`]: it was there.
pub(super) const PRESENT: u32 = u32::MAX;

/// Memory that is used again for each piece and layout.
#[derive(Debug)]
pub struct Room {
    pub(super) led: Vec<u32>,
    pub(super) foreseen: Vec<bool>,
    /// By taken branch: what the nearest buffer that knows it costs.
    pub(super) found: Vec<u32>,
    /// Its key in the buffers; the block that it ends, where they are asked a block ahead.
    pub(super) keys_of_taken: Vec<u32>,
    pub(super) ended: Vec<Entered>,
    /// And whether it takes two places there.
    pub(super) two: Vec<bool>,
    pub(super) steps: Vec<Step>,
    /// Lines that were entered, and how many; then their places.
    pub(super) lines: Vec<u32>,
    pub(super) entered: usize,
    /// Of these the page walks: which one, and ticks.
    pub(super) walks: Vec<(u32, u32)>,
    pub(super) rare: Vec<Rare>,
    /// Lines of the micro-op cache; of each, the block that it is of, and its place there above.
    pub(super) keys: Vec<u32>,
    pub(super) owners: Vec<u32>,
    pub(super) asked: usize,
    pub(super) missed: Vec<u32>,
}

impl Default for Room {
    fn default() -> Self {
        // What no piece needs is never touched: the system gives no memory for it.
        let list = || vec![0; MOST * MOST_OF_BLOCK + 2];
        Self {
            led: Vec::new(),
            foreseen: Vec::new(),
            found: Vec::new(),
            keys_of_taken: Vec::new(),
            ended: Vec::new(),
            two: Vec::new(),
            steps: Vec::new(),
            lines: list(),
            entered: 0,
            walks: Vec::new(),
            rare: Vec::new(),
            keys: list(),
            owners: list(),
            asked: 0,
            missed: list(),
        }
    }
}

/// Lines that a block has at most, and lines of the micro-op cache.
pub(super) const MOST_OF_BLOCK: usize = 256;

/// In [`Room::found`]: no buffer knows it.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// And: a buffer took its block for another one.
pub(super) const FALSE_HIT: u32 = UNKNOWN - 1;

/// All structures and clocks of one core but what predicts directions and targets
/// ([`super::BatchPredictors`]), for code that lies where `blocks` say.
pub struct Batch {
    pub(super) blocks: Placed,
    pub(super) costs: Costs,
    pub(super) clocks: Clocks,
    /// The nearest first.
    pub(super) buffers: Vec<(Filter<u32>, u32, TargetRoom)>,
    /// What is in them, where one alone knows a branch.
    pub(super) exclusive: Option<ExclusiveBuffers<u32>>,
    /// Where they are asked a block ahead.
    pub(super) ahead: Option<BlockAhead>,
    pub(super) l1i: Slots,
    /// By place in L1i: when the line arrives.
    pub(super) arrivals: Vec<u64>,
    /// Of L1i.
    pub(super) fills: FillBuffers,
    pub(super) l2: SetAssociative<(), u32>,
    pub(super) pages: Pages,
    pub(super) op_cache: Option<Filter<u32>>,
    /// Where its lines belong to runs.
    pub(super) runs: Option<Runs>,
    pub(super) line: u32,
    pub(super) window: u32,
    /// The line of the micro-op cache that was asked for last.
    pub(super) key: u32,
    pub(super) cached: bool,
    /// [`REDIRECTED`], when the piece before ended so.
    pub(super) redirected: u32,
    /// Of user and kernel mode.
    pub counters: [Counters; 2],
}

impl Batch {
    /// Everything empty. `None` where the host or the geometry allows no fast way.
    ///
    /// Of all that is executed, the low 32 bits of an address and the mode tell the line; so they do
    /// of the line behind each.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DecoupledGeometry, pages: PageMap) -> Option<Self> {
        let lines = |bytes: usize| bytes / model.line_bytes;
        let fetch = &geometry.fetch;
        // What spares lines has such a queue.
        if model.l1i.replacement != Replacement::Lru
            || geometry.predictor.override_cycles > 0.0
            || fetch.queue_of_lines
            || fetch.one_fill_a_set
            || fetch.page_cycles + fetch.walk_cycles > 0.0
        {
            return None;
        }
        let l1i = Slots::new(lines(model.l1i.bytes), model.l1i.ways)?;
        let op_cache = geometry.op_cache.as_ref();
        let buffers = geometry.told_buffers();
        Some(Self {
            blocks: Placed::new(model, geometry),
            costs: Costs::new(model, geometry),
            clocks: Clocks::new(&geometry.core, geometry.fetch.queue_blocks),
            buffers: buffers
                .map(|one| {
                    let room = TargetRoom::new(one.to_other_page);
                    let known = Filter::new(one.entries, one.ways, one.replacement);
                    (known, ticks(one.cycles) as u32, room)
                })
                .collect(),
            exclusive: ExclusiveBuffers::new(geometry),
            ahead: geometry.ahead.as_ref().map(BlockAhead::new),
            arrivals: vec![0; l1i.places()],
            l1i,
            fills: FillBuffers::new(geometry.fetch.fill_buffers),
            l2: SetAssociative::new(lines(model.l2.bytes), model.l2.ways, model.l2.replacement),
            pages: Pages::new(model, pages),
            op_cache: op_cache
                .map(|cache| Filter::new(cache.sets * cache.ways, cache.ways, cache.replacement)),
            runs: op_cache.and_then(Runs::of),
            line: u32::MAX,
            window: u32::MAX,
            key: u32::MAX,
            cached: true,
            redirected: REDIRECTED,
            counters: Default::default(),
        })
    }

    /// The blocks that may be executed.
    #[must_use]
    pub fn blocks(&self) -> &Placed {
        &self.blocks
    }

    /// The same, to add more.
    pub fn blocks_mut(&mut self) -> &mut Placed {
        &mut self.blocks
    }

    /// Executes a piece, of which this was predicted. address: where what was at an address is.
    pub fn execute(
        &mut self,
        flow: &Flow,
        predicted: &Predicted,
        room: &mut Room,
        address: impl Fn(u64) -> u64,
    ) {
        room.led.clone_from(&predicted.led);
        room.led[0] |= self.redirected;
        room.foreseen.clone_from(&predicted.foreseen);
        for (counters, [directions, targets]) in self.counters.iter_mut().zip(predicted.wrong) {
            counters.branch_mispredictions += directions;
            counters.indirect_mispredictions += targets;
        }
        let target = |blocks: &Placed, to| match flow.target(to) {
            Target::Block(number) => blocks.starts[number as usize],
            Target::Address(traced, _) => address(traced),
        };
        self.check_returns(flow, room, &target);
        // SAFETY: there is such a front end only where the host has all of this: see `Slots::new`.
        unsafe {
            self.lead(flow, room, &target);
            self.fetch(flow, room);
            self.bring(room);
            self.supply(flow, room);
            self.time(flow, room);
        }
        self.redirected = room.led[flow.entered.len()] & REDIRECTED;
    }
}
