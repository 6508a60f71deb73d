// SPDX-License-Identifier: GPL-2.0-or-later
//! Windows of a trace for models that differ in times alone: each is come to in the state that a core
//! has there which went through all of the trace.
//!
//! Predictors learn from millions of branches. Those of a core that sees one of sixteen windows alone
//! mispredict several times as often as those of one that sees all, and what a misprediction costs
//! would then seem to decide far more than it does. So states are kept, as by T. F. Wenisch,
//! R. E. Wunderlich, B. Falsafi and J. C. Hoe, Simulation sampling with live-points, 2006.

use std::ops::Range;

use kernsmith_frontend::{Counters, CpuModel, FrontEnd};
use kernsmith_trace::Trace;

use super::timed::{AsTraced, Placed, Run, modes, of_modes};
use super::windows::Windows;

/// A trace as it was traced, with the state before each window of a sample.
#[derive(Debug)]
pub struct Warmed {
    trace: Trace,
    model: CpuModel,
    windows: Vec<Window>,
    /// What all of it costs with that model, in user and in kernel mode.
    pub whole: [Counters; 2],
}

#[derive(Debug)]
struct Window {
    range: Range<usize>,
    state: FrontEnd,
    before: Option<Placed>,
}

impl Warmed {
    /// Goes through all of a trace. every: one of so many windows of the region is kept.
    ///
    /// # Errors
    ///
    /// The model is a sum of penalties: it has no times that could be others.
    pub fn new(trace: Trace, model: CpuModel, every: usize) -> Result<Self, String> {
        if model.decoupled.is_none() {
            return Err(format!(
                "the CPU model {} is a sum of penalties",
                model.name
            ));
        }
        let is_kernel = |word| trace.blocks[trace.words.block(word) as usize].kernel;
        let sample = Windows::new(&trace.words, is_kernel).sample(every);
        let placed = AsTraced(&trace.blocks);
        let mut front_end = FrontEnd::for_other_times(&model);
        front_end.map(trace.facts.pages.clone());
        let mut nobody = ();
        let mut run = Run::new(&trace, &placed, &modes(&trace), front_end, &mut nobody);
        let mut windows: Vec<Window> = Vec::new();
        let mut at = 0;
        for range in sample.ranges {
            // What was before the region is none of it.
            if run.all(at..range.start) {
                windows.clear();
            }
            let window = Window {
                range: range.clone(),
                state: run.front_end.state(),
                before: run.before,
            };
            if run.all(range.clone()) {
                windows.clear();
            }
            at = range.end;
            windows.push(window);
        }
        if run.all(at..trace.words.len()) {
            windows.clear();
        }
        let whole = of_modes(run.counters());
        Ok(Self {
            trace,
            model,
            windows,
            whole,
        })
    }

    /// What the windows cost with another model, in user and in kernel mode.
    ///
    /// # Errors
    ///
    /// It differs in more than times ([`CpuModel::differs_in_times_alone`]).
    pub fn costs(&self, model: &CpuModel) -> Result<[Counters; 2], String> {
        if !self.model.differs_in_times_alone(model) {
            let (mine, other) = (&self.model.name, &model.name);
            return Err(format!(
                "the CPU models {mine} and {other} differ in more than times"
            ));
        }
        let placed = AsTraced(&self.trace.blocks);
        let mut nobody = ();
        let front_end = FrontEnd::for_other_times(model);
        let mut run = Run::new(
            &self.trace,
            &placed,
            &modes(&self.trace),
            front_end,
            &mut nobody,
        );
        for window in &self.windows {
            run.front_end.go_on(&window.state);
            run.front_end.set_times(model);
            run.before = window.before;
            run.all(window.range.clone());
        }
        Ok(of_modes(run.counters()))
    }
}
