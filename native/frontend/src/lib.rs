// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated CPU front end: instruction caches, instruction TLBs and branch prediction.
//!
//! It is fed with what was executed — stretches of code ([`FrontEnd::fetch`]) and branches
//! ([`FrontEnd::branch`]) — in order, and adds what each of them cost to the [`Counters`] it is
//! given. Two callers use it: the tracer, live, and the layout evaluator, over a recorded trace.
//! `docs/model.md` says what is modelled and what is not.

mod ahead;
mod batch;
mod batch_branches;
mod batch_fetch;
mod batch_time;
mod btb;
mod cache;
mod clocks;
mod costs;
mod counters;
mod data_cache;
mod data_counters;
mod data_geometry;
mod data_side;
mod data_tlb;
mod decoupled;
mod decoupled_geometry;
mod fields;
mod filter;
mod flow;
mod ittage;
mod latest;
mod line_events;
mod loops;
mod model;
mod path_history;
mod placed;
mod predictor;
mod recency;
mod reorder;
mod set_associative;
mod shape;
mod slots;
mod stride;
mod tage;
mod tlb;

pub use batch::{Batch, Room};
pub use btb::{ReturnStack, TargetsByPath};
pub use cache::InstructionCaches;
pub use counters::Counters;
pub use data_cache::DataCaches;
pub use data_counters::DataCounters;
pub use data_geometry::{DataGeometry, StrideGeometry};
pub use data_side::Access;
pub use data_tlb::{DataTlb, Walked};
pub use decoupled::Decoupled;
pub use decoupled_geometry::{
    BufferGeometry, CoreGeometry, DecoupledGeometry, FetchGeometry, LoopGeometry, OpCacheGeometry,
    TageGeometry,
};
pub use fields::ModelError;
pub use filter::{Filter, Levels, TlbKey, Tlbs};
pub use flow::{Flow, Foreseen, MOST as MOST_BLOCKS, Target};
pub use latest::Latest;
pub use line_events::{LineEvent, LineEvents};
pub use model::{
    CacheGeometry, CpuModel, PredictorGeometry, PredictorKind, RepCost, Replacement, TlbArrays,
    TlbEntries, TlbGeometry,
};
pub use placed::{Described, Placed};
pub use predictor::{Branch, Directions, Predictor};
pub use reorder::Reorder;
pub use set_associative::{Key, SetAssociative};
pub use shape::{Shapes, Stretch};
pub use stride::Strides;
pub use tlb::InstructionTlbs;

use kernsmith_arch::PageMap;

/// All simulated structures of one CPU.
#[derive(Debug, Clone)]
pub struct FrontEnd {
    caches: InstructionCaches,
    tlbs: InstructionTlbs,
    predictor: Predictor,
    /// In place of all others, of a model that has one.
    decoupled: Option<Box<(Decoupled, DecoupledGeometry)>>,
    shapes: Shapes,
}

impl FrontEnd {
    /// Everything empty, as after power-on.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        let decoupled = |geometry: &DecoupledGeometry| {
            Box::new((Decoupled::new(model, geometry), geometry.clone()))
        };
        Self {
            caches: InstructionCaches::new(model),
            tlbs: InstructionTlbs::new(model),
            predictor: Predictor::new(&model.predictor),
            decoupled: model.decoupled.as_ref().map(decoupled),
            shapes: Shapes::default(),
        }
    }

    /// From now on, code is mapped like this; before, all pages are small. TLBs keep what they
    /// have.
    pub fn map(&mut self, pages: PageMap) {
        match &mut self.decoupled {
            Some(decoupled) => decoupled.0.map(pages),
            None => self.tlbs.map(pages),
        }
    }

    /// From now on, loads and stores are followed, too: before anything is executed. Only a model
    /// that has a data side can do so.
    pub fn follow_data(&mut self, model: &CpuModel) {
        if let (Some(decoupled), Some(geometry)) = (&mut self.decoupled, &model.data) {
            decoupled.0.follow_data(model, geometry);
        }
    }

    /// From now on, data are mapped like this; before, all pages are small.
    pub fn map_data(&mut self, pages: PageMap) {
        if let Some(decoupled) = &mut self.decoupled {
            decoupled.0.map_data(pages);
        }
    }

    /// A load or store of the block that was entered last; nothing unless data are followed.
    #[inline(always)]
    pub fn access(&mut self, access: Access, counters: &mut DataCounters) {
        if let Some(decoupled) = &mut self.decoupled {
            decoupled.0.access(access, counters);
        }
    }

    /// What happens to the lines of the instruction cache.
    pub fn line_events(&mut self) -> &mut LineEvents {
        match &mut self.decoupled {
            Some(decoupled) => &mut decoupled.0.events,
            None => &mut self.caches.events,
        }
    }

    /// Whether [`Self::enter`] needs to be told of this block first, by [`Self::describe`].
    #[inline(always)]
    #[must_use]
    pub fn wants(&self, number: usize) -> bool {
        self.decoupled.is_some() && !self.shapes.knows(number)
    }

    /// The block of this number begins at `start` and has instructions of these sizes in bytes;
    /// conditional: its last one is a conditional branch, which the one before it sets the flags
    /// for.
    pub fn describe(
        &mut self,
        number: usize,
        start: u64,
        sizes: impl Iterator<Item = u8>,
        conditional: bool,
    ) {
        if let Some(decoupled) = &self.decoupled {
            let geometry = (&decoupled.1.fetch, decoupled.1.op_cache.as_ref());
            self.shapes.add(number, start, sizes, conditional, geometry);
        }
    }

    /// Fetches the block of this number, the code bytes `start..=last`.
    #[inline(always)]
    pub fn enter(&mut self, number: usize, start: u64, last: u64, counters: &mut Counters) {
        match &mut self.decoupled {
            Some(decoupled) => decoupled
                .0
                .enter((start, last), self.shapes.of(number), counters),
            None => self.fetch(start, last, counters),
        }
    }

    /// Fetches the code bytes `start..=last` (addresses; `last` is the last byte), whatever block
    /// they are of: only by a model that is not decoupled.
    ///
    /// One access is counted for each line that is entered: code that goes on in the line that
    /// was fetched last costs nothing. So it does not matter how the caller cuts the stream.
    #[inline(always)]
    pub fn fetch(&mut self, start: u64, last: u64, counters: &mut Counters) {
        if self.caches.is_current(start, last) {
            return;
        }
        self.tlbs.fetch(start, last, counters);
        self.caches.fetch(start, last, counters);
    }

    /// Predicts and resolves one executed branch.
    #[inline(always)]
    pub fn branch(&mut self, branch: Branch, counters: &mut Counters) {
        match &mut self.decoupled {
            Some(decoupled) => decoupled.0.branch(branch, counters),
            None => self.predictor.resolve(branch, counters),
        }
    }

    /// The flow goes on elsewhere than any branch says: an interrupt, an exception, or a return
    /// from one.
    pub fn interrupt(&mut self) {
        if let Some(decoupled) = &mut self.decoupled {
            decoupled.0.interrupt();
        }
    }
}
