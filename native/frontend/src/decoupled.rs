// SPDX-License-Identifier: GPL-2.0-or-later
//! A front end in which prediction runs ahead of fetch, in time: see `clocks.rs`. What predicts is in
//! `path_predictors.rs`.

use kernsmith_arch::PageMap;

use super::clocks::{Clocks, TICKS, later, ticks};
use super::costs::Costs;
use super::data_side::{DataSide, Shared};
use super::fill_buffers::FillBuffers;
use super::flow::REDIRECTED;
use super::shape::Stretch;
use super::store::Store;
use super::{
    Access, Counters, CpuModel, DataCounters, DataGeometry, DecoupledGeometry, InstructionTlbs,
    LineEvents, OpCache, SetAssociative, Shapes,
};

/// A line that no address is in.
const NOWHERE: u64 = u64::MAX;

/// What fetches, and the clocks of one core.
#[derive(Debug, Clone)]
pub struct Decoupled {
    clocks: Clocks,
    /// Lines, with the time at which each arrives.
    l1i: Store<u64>,
    /// Of L1i.
    pub events: LineEvents,
    /// Of L1i.
    fills: FillBuffers,
    l2: SetAssociative<()>,
    tlbs: InstructionTlbs,
    op_cache: Option<OpCache>,
    /// By set of L1i: when the last line arrives that it waits for. None where sets wait for many.
    sets: Box<[u64]>,
    /// Where data are followed.
    data: Option<Box<DataSide>>,
    /// The flow goes on elsewhere than behind the block before.
    redirected: bool,
    line: u64,
    /// Whether L1i was asked for it.
    is_fetched: bool,
    window: u64,
    line_shift: u32,
    /// log2 of a window's bytes, of the micro-op cache or, without one, of the decoders.
    window_shift: u32,
    /// See [`super::FetchGeometry`] and [`super::OpCacheGeometry`].
    by_line: bool,
    spares_lines: bool,
    costs: Costs,
}

impl Decoupled {
    /// Everything empty.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DecoupledGeometry) -> Self {
        let lines = |bytes: usize| bytes / model.line_bytes;
        let op_cache = geometry.op_cache.as_ref();
        Self {
            clocks: Clocks::new(&geometry.core, geometry.fetch.queue_blocks),
            l1i: Store::new(
                lines(model.l1i.bytes),
                model.l1i.ways,
                model.l1i.replacement,
            ),
            events: LineEvents::default(),
            fills: FillBuffers::new(geometry.fetch.fill_buffers),
            l2: SetAssociative::new(lines(model.l2.bytes), model.l2.ways, model.l2.replacement),
            tlbs: InstructionTlbs::new(model),
            op_cache: op_cache.map(OpCache::new),
            sets: match geometry.fetch.one_fill_a_set {
                true => vec![0; lines(model.l1i.bytes) / model.l1i.ways].into_boxed_slice(),
                false => Box::default(),
            },
            data: None,
            redirected: true,
            line: NOWHERE,
            is_fetched: false,
            window: NOWHERE,
            line_shift: model.line_bytes.trailing_zeros(),
            window_shift: op_cache
                .map_or(geometry.fetch.decode_bytes, |cache| cache.window_bytes)
                .trailing_zeros(),
            by_line: geometry.fetch.queue_of_lines,
            spares_lines: op_cache.is_some_and(|cache| cache.spares_lines),
            costs: Costs::new(model, geometry),
        }
    }

    /// From now on with the times of a model that differs in times alone.
    pub fn set_times(&mut self, model: &CpuModel, geometry: &DecoupledGeometry) {
        self.costs = Costs::new(model, geometry);
        self.clocks.set_times(&geometry.core);
    }

    /// From now on, code is mapped like this.
    pub fn map(&mut self, pages: PageMap) {
        self.tlbs.map(pages);
    }

    /// From now on, loads and stores are followed: what data cost is no constant any more.
    pub fn follow_data(&mut self, model: &CpuModel, geometry: &DataGeometry) {
        self.costs.stall = ticks(geometry.stall_cycles);
        self.data = Some(Box::new(DataSide::new(model, geometry)));
    }

    /// From now on, data are mapped like this.
    pub fn map_data(&mut self, pages: PageMap) {
        if let Some(data) = &mut self.data {
            data.map(pages);
        }
    }

    /// A load or store of the block that was entered last.
    #[inline(always)]
    pub fn access(&mut self, access: Access, counters: &mut DataCounters) {
        if let Some(data) = &mut self.data {
            let shared = Shared {
                l2: &mut self.l2,
                tlbs: &mut self.tlbs,
            };
            let dispatched = (self.clocks.ops(), self.clocks.dispatched);
            data.access(access, dispatched, shared, counters);
        }
    }

    /// A block of code from `start` to `last` is fetched, of this number and shape.
    /// led: what led there, see [`super::PathPredictors::led`].
    #[inline(always)]
    pub fn enter(
        &mut self,
        (start, last): (u64, u64),
        (shapes, number): (&Shapes, usize),
        led: u32,
        counters: &mut Counters,
    ) {
        let (ops, stretches) = shapes.of(number);
        self.costs.steer(&mut self.clocks, shapes.chains(), led);
        self.redirected = led & REDIRECTED != 0;
        let before = self.clocks.dispatched;
        if self.by_line {
            self.line_by_line((start, last), (shapes, stretches), counters);
        } else {
            self.clocks.predict_block();
            let available = self.lines(start, last, counters);
            self.clocks.fetched = self.clocks.fetched.max(available);
            for stretch in stretches {
                self.clocks.fetched += self.supply(shapes, stretch);
            }
            self.clocks.leave_queue();
        }
        let room = match &mut self.data {
            Some(data) => data.room(self.clocks.ops() + u64::from(ops)),
            None => 0,
        };
        self.clocks.dispatch((shapes.chains(), number), ops, room);
        counters.ticks += self.clocks.dispatched - before + u64::from(ops) * self.costs.stall;
    }

    /// When the lines of a block are there.
    #[inline(always)]
    fn lines(&mut self, start: u64, last: u64, counters: &mut Counters) -> u64 {
        let mut available = self.clocks.predicted + TICKS;
        let (first, end) = (start >> self.line_shift, last >> self.line_shift);
        for line in first..=end {
            if line != self.line {
                // What is predicted in a cycle ends with its line; the cycle of a taken branch is
                // the first one of where it goes.
                if line > first || !self.redirected {
                    self.clocks.predicted += TICKS;
                    available = available.max(self.clocks.predicted + TICKS);
                }
                self.line = line;
                counters.l1i_accesses += 1;
                available = available.max(self.fetch_line(line, start, last, counters));
            }
        }
        available
    }

    /// Predicts and fetches a block line by line: each has a place in the queue, and so has what a taken
    /// branch leads to.
    #[inline(always)]
    fn line_by_line(
        &mut self,
        (start, last): (u64, u64),
        (shapes, stretches): (&Shapes, &[Stretch]),
        counters: &mut Counters,
    ) {
        let redirected = self.redirected;
        let mut stretches = stretches.iter().peekable();
        let mut decodes = false;
        let (first, end) = (start >> self.line_shift, last >> self.line_shift);
        for line in first..=end {
            let (enters, led) = (line != self.line, redirected && line == first);
            if enters || led {
                self.clocks.predict_block();
            }
            if enters {
                // See `Self::lines`.
                self.clocks.predicted += u64::from(!led) * TICKS;
                (self.line, self.is_fetched) = (line, false);
            }
            // Windows that begin here, or before; where none does, an instruction goes on from there.
            let (windows, lines) = (self.window_shift, self.line_shift);
            let begins = |one: &&Stretch| one.window << windows >> lines <= line;
            let (mut takes, mut missed) = (0, None);
            while let Some(stretch) = stretches.next_if(begins) {
                takes += self.supply(shapes, stretch);
                let decodes = self.op_cache.as_ref().is_none_or(|cache| !cache.cached);
                missed = Some(missed.unwrap_or(false) | decodes);
            }
            decodes = missed.unwrap_or(decodes);
            let mut available = self.clocks.predicted + TICKS;
            if !self.is_fetched && (decodes || !self.spares_lines) {
                self.is_fetched = true;
                counters.l1i_accesses += 1;
                available = available.max(self.fetch_line(line, start, last, counters));
            } else if enters {
                self.translate(start, last, counters);
            }
            self.clocks.fetched = later(self.clocks.fetched, available) + takes;
            if enters || led {
                self.clocks.leave_queue();
            }
        }
    }

    /// Translates a block's pages. Returns the ticks until that is done.
    #[inline(always)]
    fn translate(&mut self, start: u64, last: u64, counters: &mut Counters) -> u64 {
        let translated = (counters.itlb_misses, counters.stlb_misses);
        self.tlbs.fetch(start, last, counters);
        let first = counters.itlb_misses - translated.0;
        let second = counters.stlb_misses - translated.1;
        self.clocks.predicted += first * self.costs.page + second * self.costs.walk;
        first * self.costs.itlb + second * self.costs.stlb
    }

    #[inline(always)]
    fn fetch_line(&mut self, line: u64, start: u64, last: u64, counters: &mut Counters) -> u64 {
        let walked = self.translate(start, last, counters);
        let clocks = &mut self.clocks;
        let now = (clocks.predicted, clocks.fetched);
        let asked = self.costs.asked(now, &mut clocks.translated, walked);
        let ready = match self.l1i.lookup(line) {
            Some(ready) => ready,
            None => {
                counters.l1i_misses += 1;
                self.events.missed(line);
                self.bring(line, asked, counters)
            }
        };
        if self.costs.next_line && self.l1i.lookup(line + 1).is_none() {
            self.bring(line + 1, asked + TICKS, &mut Counters::default());
        }
        ready.max(asked)
    }

    #[inline(never)]
    fn bring(&mut self, line: u64, asked: u64, counters: &mut Counters) -> u64 {
        let near = self.l2.access(line);
        counters.l2i_misses += u64::from(!near);
        let mut way = if near {
            self.costs.l2
        } else {
            self.costs.memory
        };
        if let (Some(data), false) = (&mut self.data, near)
            && !data.caches.behind_l2(line)
        {
            way += data.memory;
        }
        let set = (line as usize).checked_rem(self.sets.len());
        let free = set.map_or(0, |set| self.sets[set]);
        let ready = self.fills.bring(later(asked, free), way);
        if let Some(set) = set {
            self.sets[set] = ready;
        }
        self.events.evicted(self.l1i.insert(line, ready));
        ready
    }

    /// Micro-ops of a window come from their cache or from the decoders. Returns what that takes.
    #[inline(always)]
    fn supply(&mut self, shapes: &Shapes, stretch: &Stretch) -> u64 {
        let same = stretch.window == self.window && !self.redirected;
        self.window = stretch.window;
        self.redirected = false;
        let Some(op_cache) = &mut self.op_cache else {
            // Where fetch goes on in a window, its bytes are there already.
            return match same {
                true => u64::from(stretch.ops) * self.costs.decoded_op,
                false => u64::from(stretch.decode),
            };
        };
        let cached = op_cache.access(stretch, same, shapes.begins(stretch));
        let takes = match (cached, same) {
            (true, true) => 0,
            (true, false) => self.costs.window,
            (false, _) => {
                u64::from(stretch.decode) + u64::from(op_cache.cached) * self.costs.to_decoders
            }
        };
        op_cache.cached = cached;
        takes
    }
}
