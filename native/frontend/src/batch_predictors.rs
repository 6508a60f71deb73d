// SPDX-License-Identifier: GPL-2.0-or-later
//! What predictors of directions and targets say of a piece's branches: first the histories of all,
//! then all directions, then all targets, so that the host has each one's tables at hand.
//!
//! Where these know branches by what no layout changes ([`super::BranchNames`]), they say the same in all
//! layouts, and are asked once for all of them.

use super::DecoupledGeometry;
use super::branch_key::{Before, BranchKey, drawn};
use super::flow::{
    Condition, FIRST_ASKED, FIRST_CONDITION, FORESEEN, Flow, NEVER, REDIRECTED, RESOLVED, Target,
};
use super::ittage::TaggedTargets;
use super::path_history::{Folds, PathHistory};
use super::placed::Placed;
use super::tage::TaggedDirections;

/// What was predicted of a piece.
#[derive(Debug)]
pub struct Predicted {
    /// By place among the blocks that are entered, and one behind them: see [`Flow`].
    pub(super) led: Vec<u32>,
    /// What returns lead to, layouts decide: theirs is still to come.
    pub(super) foreseen: Vec<bool>,
    /// Of user and kernel mode: directions and targets that were wrong.
    pub(super) wrong: [[u64; 2]; 2],
}

impl Default for Predicted {
    fn default() -> Self {
        Self {
            led: Vec::new(),
            foreseen: vec![true; FORESEEN],
            wrong: [[0; 2]; 2],
        }
    }
}

/// What is worked out of a piece before it is predicted, in memory that is used again for each.
#[derive(Debug, Default)]
struct Piece {
    /// Before each taken branch, or each conditional one if histories are of directions; and behind
    /// the last one.
    folds: Vec<Folds>,
    /// Of histories of directions: the taken branch before the piece, and each one of it.
    before: Vec<Before>,
    /// By conditional branch: where it is in the predictor's tables.
    places: Vec<Folds>,
}

/// The predictors of one core, or of that core in many layouts.
#[derive(Debug)]
pub struct BatchPredictors {
    history: PathHistory,
    /// Of histories of directions: the taken branch before.
    before: Option<Before>,
    /// The draw of the names that branches are known by; none where it is their address.
    draw: Option<u32>,
    directions: TaggedDirections,
    targets: TaggedTargets,
    piece: Piece,
}

impl BatchPredictors {
    /// Nothing is known.
    #[must_use]
    pub fn new(geometry: &DecoupledGeometry) -> Self {
        let tage = &geometry.predictor;
        Self {
            history: tage.path_history(),
            before: tage.by_direction.then(Before::default),
            draw: tage.by_function.then_some(tage.draw),
            directions: TaggedDirections::new(tage),
            targets: TaggedTargets::new(tage),
            piece: Piece::default(),
        }
    }

    /// Whether they say the same in all layouts. Of histories of directions they do not: what lies in
    /// one line is for the layout to say.
    #[must_use]
    pub fn are_of_all_layouts(geometry: &DecoupledGeometry) -> bool {
        geometry.predictor.by_function && !geometry.predictor.by_direction
    }

    /// Predicts and resolves all branches of a piece. address: where what was at an address is.
    pub fn predict(
        &mut self,
        flow: &Flow,
        blocks: &Placed,
        predicted: &mut Predicted,
        address: impl Fn(u64) -> u64,
    ) {
        predicted.led.clone_from(&flow.led);
        predicted.foreseen[NEVER as usize] = false;
        predicted.wrong = [[0; 2]; 2];
        let mut piece = std::mem::take(&mut self.piece);
        // SAFETY: blocks are placed only where the host has all of this: see `Slots::new`.
        unsafe {
            match self.before {
                None => self.follow_path(flow, blocks, &mut piece, &address),
                Some(before) => {
                    self.follow_directions(flow, blocks, &mut piece, &address, before);
                }
            }
            self.predict_directions(flow, blocks, &mut piece, predicted);
        }
        self.predict_targets(flow, blocks, &piece, predicted, &address);
        self.piece = piece;
    }

    /// What a branch's target is known by.
    fn target(&self, flow: &Flow, blocks: &Placed, to: u32, address: impl Fn(u64) -> u64) -> u64 {
        match (flow.target(to), self.draw) {
            (Target::Block(number), None) => blocks.starts[number as usize],
            (Target::Block(number), _) => blocks.ends[number as usize].start_known_by.into(),
            (Target::Address(traced, _), None) => address(traced),
            (Target::Address(_, name), Some(draw)) => drawn(name, draw).into(),
        }
    }

    /// The path before each taken branch, and behind the last one.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    fn follow_path(
        &mut self,
        flow: &Flow,
        blocks: &Placed,
        piece: &mut Piece,
        address: &impl Fn(u64) -> u64,
    ) {
        let words = self.history.folds().len();
        let folds = &mut piece.folds;
        folds.resize((flow.taken.len() + 1) * words, [0; 2]);
        let ends = &blocks.ends[..];
        let mut before = folds.chunks_exact_mut(words);
        for (taken, before) in flow.taken.iter().zip(&mut before) {
            before.copy_from_slice(self.history.folds());
            let target = match ends.get(taken.to as usize) {
                Some(block) => block.start_known_by.into(),
                None => self.target(flow, blocks, taken.to, address),
            };
            let pc = ends[(taken.block >> 1) as usize].pc_known_by;
            self.history.take(pc.into(), target);
        }
        for last in before {
            last.copy_from_slice(self.history.folds());
        }
    }

    /// The directions before each conditional branch, and behind the last one; and what each taken
    /// branch leaves for those in its target's line.
    #[inline(never)]
    fn follow_directions(
        &mut self,
        flow: &Flow,
        blocks: &Placed,
        piece: &mut Piece,
        address: &impl Fn(u64) -> u64,
        before: Before,
    ) {
        piece.folds.clear();
        for condition in &flow.conditions {
            piece.folds.extend_from_slice(self.history.folds());
            self.history.resolve(condition.block & 1 == 1);
        }
        piece.folds.extend_from_slice(self.history.folds());
        let each = flow.taken.iter().map(|taken| Before {
            pc: blocks.ends[(taken.block >> 1) as usize].pc_known_by,
            target: match flow.target(taken.to) {
                Target::Block(number) => blocks.starts[number as usize] as u32,
                Target::Address(traced, _) => address(traced) as u32,
            },
        });
        piece.before.clear();
        piece.before.push(before);
        piece.before.extend(each);
        self.before = piece.before.last().copied();
    }

    /// Directions: first where all of them are in the tables, so that the host has these at hand.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    fn predict_directions(
        &mut self,
        flow: &Flow,
        blocks: &Placed,
        piece: &mut Piece,
        predicted: &mut Predicted,
    ) {
        let words = self.history.folds().len();
        let (ends, directions) = (&blocks.ends[..], &mut self.directions);
        piece.places.resize(flow.conditions.len() * words, [0; 2]);
        let places = piece.places.chunks_exact_mut(words);
        let (by_direction, before) = (self.before.is_some(), &piece.before[..]);
        let key = |condition: &Condition| {
            let end = &ends[(condition.block >> 2) as usize];
            let pc = u64::from(end.pc_known_by);
            match by_direction {
                false => BranchKey::of(pc),
                true => before[condition.after as usize].key(end.pc.into(), pc),
            }
        };
        for (number, (condition, places)) in flow.conditions.iter().zip(places).enumerate() {
            let key = key(condition);
            let at = if by_direction {
                number
            } else {
                condition.after as usize
            };
            let folds = &piece.folds[at * words..][..words];
            for (place, folds) in places.iter_mut().zip(folds) {
                *place = directions.places(key, *folds);
            }
            directions.expect(places);
        }
        let led = &mut predicted.led[..];
        let foreseen = &mut predicted.foreseen[FIRST_CONDITION as usize..];
        let told = flow.conditions.iter().zip(piece.places.chunks_exact(words));
        for ((condition, places), foreseen) in told.zip(foreseen) {
            let taken = condition.block & 1 == 1;
            let right = directions.predict(key(condition), places, taken);
            *foreseen = right;
            let how = u32::from(!right).wrapping_neg() & (RESOLVED | REDIRECTED);
            led[condition.at as usize] |= how;
            predicted.wrong[(condition.block >> 1 & 1) as usize][0] += u64::from(!right);
        }
    }

    /// Targets of indirect jumps and calls.
    fn predict_targets(
        &mut self,
        flow: &Flow,
        blocks: &Placed,
        piece: &Piece,
        predicted: &mut Predicted,
        address: &impl Fn(u64) -> u64,
    ) {
        let words = self.history.folds().len();
        let indirect = flow.asked.iter().enumerate();
        for (number, asked) in indirect.filter(|(_, asked)| asked.call.is_none()) {
            let taken = flow.taken[asked.taken as usize];
            let target = self.target(flow, blocks, taken.to, address);
            let block = (taken.block >> 1) as usize;
            let (start, ends) = (blocks.starts[block], blocks.ends[block]);
            let lies_at = start + u64::from(ends.pc.wrapping_sub(ends.start));
            let pc = match self.draw {
                Some(_) => ends.pc_known_by.into(),
                None => lies_at,
            };
            let (key, at) = match self.before {
                None => (BranchKey::of(pc), asked.taken),
                Some(_) => {
                    let before = piece.before[asked.taken as usize];
                    (before.key(lies_at, pc), asked.after)
                }
            };
            let folds = &piece.folds[at as usize * words..][..words];
            let right = self.targets.predict(key, folds, target);
            predicted.foreseen[FIRST_ASKED as usize + number] = right;
            predicted.wrong[(taken.block & 1) as usize][1] += u64::from(!right);
        }
    }
}
