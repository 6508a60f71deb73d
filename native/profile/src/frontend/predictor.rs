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

/// The whole predictor. Tables are shared by kernel and user mode, as in hardware.
#[derive(Debug, Clone)]
pub struct Predictor {
    kind: PredictorKind,
    /// Four counters in each byte.
    by_history: Vec<u8>,
    /// In bits 0 and 1 the direction by address, in bits 2 and 3 whether to believe the one by
    /// history instead.
    by_address: Vec<u8>,
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
            by_history: vec![WEAKLY_NOT_TAKEN; size / 4],
            by_address: vec![WEAKLY_NOT_TAKEN; address_tables],
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
        let number = (address ^ self.history) & self.table_mask;
        let byte = &mut self.by_history[(number / 4) as usize];
        let shift = number as u32 % 4 * 2;
        let counter = *byte >> shift & 3;
        *byte ^= (counter ^ step(counter, taken)) << shift;
        self.history = ((self.history << 1) | u64::from(taken)) & self.history_mask;
        let global = counter >= 2;
        if self.kind == PredictorKind::Gshare {
            return global;
        }
        let byte = &mut self.by_address[(address & self.table_mask) as usize];
        let (direction, choice) = (*byte & 3, *byte >> 2 & 3);
        let local = direction >= 2;
        let learnt = if global == local {
            choice
        } else {
            step(choice, global == taken)
        };
        *byte = step(direction, taken) | learnt << 2;
        if choice >= 2 { global } else { local }
    }
}

/// A two-bit saturating counter, one step towards 3 or 0.
#[inline(always)]
fn step(counter: u8, up: bool) -> u8 {
    (STEP >> (4 * counter + 2 * u8::from(up))) as u8 & 3
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
