// SPDX-License-Identifier: GPL-2.0-or-later
//! The branches of a piece: by what buffers know them, and what they cost.

use super::batch::{Batch, FALSE_HIT, Room, UNKNOWN};
use super::block_ahead::Jumped;
use super::flow::{DECODED, FIRST_ASKED, Flow, RESOLVED, Taken, Transfer};
use super::placed::Placed;
use super::target_room::{SECOND, is_far};

impl Batch {
    /// Whether what lies behind a call is what is returned to: what the layout decides of where
    /// branches lead.
    pub(super) fn check_returns(
        &mut self,
        flow: &Flow,
        room: &mut Room,
        target: &impl Fn(&Placed, u32) -> u64,
    ) {
        for (number, asked) in flow.asked.iter().enumerate() {
            let Some(call) = asked.call else {
                continue;
            };
            let taken = flow.taken[asked.taken as usize];
            let behind = self.blocks.starts[call as usize]
                + u64::from(self.blocks.ends[call as usize].bytes);
            let right = behind == target(&self.blocks, taken.to);
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
        room.keys_of_taken.clear();
        let Some(ahead) = &mut self.ahead else {
            let branches = flow.taken.iter().map(|taken| end(taken).branch);
            return room.keys_of_taken.extend(branches);
        };
        room.ended.clear();
        room.ended.extend(flow.taken.iter().map(|taken| {
            ahead.end(Jumped {
                pc: end(taken).pc,
                target: target(&self.blocks, taken.to) as u32,
                is_jump: !matches!(taken.transfer, Transfer::Call | Transfer::Return),
            })
        }));
        room.keys_of_taken
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
        let (found, known_by) = (&mut room.found, &room.keys_of_taken[..]);
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
