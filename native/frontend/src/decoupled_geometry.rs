// SPDX-License-Identifier: GPL-2.0-or-later
//! `[decoupled]` of a CPU model: what a front end has whose prediction runs ahead of fetch.

use std::ops::RangeInclusive;

use super::fields::Fields;
use super::model::replacement;
use super::tage_geometry::{TageGeometry, predictor};
use super::{ModelError, Replacement};

const CYCLES: RangeInclusive<f64> = 0.0..=10_000.0;

/// A level of branch target buffers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BufferGeometry {
    pub entries: usize,
    pub ways: usize,
    /// What a taken branch found in it costs the predictor, beside `taken_cycles`.
    pub cycles: f64,
    /// Places that a branch takes whose target is in another page: from 1 to 2.
    pub to_other_page: f64,
    pub replacement: Replacement,
}

/// Of buffers that are asked a block ahead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AheadGeometry {
    /// What it costs the predictor that a block was taken for another one.
    pub false_hit_cycles: f64,
}

/// From prediction to micro-ops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FetchGeometry {
    /// Blocks that the predictor may be ahead.
    pub queue_blocks: usize,
    /// What the predictor needs for a taken branch.
    pub taken_cycles: f64,
    /// What it needs more for a call.
    pub call_cycles: f64,
    /// From fetch to where a decoder finds a branch that no buffer knew.
    pub decode_steer_cycles: f64,
    /// Whether a conditional branch that no buffer knew passes for one that is not taken, until it is
    /// executed; else the decoders ask for its direction.
    pub unknown_falls_through: bool,
    /// Aligned bytes that the decoders are given in a cycle.
    pub decode_bytes: usize,
    /// Micro-ops that they make in a cycle.
    pub decode_width: f64,
    /// From the micro-op cache to the decoders; 0 without one.
    pub switch_cycles: f64,
    /// Whether lines are asked for when prediction comes to them; else when fetch does.
    pub prefetch: bool,
    /// Whether a page that the TLB does not have is translated when prediction comes to it; else
    /// when fetch does, and until then nothing behind it is asked for.
    pub walk_ahead: bool,
    /// Lines that L1i waits for at a time; 0: as many as are asked for.
    pub fill_buffers: usize,
    /// What prediction waits for each page that the first TLB does not have, and more for each that no
    /// TLB has.
    pub page_cycles: f64,
    pub walk_cycles: f64,
    /// Whether the queue has a place for each line that is entered and each taken branch's target, not
    /// for each block.
    pub queue_of_lines: bool,
    /// Whether a set of L1i waits for one of them at a time.
    pub one_fill_a_set: bool,
    /// Whether the line behind is brought as well.
    pub next_line: bool,
}

/// The micro-op cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpCacheGeometry {
    pub sets: usize,
    pub ways: usize,
    /// Micro-ops in a line.
    pub ops: usize,
    /// Code that one line's micro-ops come from.
    pub window_bytes: usize,
    /// Windows that are delivered in a cycle.
    pub windows: usize,
    /// Whether a line begins where fetch comes to its window, or where the line before is full; else
    /// a window's micro-ops fill the same lines wherever it was entered.
    pub by_run: bool,
    /// What a full set forgets.
    pub replacement: Replacement,
    /// Whether a line of code all of whose micro-ops are here is not asked of L1i.
    pub spares_lines: bool,
}

/// What stands behind the front end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreGeometry {
    /// Micro-ops that it sustains in a cycle when it never waits for the front end.
    pub width: f64,
    /// Micro-ops that fetch may be ahead.
    pub queue: usize,
    /// What a micro-op takes beside that, which nothing hides: data that are waited for, chains of
    /// dependent instructions.
    pub stall_cycles: f64,
    /// From fetch to dispatch.
    pub depth_cycles: f64,
    /// From dispatch to where a misprediction is known and the predictor starts anew; of a core with a
    /// window, from where the branch is executed.
    pub resolve_cycles: f64,
    /// Micro-ops that may wait for each other's results at a time; without it, none waits.
    pub window: Option<usize>,
    /// What a load takes that hits the nearest cache, in a core with a window.
    pub load_cycles: f64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoupledGeometry {
    pub predictor: TageGeometry,
    /// The nearest first.
    pub buffers: Vec<BufferGeometry>,
    /// Whether one of them alone knows a branch: what a nearer one has no room for goes to the next.
    /// Else all know what a nearer one knows.
    pub exclusive: bool,
    /// Where they are asked a block ahead; else by the branch's own address.
    pub ahead: Option<AheadGeometry>,
    pub fetch: FetchGeometry,
    /// Of a front end that has one; else all micro-ops come from the decoders.
    pub op_cache: Option<OpCacheGeometry>,
    pub core: CoreGeometry,
}

impl DecoupledGeometry {
    /// Reads the section when there is one.
    pub(super) fn read(parent: &mut Fields) -> Result<Option<Self>, ModelError> {
        if !parent.has("decoupled") {
            return Ok(None);
        }
        let mut fields = parent.section("decoupled")?;
        let op_cache = op_cache(&mut fields)?;
        let predictor = predictor(&mut fields)?;
        let (buffers, exclusive, ahead) = buffers(&mut fields)?;
        let geometry = Self {
            predictor,
            buffers,
            exclusive,
            ahead,
            fetch: fetch(&mut fields, op_cache.is_some())?,
            op_cache,
            core: core(&mut fields)?,
        };
        let spares = geometry.op_cache.is_some_and(|cache| cache.spares_lines);
        if spares && !geometry.fetch.queue_of_lines {
            let message = "needs a queue of lines: decoupled.fetch.queue_of = \"lines\"";
            return Err(fields.error("op_cache.spares_lines", message));
        }
        fields.end()?;
        Ok(Some(geometry))
    }

    /// With another one's times that no structure depends on.
    pub(super) fn with_times_of(&self, other: &Self) -> Self {
        let mut same = self.clone();
        if same.core.window.is_none() {
            same.core.width = other.core.width;
        }
        same.core.stall_cycles = other.core.stall_cycles;
        same.core.depth_cycles = other.core.depth_cycles;
        same.core.resolve_cycles = other.core.resolve_cycles;
        same.fetch.taken_cycles = other.fetch.taken_cycles;
        same.fetch.call_cycles = other.fetch.call_cycles;
        same.fetch.decode_steer_cycles = other.fetch.decode_steer_cycles;
        same.fetch.switch_cycles = other.fetch.switch_cycles;
        for (mine, theirs) in same.buffers.iter_mut().zip(&other.buffers) {
            mine.cycles = theirs.cycles;
        }
        if let (Some(mine), Some(theirs)) = (&mut same.ahead, other.ahead) {
            *mine = theirs;
        }
        same
    }

    /// The buffers, the nearest first, without those that change nothing: each remembers its
    /// branches by last use and is told of all of them, so what a nearer one knows is always in one
    /// that has no fewer sets and no fewer ways. Where that costs the same, the nearer one tells
    /// nothing. All, where one alone knows a branch.
    pub fn told_buffers(&self) -> impl Iterator<Item = &BufferGeometry> {
        let tells = |(level, one): (usize, &BufferGeometry)| {
            let covers =
                |farther: &BufferGeometry| farther.cycles == one.cycles && farther.includes(one);
            self.exclusive || !self.buffers.get(level + 1).is_some_and(covers)
        };
        let levels = self.buffers.iter().enumerate();
        levels.filter(move |each| tells(*each)).map(|(_, one)| one)
    }
}

impl BufferGeometry {
    fn sets(&self) -> usize {
        self.entries / self.ways
    }

    /// Whether all that another one holds is in this one as well, when both are told the same.
    fn includes(&self, other: &Self) -> bool {
        let places = if self.to_other_page > 1.0 { 2 } else { 1 };
        let ordered = [self, other]
            .iter()
            .all(|one| one.replacement == Replacement::Lru);
        ordered && self.sets() >= other.sets() && self.ways >= places * other.ways
    }
}

fn buffers(
    parent: &mut Fields,
) -> Result<(Vec<BufferGeometry>, bool, Option<AheadGeometry>), ModelError> {
    let mut fields = parent.section("buffers")?;
    let mut found = Vec::new();
    for level in ["l0", "l1", "l2"] {
        if !fields.has(level) && !found.is_empty() {
            continue;
        }
        let mut one = fields.section(level)?;
        let geometry = BufferGeometry {
            entries: one.integer("entries", 4..=1 << 20)?,
            ways: one.integer("ways", 1..=64)?,
            cycles: one.number("cycles", CYCLES)?,
            to_other_page: match one.has("to_other_page") {
                true => one.number("to_other_page", 1.0..=2.0)?,
                false => 1.0,
            },
            replacement: replacement(&mut one)?,
        };
        one.check_sets("ways", geometry.entries, geometry.ways)?;
        one.end()?;
        found.push(geometry);
    }
    let exclusive = fields.choice("exclusive", &[("off", false), ("on", true)], true)?;
    let ordered = |one: &BufferGeometry| one.replacement == Replacement::Lru;
    if exclusive && !found.iter().all(ordered) {
        let message = "needs buffers that forget what was used least recently";
        return Err(fields.error("exclusive", message));
    }
    let ahead = ahead(&mut fields)?;
    fields.end()?;
    Ok((found, exclusive, ahead))
}

/// Reads the section when there is one.
fn ahead(parent: &mut Fields) -> Result<Option<AheadGeometry>, ModelError> {
    if !parent.has("ahead") {
        return Ok(None);
    }
    let mut fields = parent.section("ahead")?;
    let geometry = AheadGeometry {
        false_hit_cycles: fields.number("false_hit_cycles", CYCLES)?,
    };
    fields.end()?;
    Ok(Some(geometry))
}

/// cached: whether there is a micro-op cache to switch from.
fn fetch(parent: &mut Fields, cached: bool) -> Result<FetchGeometry, ModelError> {
    let mut fields = parent.section("fetch")?;
    if !cached && fields.has("switch_cycles") {
        let message = "needs a micro-op cache to switch from: decoupled.op_cache is missing";
        return Err(fields.error("switch_cycles", message));
    }
    let switch_cycles = match cached {
        true => fields.number("switch_cycles", CYCLES)?,
        false => 0.0,
    };
    let switches = [("on", true), ("off", false)];
    let unknown = [("decoded", false), ("executed", true)];
    let geometry = FetchGeometry {
        queue_blocks: fields.integer("queue_blocks", 1..=1024)?,
        taken_cycles: fields.number("taken_cycles", CYCLES)?,
        call_cycles: fields.number_or_zero("call_cycles", CYCLES)?,
        decode_steer_cycles: fields.number("decode_steer_cycles", CYCLES)?,
        unknown_falls_through: fields.choice("unknown_conditional", &unknown, true)?,
        decode_bytes: fields.power_of_two("decode_bytes", 4..=64)?,
        decode_width: fields.number("decode_width", 0.5..=32.0)?,
        switch_cycles,
        prefetch: fields.choice("prefetch", &switches, true)?,
        walk_ahead: fields.choice("walk_ahead", &switches, true)?,
        fill_buffers: match fields.has("fill_buffers") {
            true => fields.integer("fill_buffers", 1..=256)?,
            false => 0,
        },
        page_cycles: fields.number_or_zero("page_cycles", CYCLES)?,
        walk_cycles: fields.number_or_zero("walk_cycles", CYCLES)?,
        queue_of_lines: fields.choice("queue_of", &[("blocks", false), ("lines", true)], true)?,
        one_fill_a_set: fields.choice("one_fill_a_set", &[("off", false), ("on", true)], true)?,
        next_line: fields.choice("next_line", &switches, false)?,
    };
    fields.end()?;
    Ok(geometry)
}

/// Reads the section when there is one.
fn op_cache(parent: &mut Fields) -> Result<Option<OpCacheGeometry>, ModelError> {
    if !parent.has("op_cache") {
        return Ok(None);
    }
    let mut fields = parent.section("op_cache")?;
    let windows = match fields.has("windows") {
        true => fields.integer("windows", 1..=4)?,
        false => 1,
    };
    let geometry = OpCacheGeometry {
        sets: fields.power_of_two("sets", 1..=1 << 12)?,
        ways: fields.integer("ways", 1..=16)?,
        ops: fields.integer("ops", 1..=16)?,
        window_bytes: fields.power_of_two("window_bytes", 16..=64)?,
        windows,
        by_run: fields.choice("lines", &[("window", false), ("run", true)], true)?,
        replacement: replacement(&mut fields)?,
        spares_lines: fields.choice("spares_lines", &[("off", false), ("on", true)], true)?,
    };
    fields.end()?;
    Ok(Some(geometry))
}

fn core(parent: &mut Fields) -> Result<CoreGeometry, ModelError> {
    let mut fields = parent.section("core")?;
    let window = match fields.has("window") {
        true => Some(fields.integer("window", 1..=4096)?),
        false => None,
    };
    let geometry = CoreGeometry {
        width: fields.number("width", 0.1..=32.0)?,
        queue: fields.integer("queue", 1..=4096)?,
        stall_cycles: fields.number("stall_cycles", 0.0..=100.0)?,
        depth_cycles: fields.number("depth_cycles", CYCLES)?,
        resolve_cycles: fields.number("resolve_cycles", CYCLES)?,
        window,
        load_cycles: match window {
            Some(_) => fields.number("load_cycles", 1.0..=100.0)?,
            None => 0.0,
        },
    };
    fields.end()?;
    Ok(geometry)
}
