// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated CPU front end: instruction caches, instruction TLBs and branch prediction.
//!
//! It is fed with what was executed — stretches of code ([`FrontEnd::fetch`]) and branches
//! ([`FrontEnd::branch`]) — in order, and adds what each of them cost to the [`Counters`] it is
//! given. Two callers use it: the tracer, live, and the layout evaluator, over a recorded trace.
//! `docs/model.md` says what is modelled and what is not.

mod btb;
mod cache;
mod counters;
mod fields;
mod filter;
mod model;
mod predictor;
mod recency;
mod set_associative;
mod tlb;

pub use btb::{ReturnStack, TargetsByPath};
pub use cache::InstructionCaches;
pub use counters::Counters;
pub use fields::ModelError;
pub use filter::{Filter, Levels, TlbKey, Tlbs};
pub use model::{
    CacheGeometry, CpuModel, PredictorGeometry, PredictorKind, RepCost, Replacement, TlbArrays,
    TlbEntries, TlbGeometry,
};
pub use predictor::{Branch, Directions, Predictor};
pub use set_associative::{Key, SetAssociative};
pub use tlb::InstructionTlbs;

use kernsmith_arch::PageMap;

/// All simulated structures of one CPU.
#[derive(Debug, Clone)]
pub struct FrontEnd {
    caches: InstructionCaches,
    tlbs: InstructionTlbs,
    predictor: Predictor,
}

impl FrontEnd {
    /// Everything empty, as after power-on.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        Self {
            caches: InstructionCaches::new(model),
            tlbs: InstructionTlbs::new(model),
            predictor: Predictor::new(&model.predictor),
        }
    }

    /// From now on, code is mapped like this; before, all pages are small. TLBs keep what they
    /// have.
    pub fn map(&mut self, pages: PageMap) {
        self.tlbs.map(pages);
    }

    /// Fetches the code bytes `start..=last` (addresses; `last` is the last byte).
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
        self.predictor.resolve(branch, counters);
    }
}
