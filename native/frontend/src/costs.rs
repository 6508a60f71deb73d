// SPDX-License-Identifier: GPL-2.0-or-later
//! What each event costs a front end in time, in ticks.

use super::chains::Chains;
use super::clocks::{Clocks, TICKS, later, ticks};
use super::flow::{DECODED, PREDICTED, RESOLVED};
use super::{CpuModel, DecoupledGeometry, FetchGeometry};

/// Times in ticks.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// From a line that is asked for to its arrival: from L2, and from behind it.
    pub l2: u64,
    pub memory: u64,
    pub itlb: u64,
    pub stlb: u64,
    /// What prediction waits for such a page.
    pub page: u64,
    pub walk: u64,
    pub taken: u64,
    pub call: u64,
    pub decoded: u64,
    /// What a taken conditional branch waits for that no buffer knew: [`DECODED`] or [`RESOLVED`].
    pub unknown_conditional: u32,
    pub resolve: u64,
    /// Of each micro-op, which nothing hides.
    pub stall: u64,
    pub window: u64,
    pub decoded_op: u64,
    pub to_decoders: u64,
    pub prefetch: bool,
    pub walk_ahead: bool,
    pub next_line: bool,
}

/// See [`Costs::unknown_conditional`].
pub(super) fn unknown_conditional(fetch: &FetchGeometry) -> u32 {
    match fetch.unknown_falls_through {
        true => RESOLVED,
        false => DECODED,
    }
}

impl Costs {
    /// Those of a model.
    #[must_use]
    pub fn new(model: &CpuModel, geometry: &DecoupledGeometry) -> Self {
        let fetch = &geometry.fetch;
        let windows = geometry.op_cache.map_or(1, |cache| cache.windows);
        Self {
            l2: ticks(model.l1i.miss_cycles),
            memory: ticks(model.l1i.miss_cycles + model.l2.miss_cycles),
            itlb: ticks(model.itlb.miss_cycles),
            stlb: ticks(model.stlb.miss_cycles),
            page: ticks(fetch.page_cycles),
            walk: ticks(fetch.walk_cycles),
            taken: ticks(fetch.taken_cycles),
            call: ticks(fetch.call_cycles),
            decoded: ticks(fetch.decode_steer_cycles),
            unknown_conditional: unknown_conditional(fetch),
            resolve: ticks(geometry.core.resolve_cycles),
            stall: ticks(geometry.core.stall_cycles),
            window: TICKS / windows as u64,
            decoded_op: ticks(1.0 / fetch.decode_width),
            to_decoders: ticks(fetch.switch_cycles),
            prefetch: fetch.prefetch,
            walk_ahead: fetch.walk_ahead,
            next_line: fetch.next_line,
        }
    }

    /// When a line is asked for that prediction comes to; walked: the ticks until its page is
    /// translated, 0 when it is known. Where pages are not translated ahead, what is behind one
    /// that is not known waits: `translated` is when the last of them was.
    #[inline(always)]
    pub(super) fn asked(
        &self,
        (predicted, fetched): (u64, u64),
        translated: &mut u64,
        walked: u64,
    ) -> u64 {
        if !self.prefetch {
            return later(predicted, fetched) + walked;
        }
        if walked == 0 || self.walk_ahead {
            return later(predicted + walked, *translated);
        }
        *translated = later(predicted, fetched) + walked;
        *translated
    }

    /// Prediction goes on where it was led, with these of [`super::flow`]'s bits.
    #[inline(always)]
    pub(super) fn steer(&self, clocks: &mut Clocks, chains: &Chains, led: u32) {
        clocks.predicted += u64::from(led & PREDICTED);
        if led & (DECODED | RESOLVED) != 0 {
            if led & DECODED != 0 {
                clocks.steer(clocks.fetched + self.decoded);
            }
            if led & RESOLVED != 0 {
                clocks.steer(clocks.resolved(chains) + self.resolve);
            }
        }
    }
}
