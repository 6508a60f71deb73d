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
mod batch_predictors;
mod batch_time;
mod block_ahead;
mod branch_key;
mod btb;
mod cache;
mod chains;
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
mod dice;
mod exclusive_buffers;
mod fetcher;
mod fields;
mod fill_buffers;
mod filter;
mod flow;
mod ittage;
mod lanes;
mod latest;
mod line_events;
mod loops;
mod model;
mod op_cache;
mod path_history;
mod path_predictors;
mod placed;
mod predictor;
mod predictors;
mod recency;
mod reorder;
mod set_associative;
mod shape;
mod slots;
mod store;
mod stride;
mod tage;
mod tage_geometry;
mod target_room;
mod tlb;
mod window;

pub use batch::{Batch, Room};
pub use batch_predictors::{BatchPredictors, Predicted};
pub use branch_key::BranchNames;
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
    AheadGeometry, BufferGeometry, CoreGeometry, DecoupledGeometry, FetchGeometry, OpCacheGeometry,
};
pub use fetcher::Fetcher;
pub use fields::ModelError;
pub use filter::{Filter, Levels, TlbKey, Tlbs};
pub use flow::{Flow, Foreseen, MOST as MOST_BLOCKS, Target, Transfer};
pub use latest::Latest;
pub use line_events::{LineEvent, LineEvents};
pub use model::{
    CacheGeometry, CpuModel, PredictorGeometry, PredictorKind, RepCost, Replacement, TlbArrays,
    TlbEntries, TlbGeometry,
};
pub use op_cache::OpCache;
pub use path_predictors::PathPredictors;
pub use placed::{Described, Placed};
pub use predictor::{Branch, Directions, Predictor};
pub use predictors::Predictors;
pub use reorder::Reorder;
pub use set_associative::{Key, SetAssociative};
pub use shape::{Shapes, Stretch};
pub use stride::Strides;
pub use tage_geometry::{LoopGeometry, TageGeometry};
pub use tlb::InstructionTlbs;

use kernsmith_arch::{Operation, PageMap};

/// All simulated structures of one CPU: what predicts, and what fetches. Nothing that is fetched
/// changes what is predicted, so each may also go its own way, the second one later than the first.
#[derive(Debug, Clone)]
pub struct FrontEnd {
    predictors: Predictors,
    fetcher: Fetcher,
}

impl FrontEnd {
    /// Everything empty, as after power-on.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        Self {
            predictors: Predictors::new(model),
            fetcher: Fetcher::new(model),
        }
    }

    /// Everything empty, but so that [`Self::set_times`] may be called later.
    #[must_use]
    pub fn for_other_times(model: &CpuModel) -> Self {
        let mut front_end = Self::new(model);
        if let Some(geometry) = &model.decoupled {
            front_end.predictors.keep_all_buffers(geometry);
        }
        front_end
    }

    /// The state of all structures, without what is known of blocks.
    #[must_use]
    pub fn state(&self) -> Self {
        Self {
            predictors: self.predictors.clone(),
            fetcher: self.fetcher.state(),
        }
    }

    /// Goes on in a state; what is known of blocks stays.
    pub fn go_on(&mut self, state: &Self) {
        self.predictors.clone_from(&state.predictors);
        self.fetcher.go_on(&state.fetcher);
    }

    /// From now on with the times of a model for which [`CpuModel::differs_in_times_alone`] holds:
    /// what is in caches, TLBs, buffers and predictors depends on none of them. Data must not be
    /// followed.
    pub fn set_times(&mut self, model: &CpuModel) {
        if let Some(geometry) = &model.decoupled {
            self.predictors.set_times(geometry);
            self.fetcher.set_times(model, geometry);
        }
    }

    /// See [`Fetcher::map`].
    pub fn map(&mut self, pages: PageMap) {
        self.fetcher.map(pages);
    }

    /// See [`Fetcher::follow_data`].
    pub fn follow_data(&mut self, model: &CpuModel) {
        self.fetcher.follow_data(model);
    }

    /// See [`Fetcher::map_data`].
    pub fn map_data(&mut self, pages: PageMap) {
        self.fetcher.map_data(pages);
    }

    /// See [`Fetcher::access`].
    #[inline(always)]
    pub fn access(&mut self, access: Access, counters: &mut DataCounters) {
        self.fetcher.access(access, counters);
    }

    /// What happens to the lines of the instruction cache.
    pub fn line_events(&mut self) -> &mut LineEvents {
        self.fetcher.line_events()
    }

    /// See [`Fetcher::wants`].
    #[inline(always)]
    #[must_use]
    pub fn wants(&self, number: usize) -> bool {
        self.fetcher.wants(number)
    }

    /// See [`Fetcher::describe`].
    pub fn describe(
        &mut self,
        number: usize,
        start: u64,
        sizes: impl Iterator<Item = u8>,
        conditional: bool,
        operations: impl FnOnce() -> Vec<Operation>,
    ) {
        self.fetcher
            .describe(number, start, sizes, conditional, operations);
    }

    /// Fetches the block of this number, the code bytes `start..=last`.
    #[inline(always)]
    pub fn enter(&mut self, number: usize, start: u64, last: u64, counters: &mut Counters) {
        let led = self.predictors.led();
        self.fetcher.enter(number, (start, last), led, counters);
    }

    /// See [`Fetcher::fetch`].
    #[inline(always)]
    pub fn fetch(&mut self, start: u64, last: u64, counters: &mut Counters) {
        self.fetcher.fetch(start, last, counters);
    }

    /// See [`Predictors::branch`].
    #[inline(always)]
    pub fn branch(&mut self, branch: Branch, names: BranchNames, counters: &mut Counters) {
        self.predictors.branch(branch, names, counters);
    }

    /// See [`Predictors::interrupt`].
    pub fn interrupt(&mut self) {
        self.predictors.interrupt();
    }
}
