// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch prediction: direction of conditional branches, and targets of all.

use super::btb::{ReturnStack, Targets};
use super::{Counters, PredictorGeometry, PredictorKind};

/// One executed branch with its outcome. `pc` is the address of the branch instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    /// A conditional branch; `target` is where it goes when taken.
    Conditional { pc: u64, target: u64, taken: bool },
    /// A direct unconditional jump.
    Jump { pc: u64, target: u64 },
    /// A direct call; `next` is where it returns to.
    Call { pc: u64, target: u64, next: u64 },
    /// A jump through a register or memory.
    IndirectJump { pc: u64, target: u64 },
    /// A call through a register or memory.
    IndirectCall { pc: u64, target: u64, next: u64 },
    /// A return.
    Return { target: u64 },
}

/// Weakly not taken: counters count 0 to 3, from 2 on they say taken.
const WEAKLY_NOT_TAKEN: u8 = 1;

/// The whole predictor. Tables are shared by kernel and user mode, as in hardware.
#[derive(Debug, Clone)]
pub struct Predictor {
    kind: PredictorKind,
    by_history: Vec<u8>,
    /// The direction by address, and whether to believe the one by history instead.
    by_address: Vec<[u8; 2]>,
    table_mask: u64,
    history_mask: u64,
    history: u64,
    pc_shift: u32,
    targets: Targets,
    returns: ReturnStack,
}

impl Predictor {
    /// All tables weakly not taken, all targets unknown.
    #[must_use]
    pub fn new(geometry: &PredictorGeometry) -> Self {
        let size = 1 << geometry.table_bits;
        let address_tables = match geometry.kind {
            PredictorKind::Gshare => 0,
            PredictorKind::Tournament => size,
        };
        Self {
            kind: geometry.kind,
            by_history: vec![WEAKLY_NOT_TAKEN; size],
            by_address: vec![[WEAKLY_NOT_TAKEN; 2]; address_tables],
            table_mask: size as u64 - 1,
            history_mask: (1 << geometry.history_bits) - 1,
            history: 0,
            pc_shift: geometry.pc_shift,
            targets: Targets::new(geometry),
            returns: ReturnStack::new(geometry.return_stack),
        }
    }

    /// Predicts `branch`, compares, learns, and counts.
    #[inline(always)]
    pub fn resolve(&mut self, branch: Branch, counters: &mut Counters) {
        let (pc, target, predicted) = match branch {
            Branch::Conditional { pc, target, taken } => {
                let predicted = self.predict_and_learn(pc, taken);
                counters.conditional_branches += 1;
                counters.branch_mispredictions += u64::from(predicted != taken);
                if !taken {
                    return;
                }
                (pc, target, predicted)
            }
            Branch::Jump { pc, target } => (pc, target, true),
            Branch::Call { pc, target, next } => {
                self.returns.push(next);
                (pc, target, true)
            }
            Branch::Return { target } => {
                counters.taken_branches += 1;
                let known = self.returns.pop() == Some(target);
                counters.indirect_mispredictions += u64::from(!known);
                return;
            }
            Branch::IndirectJump { pc, target } => return self.indirect(pc, target, counters),
            Branch::IndirectCall { pc, target, next } => {
                self.returns.push(next);
                return self.indirect(pc, target, counters);
            }
        };
        counters.taken_branches += 1;
        let known = self.targets.direct(pc, target);
        counters.btb_misses += u64::from(!known && predicted);
    }

    #[inline(never)]
    fn indirect(&mut self, pc: u64, target: u64, counters: &mut Counters) {
        counters.taken_branches += 1;
        counters.indirect_mispredictions += u64::from(!self.targets.indirect(pc, target));
    }

    /// The predicted direction; the tables and the history learn the real one.
    #[inline(always)]
    fn predict_and_learn(&mut self, pc: u64, taken: bool) -> bool {
        let address = pc >> self.pc_shift;
        let by_history = ((address ^ self.history) & self.table_mask) as usize;
        let with_history = self.by_history[by_history];
        self.by_history[by_history] = step(with_history, taken);
        self.history = ((self.history << 1) | u64::from(taken)) & self.history_mask;
        let global = with_history >= 2;
        if self.kind == PredictorKind::Gshare {
            return global;
        }
        let [direction, choice] = &mut self.by_address[(address & self.table_mask) as usize];
        let local = *direction >= 2;
        let predicted = if *choice >= 2 { global } else { local };
        *direction = step(*direction, taken);
        let learnt = step(*choice, global == taken);
        *choice = if global == local { *choice } else { learnt };
        predicted
    }
}

/// A two-bit saturating counter, one step towards 3 or 0.
#[inline(always)]
fn step(counter: u8, up: bool) -> u8 {
    if up {
        (counter + 1).min(3)
    } else {
        counter.saturating_sub(1)
    }
}
