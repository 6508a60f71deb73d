// SPDX-License-Identifier: GPL-2.0-or-later
//! The clocks of a piece, when all is known that they have to wait for.

use super::batch::{Batch, KERNEL, LED, OPS, PRESENT, Rare, Room};
use super::clocks::{TICKS, later};
use super::costs::Costs;
use super::fill_buffers::FillBuffers;
use super::flow::Flow;

impl Batch {
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2"))]
    #[inline(never)]
    pub(super) fn time(&mut self, flow: &Flow, room: &Room) {
        // Nobody else has their address: they stay in the host's registers.
        let mut clocks = std::mem::take(&mut self.clocks);
        let (costs, begun) = (self.costs, clocks.dispatched);
        let chains = self.blocks.shapes.chains();
        let lines = &room.lines[..room.entered + 2];
        let mut arriving = Arriving {
            at: &mut self.arrivals,
            fills: &mut self.fills,
        };
        let (mut in_kernel, mut ops) = (0, [0_u64; 2]);
        let (mut rare, mut first) = (&room.rare[..], 0);
        let mut rare_at = rare.first().map_or(u32::MAX, |one| one.entered);
        for (step, number) in room.steps.iter().zip(&flow.entered) {
            costs.steer(&mut clocks, chains, step.led);
            clocks.predict_block();
            let (end, led) = (step.lines & !LED, step.lines >> 31);
            let count = end - first;
            let available = if end > rare_at || count > 2 {
                let told = rare.iter().take_while(|one| one.entered < end).count();
                let mut waits = Waits {
                    predicted: clocks.predicted,
                    fetched: clocks.fetched,
                    translated: clocks.translated,
                };
                let block = (first, &lines[first as usize..end as usize], led == 1);
                let available = waits.rarely(block, &rare[..told], &mut arriving, &costs);
                (clocks.predicted, clocks.translated) = (waits.predicted, waits.translated);
                rare = &rare[told..];
                rare_at = rare.first().map_or(u32::MAX, |one| one.entered);
                available
            } else {
                // Lines that are not asked for anew are there when they are predicted, or come.
                clocks.predicted += u64::from(count - led) * TICKS;
                let [one, other] = [0, 1].map(|place| {
                    let arrives = arriving.at[lines[(first + place) as usize] as usize];
                    arrives & u64::from(count > place).wrapping_neg()
                });
                later(clocks.predicted + TICKS, later(one, other))
            };
            first = end;
            clocks.fetched = later(clocks.fetched, available) + u64::from(step.supply);
            let before = clocks.dispatched;
            let count = step.ops & OPS;
            clocks.finish_block((chains, *number as usize), count, 0);
            let kernel = u64::from(step.ops & KERNEL != 0).wrapping_neg();
            in_kernel += (clocks.dispatched - before) & kernel;
            ops[0] += u64::from(count);
            ops[1] += u64::from(count) & kernel;
        }
        costs.steer(&mut clocks, chains, room.led[room.steps.len()]);
        let spent = [clocks.dispatched - begun - in_kernel, in_kernel];
        let ops = [ops[0] - ops[1], ops[1]];
        for (mode, counters) in self.counters.iter_mut().enumerate() {
            counters.ticks += spent[mode] + ops[mode] * costs.stall;
        }
        self.clocks = clocks;
    }
}

/// Lines of L1i.
struct Arriving<'a> {
    /// By place: when the line arrives.
    at: &'a mut [u64],
    fills: &'a mut FillBuffers,
}

/// What the lines of a block have to wait for.
struct Waits {
    predicted: u64,
    fetched: u64,
    translated: u64,
}

impl Waits {
    /// Of a block of which some lines are brought, or that has many: when all are there.
    ///
    /// block: the number of its first line, the places of all, and whether the first one is where a
    /// taken branch goes.
    #[inline(never)]
    fn rarely(
        &mut self,
        (first, places, led): (u32, &[u32], bool),
        mut rare: &[Rare],
        arriving: &mut Arriving<'_>,
        costs: &Costs,
    ) -> u64 {
        let mut available = 0;
        for (line, place) in (first..).zip(places) {
            if line != first || !led {
                self.predicted += TICKS;
            }
            let told = rare.first().filter(|one| one.entered == line);
            rare = &rare[usize::from(told.is_some())..];
            let walked = told.map_or(0, |one| u64::from(one.walked));
            let now = (self.predicted, self.fetched);
            let asked = costs.asked(now, &mut self.translated, walked);
            if let Some(one) = told.filter(|one| one.brought != PRESENT) {
                arriving.at[*place as usize] = arriving.fills.bring(asked, one.brought.into());
            }
            available = available.max(asked).max(arriving.at[*place as usize]);
            if let Some(one) = told.filter(|one| one.next != PRESENT) {
                arriving.at[one.next_place as usize] =
                    arriving.fills.bring(asked + TICKS, one.next.into());
            }
        }
        available.max(self.predicted + TICKS)
    }
}
