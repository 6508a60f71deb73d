// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch prediction: direction of conditional branches, and targets of all.

use super::btb::{ReturnStack, Targets};
use super::{BranchNames, Counters, PredictorGeometry, PredictorKind};

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
    Return { pc: u64, target: u64 },
}

impl Branch {
    /// BranchNames by addresses, of code that lies in one layout only.
    #[must_use]
    pub fn by_address(self) -> BranchNames {
        let (Self::Conditional { pc, target, .. }
        | Self::Jump { pc, target }
        | Self::Call { pc, target, .. }
        | Self::IndirectJump { pc, target }
        | Self::IndirectCall { pc, target, .. }
        | Self::Return { pc, target }) = self;
        BranchNames {
            pc: pc as u32,
            target: target as u32,
        }
    }
}

/// Two-bit counters count 0 to 3, and say taken from 2 on. They begin weakly not taken.
const WEAKLY_NOT_TAKEN: u8 = 1;

/// Directions of conditional branches.
#[derive(Debug, Clone)]
pub struct Directions {
    /// By address and history: a counter.
    by_history: Vec<u8>,
    /// By address: in bits 0 and 1 a counter, in bits 2 and 3 another that says whether to believe
    /// the one by history instead. Gshare has one entry, which is always 0.
    by_address: Vec<u8>,
    learnt: &'static Learnt,
    history_mask: u64,
    history: u64,
}

impl Directions {
    /// All tables weakly not taken.
    #[must_use]
    pub fn new(geometry: &PredictorGeometry) -> Self {
        let size = 1 << geometry.table_bits;
        let (by_address, learnt) = match geometry.kind {
            PredictorKind::Gshare => (vec![0], &GSHARE),
            PredictorKind::Tournament => (vec![WEAKLY_NOT_TAKEN * 0b101; size], &TOURNAMENT),
        };
        Self {
            by_history: vec![WEAKLY_NOT_TAKEN; size],
            by_address,
            learnt,
            history_mask: (1 << geometry.history_bits) - 1,
            history: 0,
        }
    }

    /// A conditional branch, by its address shifted right. Returns whether its direction was
    /// predicted; the tables and the history learn the real one.
    #[inline(always)]
    pub fn predict(&mut self, address: u64, taken: bool) -> bool {
        let last = self.by_history.len() - 1;
        let by_history = &mut self.by_history[(address ^ self.history) as usize & last];
        let last = self.by_address.len() - 1;
        let by_address = &mut self.by_address[address as usize & last];
        self.history = ((self.history << 1) | u64::from(taken)) & self.history_mask;
        let index = *by_address << 3 | *by_history << 1 | u8::from(taken);
        let learnt = self.learnt[usize::from(index & 127)];
        *by_history = learnt & 3;
        *by_address = learnt >> 2 & 15;
        learnt >> 6 == 1
    }
}

/// The whole predictor. Tables are shared by kernel and user mode, as in hardware.
#[derive(Debug, Clone)]
pub struct Predictor {
    directions: Directions,
    targets: Targets,
    returns: ReturnStack,
    pc_shift: u32,
}

impl Predictor {
    /// All directions weakly not taken, all targets unknown.
    #[must_use]
    pub fn new(geometry: &PredictorGeometry) -> Self {
        Self {
            directions: Directions::new(geometry),
            targets: Targets::new(geometry),
            returns: ReturnStack::new(geometry.return_stack),
            pc_shift: geometry.pc_shift,
        }
    }

    /// Predicts `branch`, compares, learns, and counts.
    #[inline(always)]
    pub fn resolve(&mut self, branch: Branch, counters: &mut Counters) {
        match branch {
            Branch::Conditional { pc, target, taken } => {
                let correct = self.directions.predict(pc >> self.pc_shift, taken);
                counters.conditional_branches += 1;
                counters.branch_mispredictions += u64::from(!correct);
                if taken {
                    counters.taken_branches += 1;
                    let known = self.targets.direct(pc, target);
                    counters.btb_misses += u64::from(!known && correct);
                }
            }
            Branch::Jump { pc, target } => {
                counters.taken_branches += 1;
                counters.btb_misses += u64::from(!self.targets.direct(pc, target));
            }
            Branch::Call { pc, target, next } => {
                self.returns.push(next);
                counters.taken_branches += 1;
                counters.btb_misses += u64::from(!self.targets.direct(pc, target));
            }
            Branch::Return { target, .. } => {
                counters.taken_branches += 1;
                let known = self.returns.pop() == Some(target);
                counters.indirect_mispredictions += u64::from(!known);
            }
            Branch::IndirectJump { pc, target } => {
                counters.taken_branches += 1;
                counters.indirect_mispredictions += u64::from(!self.targets.indirect(pc, target));
            }
            Branch::IndirectCall { pc, target, next } => {
                self.returns.push(next);
                counters.taken_branches += 1;
                counters.indirect_mispredictions += u64::from(!self.targets.indirect(pc, target));
            }
        }
    }
}

/// For each entry of `by_address` (bits 3 to 6 of the index), entry of `by_history` (bits 1 and 2)
/// and outcome (bit 0): the next `by_history` in bits 0 and 1, the next `by_address` in bits 2 to 5,
/// and in bit 6 whether the outcome was predicted. Outcomes are unpredictable for the host, so
/// there is no branch.
type Learnt = [u8; 128];

static TOURNAMENT: Learnt = learnt(PredictorKind::Tournament);
static GSHARE: Learnt = learnt(PredictorKind::Gshare);

const fn learnt(kind: PredictorKind) -> Learnt {
    let mut table = [0; 128];
    let mut index = 0;
    while index < table.len() {
        let taken = index & 1 != 0;
        let (by_history, direction, choice) = (
            index as u8 >> 1 & 3,
            index as u8 >> 3 & 3,
            index as u8 >> 5 & 3,
        );
        let (global, local) = (by_history >= 2, direction >= 2);
        let (by_address, predicted) = match kind {
            PredictorKind::Gshare => (0, global),
            PredictorKind::Tournament => {
                let next = if global == local {
                    choice
                } else {
                    step(choice, global == taken)
                };
                let predicted = if choice >= 2 { global } else { local };
                (step(direction, taken) | next << 2, predicted)
            }
        };
        table[index] =
            step(by_history, taken) | by_address << 2 | ((predicted == taken) as u8) << 6;
        index += 1;
    }
    table
}

/// A two-bit saturating counter, one step towards 3 or 0.
const fn step(counter: u8, up: bool) -> u8 {
    match (counter, up) {
        (3, true) => 3,
        (0, false) => 0,
        (counter, true) => counter + 1,
        (counter, false) => counter - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_saturate() {
        assert_eq!(
            [0, 1, 2, 3].map(|counter| step(counter, true)),
            [1, 2, 3, 3]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|counter| step(counter, false)),
            [0, 0, 1, 2]
        );
    }
}
