// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in several layouts at once through front ends in time.

use kernsmith_frontend::{Batch, Counters, CpuModel, DecoupledGeometry, Described, Room};
use kernsmith_trace::Kind;

use super::Text;
use super::replay::{FIXED, Placed, Replay};
use super::timed::Placement;
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
        let mut cut: Vec<TimedChunk> = (0..AT_ONCE).map(|_| TimedChunk::default()).collect();
        loop {
            let mut count = 0;
            while count < AT_ONCE && chunks.next(&mut cut[count]) {
                count += 1;
            }
            for (batch, placed) in batches.iter_mut().zip(&placed) {
                for chunk in &cut[..count] {
                    execute(batch, chunk, &mut room, placed);
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
                bytes: block.bytes,
                last_offset: block.last_offset,
                kernel: block.kernel,
                conditional: block.kind == Kind::Conditional,
            };
            let sizes = self.trace.instructions.sizes(number as usize);
            batch.blocks().add(described, sizes.iter().copied())
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

/// Executes one piece of a trace in a layout.
fn execute(batch: &mut Batch, chunk: &TimedChunk, room: &mut Room, placed: &Placed) {
    let counted = match chunk.begins {
        true => Default::default(),
        false => batch.counters,
    };
    batch.counters = [0, 1].map(|mode| counted[mode] + chunk.fixed[mode]);
    batch.execute(&chunk.flow, room, |traced| placed.address(traced));
    if chunk.warms {
        batch.counters = counted;
    }
}
