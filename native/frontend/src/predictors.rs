// SPDX-License-Identifier: GPL-2.0-or-later
//! What predicts where the flow of one CPU goes, whatever its model is.

use super::{
    Branch, BranchNames, Counters, CpuModel, DecoupledGeometry, PathPredictors, Predictor,
};

/// All predictors of one CPU.
#[derive(Debug, Clone)]
pub struct Predictors {
    predictor: Predictor,
    /// In its place, of a model that has them.
    by_path: Option<Box<PathPredictors>>,
}

impl Predictors {
    /// Everything empty, as after power-on.
    #[must_use]
    pub fn new(model: &CpuModel) -> Self {
        let by_path = model.decoupled.as_ref();
        Self {
            predictor: Predictor::new(&model.predictor),
            by_path: by_path.map(|geometry| Box::new(PathPredictors::new(model, geometry))),
        }
    }

    /// See [`PathPredictors::keep_all_buffers`].
    pub(super) fn keep_all_buffers(&mut self, geometry: &DecoupledGeometry) {
        if let Some(by_path) = &mut self.by_path {
            by_path.keep_all_buffers(geometry);
        }
    }

    /// See [`PathPredictors::set_times`].
    pub(super) fn set_times(&mut self, geometry: &DecoupledGeometry) {
        if let Some(by_path) = &mut self.by_path {
            by_path.set_times(geometry);
        }
    }

    /// Predicts and resolves one executed branch.
    #[inline(always)]
    pub fn branch(&mut self, branch: Branch, names: BranchNames, counters: &mut Counters) {
        match &mut self.by_path {
            Some(by_path) => by_path.branch(branch, names, counters),
            None => self.predictor.resolve(branch, counters),
        }
    }

    /// The flow goes on elsewhere than any branch says: an interrupt, an exception, or a return
    /// from one.
    #[inline(always)]
    pub fn interrupt(&mut self) {
        if let Some(by_path) = &mut self.by_path {
            by_path.interrupt();
        }
    }

    /// What has led to the block that is entered now: to be told to [`super::Fetcher::enter`].
    #[inline(always)]
    pub fn led(&mut self) -> u32 {
        self.by_path.as_mut().map_or(0, |by_path| by_path.led())
    }
}
