// SPDX-License-Identifier: GPL-2.0-or-later
//! What runs ahead of fetch: directions, targets and buffers of taken branches.
//!
//! Branch target buffers: Lee, Smith, *Branch Prediction Strategies and Branch Target Buffer Design*
//! (IEEE Computer 17(1), 1984), in up to three levels (Bonanno et al., *Two Level Bulk Preload Branch
//! Prediction*, HPCA 2013, has two and why). How vendors index theirs is not disclosed: sets are taken
//! by the branch's low address bits, or as `block_ahead.rs` has it.
//!
//! Time decides nothing of what they say, so they need no clock: what a branch costs is told with the
//! block that it leads to, and may be heard by who fetches that much later.

use super::block_ahead::{BlockAhead, Jumped};
use super::branch_key::{Before, BranchKey, BranchNames, drawn};
use super::btb::ReturnStack;
use super::clocks::ticks;
use super::costs::unknown_conditional;
use super::exclusive_buffers::ExclusiveBuffers;
use super::flow::{DECODED, REDIRECTED, RESOLVED};
use super::ittage::TaggedTargets;
use super::path_history::PathHistory;
use super::store::Store;
use super::tage::{LANES, TABLES, TaggedDirections};
use super::target_room::{SECOND, TargetRoom, is_far};
use super::{Branch, BufferGeometry, Counters, CpuModel, DecoupledGeometry};

/// The predictors of one core.
#[derive(Debug, Clone)]
pub struct PathPredictors {
    history: PathHistory,
    /// Of a history of directions: the taken branch before.
    before: Option<Before>,
    /// The draw of the names that branches are known by; none where it is their address.
    draw: Option<u32>,
    directions: TaggedDirections,
    targets: TaggedTargets,
    returns: ReturnStack,
    /// Branch target buffers, the nearest first, with what a hit in each costs the predictor.
    buffers: Vec<Buffer>,
    /// What is in them, where one alone knows a branch.
    exclusive: Option<ExclusiveBuffers<u64>>,
    /// Of buffers that are asked a block ahead.
    ahead: Option<BlockAhead>,
    /// What each taken branch costs it, and what a call costs it more, in ticks.
    taken: u32,
    call: u32,
    /// What it waits for a direction that a faster predictor got otherwise.
    overrides: u32,
    /// [`DECODED`] or [`RESOLVED`].
    unknown_conditional: u32,
    led: u32,
}

impl PathPredictors {
    /// Nothing is known.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DecoupledGeometry) -> Self {
        let tage = &geometry.predictor;
        Self {
            history: tage.path_history(),
            before: tage.by_direction.then(Before::default),
            draw: tage.by_function.then_some(tage.draw),
            directions: TaggedDirections::new(tage),
            targets: TaggedTargets::new(tage),
            returns: ReturnStack::new(model.predictor.return_stack),
            buffers: empty(geometry.told_buffers()),
            exclusive: ExclusiveBuffers::new(geometry),
            ahead: geometry.ahead.as_ref().map(BlockAhead::new),
            taken: ticks(geometry.fetch.taken_cycles) as u32,
            call: ticks(geometry.fetch.call_cycles) as u32,
            overrides: ticks(tage.override_cycles) as u32,
            unknown_conditional: unknown_conditional(&geometry.fetch),
            led: REDIRECTED,
        }
    }

    /// From now on, with those buffers, too, that tell nothing as long as farther ones cost the same
    /// (see [`DecoupledGeometry::told_buffers`]): before anything is executed.
    pub fn keep_all_buffers(&mut self, geometry: &DecoupledGeometry) {
        self.buffers = empty(&geometry.buffers);
    }

    /// From now on with the times of a model that differs in times alone; all buffers must be kept.
    pub fn set_times(&mut self, geometry: &DecoupledGeometry) {
        self.taken = ticks(geometry.fetch.taken_cycles) as u32;
        self.call = ticks(geometry.fetch.call_cycles) as u32;
        for (buffer, one) in self.buffers.iter_mut().zip(&geometry.buffers) {
            buffer.cycles = ticks(one.cycles) as u32;
        }
        if let (Some(ahead), Some(one)) = (&mut self.ahead, &geometry.ahead) {
            ahead.false_hit = ticks(one.false_hit_cycles) as u32;
        }
    }

    /// What has led to the block that is entered now, as [`super::Decoupled::enter`] takes it.
    #[inline(always)]
    pub fn led(&mut self) -> u32 {
        std::mem::take(&mut self.led)
    }

    /// An interrupt or exception: what was predicted is of no use.
    #[inline(always)]
    pub fn interrupt(&mut self) {
        self.led |= RESOLVED | REDIRECTED;
    }

    /// Predicts and resolves one executed branch.
    #[inline(always)]
    pub fn branch(&mut self, branch: Branch, names: BranchNames, counters: &mut Counters) {
        let draw = self.draw;
        let known_by = |address: u64, name: u32| match draw {
            Some(draw) => u64::from(drawn(name, draw)),
            None => address,
        };
        let mut each = self.taken;
        let returns = matches!(branch, Branch::Return { .. });
        let conditional = matches!(branch, Branch::Conditional { .. });
        let (pc, target, right) = match branch {
            Branch::Conditional { pc, target, taken } => {
                counters.conditional_branches += 1;
                let right = self.direction(self.key(pc, known_by(pc, names.pc)), taken);
                counters.branch_mispredictions += u64::from(!right);
                if self.before.is_some() {
                    self.history.resolve(taken);
                }
                if !taken {
                    if !right {
                        self.interrupt();
                    } else if self.directions.overrides {
                        self.led += self.overrides;
                    }
                    return;
                }
                if right && self.directions.overrides {
                    each += self.overrides;
                }
                (pc, target, right)
            }
            Branch::Jump { pc, target } => (pc, target, true),
            Branch::Call { pc, target, next } => {
                self.returns.push(next);
                each += self.call;
                (pc, target, true)
            }
            Branch::Return { pc, target } => {
                let right = self.returns.pop() == Some(target);
                counters.indirect_mispredictions += u64::from(!right);
                (pc, target, right)
            }
            Branch::IndirectJump { pc, target } => {
                let key = self.key(pc, known_by(pc, names.pc));
                let right = self.indirect(key, known_by(target, names.target), counters);
                (pc, target, right)
            }
            Branch::IndirectCall { pc, target, next } => {
                self.returns.push(next);
                each += self.call;
                let key = self.key(pc, known_by(pc, names.pc));
                let right = self.indirect(key, known_by(target, names.target), counters);
                (pc, target, right)
            }
        };
        counters.taken_branches += 1;
        let (from, to) = (known_by(pc, names.pc), known_by(target, names.target));
        match &mut self.before {
            None => self.history.take(from, to),
            Some(before) => (before.pc, before.target) = (from as u32, target as u32),
        }
        // A return's target is in no buffer.
        let told = if returns { pc } else { target };
        let found = match &self.ahead {
            None => self.find_target(pc >> 1 ^ pc >> 6, pc, told),
            Some(_) => self.find_ahead((pc, target, told), branch, &mut each),
        };
        self.led |= REDIRECTED
            | match (right, found) {
                (false, _) => RESOLVED,
                (true, Some(cycles)) => each + cycles,
                (true, None) => {
                    counters.btb_misses += 1;
                    match conditional {
                        true => each | self.unknown_conditional,
                        false => each | DECODED,
                    }
                }
            };
    }

    #[inline(always)]
    fn key(&self, address: u64, known_by: u64) -> BranchKey {
        match self.before {
            None => BranchKey::of(known_by),
            Some(before) => before.key(address, known_by),
        }
    }

    #[inline(always)]
    fn direction(&mut self, key: BranchKey, taken: bool) -> bool {
        let mut places = [[0; 2]; TABLES / LANES];
        let folds = self.history.folds();
        for (place, folds) in places.iter_mut().zip(folds) {
            *place = self.directions.places(key, *folds);
        }
        self.directions.predict(key, &places[..folds.len()], taken)
    }

    fn indirect(&mut self, key: BranchKey, target: u64, counters: &mut Counters) -> bool {
        let right = self.targets.predict(key, self.history.folds(), target);
        counters.indirect_mispredictions += u64::from(!right);
        right
    }

    /// The same of buffers that are asked a block ahead, which may take its block for another one. told:
    /// as [`Self::find_target`] takes the target. each: what the predictor needs for the branch.
    #[inline(never)]
    fn find_ahead(
        &mut self,
        (pc, target, told): (u64, u64, u64),
        branch: Branch,
        each: &mut u32,
    ) -> Option<u32> {
        let block = self.ahead.as_mut()?.end(Jumped {
            pc: pc as u32,
            target: target as u32,
            is_jump: !matches!(
                branch,
                Branch::Call { .. } | Branch::IndirectCall { .. } | Branch::Return { .. }
            ),
        });
        let found = self.find_target(block.key.into(), pc, told);
        let ahead = self.ahead.as_mut()?;
        if ahead.are_others(block, found.is_some()) {
            *each += ahead.false_hit;
            return None;
        }
        found
    }

    /// What the nearest buffer that knows the branch costs; all know it from now on.
    ///
    /// branch: by what it is known; where that is its address, mixed, so that branches at equal
    /// distances spread over the sets.
    #[inline(always)]
    fn find_target(&mut self, branch: u64, pc: u64, target: u64) -> Option<u32> {
        if let Some(exclusive) = &mut self.exclusive {
            let level = exclusive.access(branch, is_far(pc as u32, target as u32))?;
            return Some(self.buffers[level].cycles);
        }
        let mut found = None;
        for buffer in &mut self.buffers {
            if buffer.known.access(branch) && found.is_none() {
                found = Some(buffer.cycles);
            }
            if !buffer.room.is_even() && buffer.room.is_two(branch as u32, pc as u32, target as u32)
            {
                buffer.known.access(branch ^ u64::from(SECOND));
            }
        }
        found
    }
}

/// A level of target buffers.
#[derive(Debug, Clone)]
struct Buffer {
    known: Store,
    /// What a hit costs the predictor, in ticks.
    cycles: u32,
    room: TargetRoom,
}

fn empty<'a>(buffers: impl IntoIterator<Item = &'a BufferGeometry>) -> Vec<Buffer> {
    let buffers = buffers.into_iter();
    let of = |one: &BufferGeometry| Buffer {
        known: Store::new(one.entries, one.ways, one.replacement),
        cycles: ticks(one.cycles) as u32,
        room: TargetRoom::new(one.to_other_page),
    };
    buffers.map(of).collect()
}
