// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in several layouts at once through front ends in time.

use kernsmith_frontend::{
    Batch, BatchPredictors, Counters, CpuModel, DecoupledGeometry, Described, Predicted, Room,
};
use kernsmith_trace::Kind;

use super::Text;
use super::replay::{FIXED, Placed, Replay};
use super::timed::{Placement, operations};
use super::timed_chunks::{TimedChunk, TimedChunks};

/// Pieces of a trace that one layout goes through before the next one does: while it does, all of its
/// tables are in the host's caches; the pieces themselves are read one after the other.
const AT_ONCE: usize = 64;

impl Replay {
    /// The same as [`Self::timed_in`] of each layout, several times as fast; `None` where the host or
    /// a block does not allow it.
    pub(super) fn timed_in_pieces(
        &self,
        text: &Text,
        layouts: &[Vec<u64>],
        (model, geometry): (&CpuModel, &DecoupledGeometry),
        every: usize,
    ) -> Option<Vec<[Counters; 2]>> {
        let mut placed = Vec::new();
        for starts in layouts {
            placed.push(Placed {
                replay: self,
                text,
                starts,
            });
        }
        let batch = |placed: &Placed| {
            let pages = self.pages_in(text, placed.starts);
            let mut batch = Batch::new(model, geometry, pages)?;
            self.describe(placed, &mut batch).then_some(batch)
        };
        let mut batches = placed.iter().map(batch).collect::<Option<Vec<_>>>()?;
        let sample = self.windows.sample(every);
        let parted = |block: u32| self.is_parted(text, block);
        let returns = model.predictor.return_stack;
        let mut chunks = TimedChunks::new(&self.trace, &sample, parted, returns);
        let mut room = Room::default();
        let mut predictors = Predicting::of(geometry, layouts.len());
        let mut predicted: Vec<_> = (0..AT_ONCE).map(|_| Predicted::default()).collect();
        let mut cut: Vec<TimedChunk> = (0..AT_ONCE).map(|_| TimedChunk::default()).collect();
        loop {
            let mut count = 0;
            while count < AT_ONCE && chunks.next(&mut cut[count]) {
                count += 1;
            }
            let cut = &cut[..count];
            match &mut predictors {
                Predicting::Once(one) => {
                    for (chunk, predicted) in cut.iter().zip(&mut predicted) {
                        predict(one, &batches[0], chunk, predicted, &placed[0]);
                    }
                    for (batch, placed) in batches.iter_mut().zip(&placed) {
                        for (chunk, predicted) in cut.iter().zip(&predicted) {
                            execute(batch, chunk, predicted, &mut room, placed);
                        }
                    }
                }
                Predicting::Each(each) => {
                    for ((batch, placed), own) in batches.iter_mut().zip(&placed).zip(each) {
                        for chunk in cut {
                            let predicted = &mut predicted[0];
                            predict(own, batch, chunk, predicted, placed);
                            execute(batch, chunk, predicted, &mut room, placed);
                        }
                    }
                }
            }
            if count < AT_ONCE {
                break;
            }
        }
        let whole =
            |batch: Batch| std::array::from_fn(|mode| self.whole(mode, batch.counters[mode]));
        Some(batches.into_iter().map(whole).collect())
    }

    /// Tells a front end of all blocks; false when one cannot be executed there.
    fn describe(&self, placed: &Placed, batch: &mut Batch) -> bool {
        (0..).zip(&self.trace.blocks).all(|(number, block)| {
            let described = Described {
                start: placed.block(number),
                name: block.name,
                bytes: block.bytes,
                last_offset: block.last_offset,
                kernel: block.kernel,
                conditional: block.kind == Kind::Conditional,
            };
            let sizes = self.trace.instructions.sizes(number as usize);
            let operations = || operations(&self.trace, number as usize);
            let blocks = batch.blocks_mut();
            blocks.add(described, sizes.iter().copied(), operations)
        })
    }

    /// Whether what lies behind a block may be elsewhere, or something else, in another layout.
    fn is_parted(&self, text: &Text, number: u32) -> bool {
        let block = self.trace.blocks[number as usize];
        match self.section(number) {
            FIXED => block.kernel,
            section => {
                let section = &text.sections()[section as usize];
                block.start + u64::from(block.bytes) >= section.start + section.size
            }
        }
    }
}

/// Who predicts.
enum Predicting {
    /// One for all layouts.
    Once(Box<BatchPredictors>),
    /// One for each.
    Each(Vec<BatchPredictors>),
}

impl Predicting {
    fn of(geometry: &DecoupledGeometry, layouts: usize) -> Self {
        let new = || BatchPredictors::new(geometry);
        match BatchPredictors::are_of_all_layouts(geometry) && layouts > 0 {
            true => Self::Once(Box::new(new())),
            false => Self::Each((0..layouts).map(|_| new()).collect()),
        }
    }
}

/// Predicts one piece of a trace in a layout.
fn predict(
    predictors: &mut BatchPredictors,
    batch: &Batch,
    chunk: &TimedChunk,
    predicted: &mut Predicted,
    placed: &Placed,
) {
    let address = |traced| placed.address(traced);
    predictors.predict(&chunk.flow, batch.blocks(), predicted, address);
}

/// Executes it there.
fn execute(
    batch: &mut Batch,
    chunk: &TimedChunk,
    predicted: &Predicted,
    room: &mut Room,
    placed: &Placed,
) {
    let counted = match chunk.begins {
        true => Default::default(),
        false => batch.counters,
    };
    batch.counters = [0, 1].map(|mode| counted[mode] + chunk.fixed[mode]);
    batch.execute(&chunk.flow, predicted, room, |traced| {
        placed.address(traced)
    });
    if chunk.warms {
        batch.counters = counted;
    }
}
