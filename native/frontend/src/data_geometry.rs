// SPDX-License-Identifier: GPL-2.0-or-later
//! `[data]` of a CPU model: what loads and stores meet.

use super::fields::Fields;
use super::model::{cache, tlb};
use super::{CacheGeometry, ModelError, TlbGeometry};

/// The prefetcher of each load's stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrideGeometry {
    /// Loads that it remembers.
    pub entries: usize,
    /// Strides that it is ahead.
    pub ahead: usize,
}

/// The data side. L2 and the second-level TLB are those of the instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataGeometry {
    pub l1d: CacheGeometry,
    pub l3: CacheGeometry,
    pub dtlb: TlbGeometry,
    /// Of a core that has one.
    pub stride: Option<StrideGeometry>,
    /// Micro-ops that may be dispatched behind a load that waits.
    pub reorder: usize,
    /// Lines that L1d may wait for at a time.
    pub fill_buffers: usize,
    /// What a micro-op takes beside all that, in place of `decoupled.core.stall_cycles`.
    pub stall_cycles: f64,
}

impl DataGeometry {
    /// Reads the section when there is one. line: bytes; in_time: the front end has clocks.
    pub(super) fn read(
        parent: &mut Fields,
        line: usize,
        in_time: bool,
    ) -> Result<Option<Self>, ModelError> {
        if !parent.has("data") {
            return Ok(None);
        }
        if !in_time {
            let message = "needs a front end in time, whose dispatch waits for data: decoupled is \
                           missing";
            return Err(parent.error("data", message));
        }
        let mut fields = parent.section("data")?;
        let geometry = Self {
            l1d: cache(&mut fields, "l1d", line)?,
            l3: cache(&mut fields, "l3", line)?,
            dtlb: tlb(&mut fields, "dtlb")?,
            stride: stride(&mut fields)?,
            reorder: fields.integer("reorder", 1..=1 << 16)?,
            fill_buffers: fields.integer("fill_buffers", 1..=256)?,
            stall_cycles: fields.number("stall_cycles", 0.0..=100.0)?,
        };
        fields.end()?;
        Ok(Some(geometry))
    }
}

fn stride(parent: &mut Fields) -> Result<Option<StrideGeometry>, ModelError> {
    if !parent.has("stride") {
        return Ok(None);
    }
    let mut fields = parent.section("stride")?;
    let geometry = StrideGeometry {
        entries: fields.power_of_two("entries", 1..=1 << 16)?,
        ahead: fields.integer("ahead", 1..=64)?,
    };
    fields.end()?;
    Ok(Some(geometry))
}
