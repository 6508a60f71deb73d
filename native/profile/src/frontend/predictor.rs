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

/// Two-bit counters count 0 to 3, and say taken from 2 on. They begin weakly not taken: four of
/// them in a byte.
const WEAKLY_NOT_TAKEN: u8 = 0b01_01_01_01;

/// For each counter and outcome, the counter's next value: two bits each, `4 × counter` for not
/// taken and `4 × counter + 2` for taken. Outcomes are unpredictable, so there is no branch.
const STEP: u16 = 0b11_10_11_01_10_00_01_00;

/// Directions of conditional branches.
#[derive(Debug, Clone)]
pub struct Directions {
    kind: PredictorKind,
    /// Four counters in each byte.
    by_history: Vec<u8>,
    /// In bits 0 and 1 the direction by address, in bits 2 and 3 whether to believe the one by
    /// history instead.
    by_address: Vec<u8>,
    table_mask: u64,
    history_mask: u64,
    history: u64,
}

impl Directions {
    /// All tables weakly not taken.
    #[must_use]
    pub fn new(geometry: &PredictorGeometry) -> Self {
        let size = 1 << geometry.table_bits;
        let address_tables = match geometry.kind {
            PredictorKind::Gshare => 0,
            PredictorKind::Tournament => size,
        };
        Self {
            kind: geometry.kind,
            by_history: vec![WEAKLY_NOT_TAKEN; size / 4],
            by_address: vec![WEAKLY_NOT_TAKEN & 15; address_tables],
            table_mask: size as u64 - 1,
            history_mask: (1 << geometry.history_bits) - 1,
            history: 0,
        }
    }

    /// A conditional branch, by its address shifted right. Returns whether its direction was
    /// predicted; the tables and the history learn the real one.
    #[inline(always)]
    pub fn predict(&mut self, address: u64, taken: bool) -> bool {
        let number = (address ^ self.history) & self.table_mask;
        let byte = &mut self.by_history[(number / 4) as usize];
        let shift = number as u32 % 4 * 2;
        let counter = *byte >> shift & 3;
        *byte ^= (counter ^ step(counter, taken)) << shift;
        self.history = ((self.history << 1) | u64::from(taken)) & self.history_mask;
        let global = counter >> 1;
        if self.kind == PredictorKind::Gshare {
            return global == u8::from(taken);
        }
        let byte = &mut self.by_address[(address & self.table_mask) as usize];
        let learnt = LEARNT[usize::from(*byte << 2 | global << 1 | u8::from(taken))];
        *byte = learnt & 15;
        learnt >> 4 == 1
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
            Branch::Return { target } => {
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

/// For each byte of `by_address`, direction by history and outcome — bits 2 to 5, 1 and 0 of the
/// index — the byte's next value, and in bit 4 whether the outcome was predicted. Outcomes are
/// unpredictable, so there is no branch.
static LEARNT: [u8; 64] = learnt();

const fn learnt() -> [u8; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        let (direction, choice) = (index as u8 >> 2 & 3, index as u8 >> 4 & 3);
        let (global, taken) = (index & 2 != 0, index & 1 != 0);
        let local = direction >= 2;
        let next = if global == local {
            choice
        } else {
            step(choice, global == taken)
        };
        let predicted = if choice >= 2 { global } else { local };
        table[index] = step(direction, taken) | next << 2 | ((predicted == taken) as u8) << 4;
        index += 1;
    }
    table
}

/// A two-bit saturating counter, one step towards 3 or 0.
#[inline(always)]
const fn step(counter: u8, up: bool) -> u8 {
    (STEP >> (4 * counter + 2 * up as u8)) as u8 & 3
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
