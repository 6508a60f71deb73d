// SPDX-License-Identifier: GPL-2.0-or-later
//! What fetches the code of one CPU, whatever its model is: caches, TLBs and, in time, the clocks.

use kernsmith_arch::{Operation, PageMap};

use super::{
    Access, Counters, CpuModel, DataCounters, Decoupled, DecoupledGeometry, InstructionCaches,
    InstructionTlbs, LineEvents, Shapes,
};

/// All structures of one CPU that are behind its predictors.
#[derive(Debug, Clone)]
pub struct Fetcher {
    caches: InstructionCaches,
    tlbs: InstructionTlbs,
    /// In place of both, of a model that has one.
    decoupled: Option<Box<(Decoupled, DecoupledGeometry)>>,
    shapes: Shapes,
}

impl Fetcher {
    /// Everything empty, as after power-on.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        let decoupled = |geometry: &DecoupledGeometry| {
            Box::new((Decoupled::new(model, geometry), geometry.clone()))
        };
        Self {
            caches: InstructionCaches::new(model),
            tlbs: InstructionTlbs::new(model),
            decoupled: model.decoupled.as_ref().map(decoupled),
            shapes: Shapes::default(),
        }
    }

    /// Without what is known of blocks.
    pub(super) fn state(&self) -> Self {
        Self {
            caches: self.caches.clone(),
            tlbs: self.tlbs.clone(),
            decoupled: self.decoupled.clone(),
            shapes: Shapes::default(),
        }
    }

    /// Goes on in a state; what is known of blocks stays.
    pub(super) fn go_on(&mut self, state: &Self) {
        let shapes = std::mem::take(&mut self.shapes);
        *self = state.clone();
        self.shapes = shapes;
    }

    /// See [`Decoupled::set_times`].
    pub(super) fn set_times(&mut self, model: &CpuModel, geometry: &DecoupledGeometry) {
        if let Some(decoupled) = &mut self.decoupled {
            decoupled.0.set_times(model, geometry);
            decoupled.1 = geometry.clone();
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
    /// for. operations: what they wait for, asked for by a model whose instructions wait for each other.
    pub fn describe(
        &mut self,
        number: usize,
        start: u64,
        sizes: impl Iterator<Item = u8>,
        conditional: bool,
        operations: impl FnOnce() -> Vec<Operation>,
    ) {
        if let Some(decoupled) = &self.decoupled {
            let geometry = &decoupled.1;
            self.shapes
                .add(number, start, sizes, conditional, operations, geometry);
        }
    }

    /// Fetches the block of this number, the code bytes `start..=last`. led: what its predictors say
    /// of how the flow came there, see [`super::Predictors::led`].
    #[inline(always)]
    pub fn enter(
        &mut self,
        number: usize,
        (start, last): (u64, u64),
        led: u32,
        counters: &mut Counters,
    ) {
        match &mut self.decoupled {
            Some(decoupled) => {
                let shape = (&self.shapes, number);
                decoupled.0.enter((start, last), shape, led, counters);
            }
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
}
