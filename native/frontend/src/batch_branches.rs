// SPDX-License-Identifier: GPL-2.0-or-later
//! The branches of a piece: what the predictors say of them, and what that costs.

use super::batch::{Batch, FALSE_HIT, Room, UNKNOWN};
use super::block_ahead::Jumped;
use super::branch_key::{Before, BranchKey};
use super::flow::{
    Condition, DECODED, FIRST_ASKED, FIRST_CONDITION, Flow, REDIRECTED, RESOLVED, Taken, Transfer,
};
use super::placed::Placed;
use super::target_room::{SECOND, is_far};

impl Batch {
    /// The path before each taken branch, and behind the last one.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn follow_path(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
    ) {
        let words = self.history.folds().len();
        room.folds.resize((flow.taken.len() + 1) * words, [0; 2]);
        let ends = &self.blocks.ends[..];
        let mut before = room.folds.chunks_exact_mut(words);
        for (taken, before) in flow.taken.iter().zip(&mut before) {
            before.copy_from_slice(self.history.folds());
            let target = match ends.get(taken.to as usize) {
                Some(block) => block.start.into(),
                None => target(&self.blocks, taken.to),
            };
            let pc = ends[(taken.block >> 1) as usize].pc;
            self.history.take(pc.into(), target);
        }
        for last in before {
            last.copy_from_slice(self.history.folds());
        }
    }

    /// The directions before each conditional branch, and behind the last one; and what each taken
    /// branch leaves for those in its target's line.
    #[inline(never)]
    pub(super) fn follow_directions(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
        before: Before,
    ) {
        room.folds.clear();
        for condition in &flow.conditions {
            room.folds.extend_from_slice(self.history.folds());
            self.history.resolve(condition.block & 1 == 1);
        }
        room.folds.extend_from_slice(self.history.folds());
        room.before.clear();
        room.before.push(before);
        let ends = &self.blocks.ends;
        room.before.extend(flow.taken.iter().map(|taken| Before {
            pc: ends[(taken.block >> 1) as usize].pc,
            target: target(&self.blocks, taken.to) as u32,
        }));
        self.before = room.before.last().copied();
    }

    /// Directions: first where all of them are in the tables, so that the host has these at hand.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn predict_directions(&mut self, flow: &Flow, room: &mut Room) {
        let words = self.history.folds().len();
        let (ends, directions) = (&self.blocks.ends[..], &mut self.directions);
        let pc = |block: u32| u64::from(ends[(block >> 2) as usize].pc);
        room.places.resize(flow.conditions.len() * words, [0; 2]);
        let places = room.places.chunks_exact_mut(words);
        let (by_direction, before) = (self.before.is_some(), &room.before[..]);
        let key = |condition: &Condition| match by_direction {
            false => BranchKey::of(pc(condition.block)),
            true => before[condition.after as usize].key(pc(condition.block)),
        };
        for (number, (condition, places)) in flow.conditions.iter().zip(places).enumerate() {
            let key = key(condition);
            let at = if by_direction {
                number
            } else {
                condition.after as usize
            };
            let folds = &room.folds[at * words..][..words];
            for (place, folds) in places.iter_mut().zip(folds) {
                *place = directions.places(key, *folds);
            }
            directions.expect(places);
        }
        let led = &mut room.led[..];
        let foreseen = &mut room.foreseen[FIRST_CONDITION as usize..];
        let mut wrong = [0; 2];
        let told = flow.conditions.iter().zip(room.places.chunks_exact(words));
        for ((condition, places), foreseen) in told.zip(foreseen) {
            let taken = condition.block & 1 == 1;
            let right = directions.predict(key(condition), places, taken);
            *foreseen = right;
            let how = u32::from(!right).wrapping_neg() & (RESOLVED | REDIRECTED);
            led[condition.at as usize] |= how;
            wrong[(condition.block >> 1 & 1) as usize] += u64::from(!right);
        }
        for (counters, wrong) in self.counters.iter_mut().zip(wrong) {
            counters.branch_mispredictions += wrong;
        }
    }

    /// What the layout decides of where branches lead.
    pub(super) fn predict_targets(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
    ) {
        let words = self.history.folds().len();
        for (number, asked) in flow.asked.iter().enumerate() {
            let taken = flow.taken[asked.taken as usize];
            let target = target(&self.blocks, taken.to);
            let block = asked.call.unwrap_or(taken.block >> 1) as usize;
            let (start, ends) = (self.blocks.starts[block], self.blocks.ends[block]);
            let right = match asked.call {
                Some(_) => start + u64::from(ends.bytes) == target,
                None => {
                    let pc = start + u64::from(ends.pc.wrapping_sub(ends.start));
                    let (key, at) = match self.before {
                        None => (BranchKey::of(pc), asked.taken),
                        Some(_) => (room.before[asked.taken as usize].key(pc), asked.after),
                    };
                    let folds = &room.folds[at as usize * words..][..words];
                    self.targets.predict(key, folds, target)
                }
            };
            room.foreseen[FIRST_ASKED as usize + number] = right;
            let mode = (taken.block & 1) as usize;
            self.counters[mode].indirect_mispredictions += u64::from(!right);
        }
    }

    /// By what buffers know taken branches.
    #[inline(never)]
    fn name_branches(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
    ) {
        let ends = &self.blocks.ends[..];
        let end = |taken: &Taken| ends[(taken.block >> 1) as usize];
        room.known_by.clear();
        let Some(ahead) = &mut self.ahead else {
            let branches = flow.taken.iter().map(|taken| end(taken).branch);
            return room.known_by.extend(branches);
        };
        room.ended.clear();
        room.ended.extend(flow.taken.iter().map(|taken| {
            ahead.end(Jumped {
                pc: end(taken).pc,
                target: target(&self.blocks, taken.to) as u32,
                is_jump: !matches!(taken.transfer, Transfer::Call | Transfer::Return),
            })
        }));
        room.known_by
            .extend(room.ended.iter().map(|block| block.key));
    }

    /// What taken branches cost the predictor.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn lead(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
    ) {
        self.name_branches(flow, room, target);
        let (found, known_by) = (&mut room.found, &room.known_by[..]);
        found.clear();
        found.resize(flow.taken.len(), UNKNOWN);
        let ends = &self.blocks.ends[..];
        let leads = |taken: &Taken| {
            let pc = ends[(taken.block >> 1) as usize].pc;
            (pc, target(&self.blocks, taken.to) as u32)
        };
        if let Some(exclusive) = &mut self.exclusive {
            for (found, (taken, branch)) in found.iter_mut().zip(flow.taken.iter().zip(known_by)) {
                let (pc, target) = leads(taken);
                // A return's target is in no buffer.
                let far = taken.transfer != Transfer::Return && is_far(pc, target);
                if let Some(level) = exclusive.access(*branch, far) {
                    *found = self.buffers[level].1;
                }
            }
        }
        let told = match self.exclusive {
            None => &mut self.buffers[..],
            Some(_) => &mut [],
        };
        // The nearest one comes last.
        for (buffer, cycles, target_room) in told.iter_mut().rev() {
            if target_room.is_even() {
                let branches = known_by.iter().copied();
                buffer.fold(branches, 0, |place: usize, _, known| {
                    found[place] = if known { *cycles } else { found[place] };
                    place + 1
                });
                continue;
            }
            let is_two = |(taken, branch): (&Taken, &u32)| {
                let (pc, target) = leads(taken);
                taken.transfer != Transfer::Return && target_room.is_two(*branch, pc, target)
            };
            room.two.clear();
            room.two.extend(flow.taken.iter().zip(known_by).map(is_two));
            let two = &room.two[..];
            let places = known_by.iter().zip(two).flat_map(|(first, two)| {
                let first = *first;
                [Some(first), two.then_some(first ^ SECOND)]
            });
            // Behind the first place of a branch comes its second one.
            let (mut place, mut second) = (0, false);
            buffer.fold(places.flatten(), (), |(), _, known| {
                if !second {
                    found[place] = if known { *cycles } else { found[place] };
                }
                second = !second && two[place];
                place += usize::from(!second);
            });
        }
        if let Some(ahead) = &mut self.ahead {
            for (found, block) in found.iter_mut().zip(&room.ended) {
                if ahead.are_others(*block, *found != UNKNOWN) {
                    *found = FALSE_HIT;
                }
            }
        }
        let mut missed = [0; 2];
        let (each, call) = (self.costs.taken as u32, self.costs.call as u32);
        let unknown = self.costs.unknown_conditional;
        let false_hit = self.ahead.as_ref().map_or(0, |ahead| ahead.false_hit);
        for (taken, found) in flow.taken.iter().zip(found) {
            let right = room.foreseen[taken.foreseen as usize];
            let known = *found < FALSE_HIT;
            let each = each + u32::from(taken.transfer == Transfer::Call) * call;
            let each = each + u32::from(*found == FALSE_HIT) * false_hit;
            let how = match known {
                true => each + *found,
                false if taken.transfer == Transfer::Conditional => each | unknown,
                false => each | DECODED,
            };
            room.led[taken.at as usize] |= if right { how } else { RESOLVED };
            missed[(taken.block & 1) as usize] += u64::from(right & !known);
        }
        for (counters, missed) in self.counters.iter_mut().zip(missed) {
            counters.btb_misses += missed;
        }
    }
}
