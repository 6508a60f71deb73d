// SPDX-License-Identifier: GPL-2.0-or-later
//! The geometry and the penalties of one CPU, as read from `cpus/*.toml`.

use std::ops::RangeInclusive;
use std::path::Path;

use super::fields::Fields;
use super::{DataGeometry, DecoupledGeometry, ModelError};

const CYCLES: RangeInclusive<f64> = 0.0..=10_000.0;

/// Which entry of a full set makes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The least recently used one, exactly.
    Lru,
    /// Each in its turn.
    RoundRobin,
    /// Whichever is drawn, free or not: the same in every run.
    Random,
}

/// How the direction of conditional branches is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictorKind {
    /// One table of two-bit counters, indexed by address xor global history (McFarling 1993).
    Gshare,
    /// Gshare, a table by address alone, and a chooser between them (McFarling 1993).
    Tournament,
}

/// One cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheGeometry {
    pub bytes: usize,
    pub ways: usize,
    pub replacement: Replacement,
    /// What a miss adds until the next level delivers.
    pub miss_cycles: f64,
}

/// Entries of a TLB, one a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TlbEntries {
    pub entries: usize,
    pub ways: usize,
    pub replacement: Replacement,
}

/// Which pages compete for which entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TlbArrays {
    /// Pages of all sizes for the same ones.
    Shared(TlbEntries),
    /// Small pages (4 KiB) for these, all larger ones for those.
    BySize {
        small: TlbEntries,
        large: TlbEntries,
    },
}

impl TlbArrays {
    /// The entries that small pages are in, and those that large pages are in.
    #[must_use]
    pub fn by_size(&self) -> [TlbEntries; 2] {
        match *self {
            Self::Shared(entries) => [entries; 2],
            Self::BySize { small, large } => [small, large],
        }
    }
}

/// One level of TLBs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TlbGeometry {
    pub arrays: TlbArrays,
    /// What a miss adds: the next TLB's latency, or the page walk.
    pub miss_cycles: f64,
}

/// Branch prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictorGeometry {
    pub kind: PredictorKind,
    /// log2 of the entries of each direction table.
    pub table_bits: usize,
    /// Conditional branches in the global history.
    pub history_bits: usize,
    pub btb_entries: usize,
    pub btb_ways: usize,
    /// log2 of the entries of the indirect target table; 0 means that there is none.
    pub indirect_bits: usize,
    /// Places of the return stack.
    pub return_stack: usize,
    /// Low address bits that say nothing: log2 of the instruction alignment, at least 1.
    pub pc_shift: u32,
    pub mispredict_cycles: f64,
    /// A taken branch that the branch target buffer does not know is found by the decoder.
    pub btb_miss_cycles: f64,
    /// Fetch slots lost by a correctly predicted taken branch.
    pub taken_cycles: f64,
}

/// Cost of `rep` string instructions beside their one issue slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepCost {
    pub startup_cycles: f64,
    pub bytes_per_cycle: f64,
}

/// A CPU model: see `docs/model.md` for the meaning of every key.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuModel {
    pub name: String,
    pub description: String,
    pub line_bytes: usize,
    /// Instructions that a cycle sustains when nothing stalls.
    pub width: f64,
    pub l1i: CacheGeometry,
    pub l2: CacheGeometry,
    pub itlb: TlbGeometry,
    pub stlb: TlbGeometry,
    pub predictor: PredictorGeometry,
    pub rep: RepCost,
    /// Of a front end that is simulated in time; without, cycles are a sum of penalties.
    pub decoupled: Option<DecoupledGeometry>,
    /// Of a model that knows what data cost; without, there is no depth but the front end's.
    pub data: Option<DataGeometry>,
}

impl CpuModel {
    /// Reads and checks a model file.
    ///
    /// # Errors
    ///
    /// One sentence with the file, the key and what is allowed.
    pub fn load(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("CPU model {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("CPU model {}: {error}", path.display()))
    }

    /// Whether another model is in time, as this one, and all that it has of its own is its name and
    /// those times of `[decoupled]` that no structure depends on: what a branch, a misprediction, a
    /// switch to the decoders or a micro-op costs.
    #[must_use]
    pub fn differs_in_times_alone(&self, other: &Self) -> bool {
        let (Some(mine), Some(geometry)) = (&self.decoupled, &other.decoupled) else {
            return false;
        };
        let mut same = Self {
            name: self.name.clone(),
            description: self.description.clone(),
            ..other.clone()
        };
        same.decoupled = Some(geometry.with_times_of(mine));
        same == *self
    }

    /// Reads and checks a model.
    ///
    /// # Errors
    ///
    /// The first key that is missing, unknown or out of range.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let mut fields = Fields::parse(text)?;
        refuse_page_size(&fields)?;
        let line_bytes = fields.power_of_two("line_bytes", 16..=256)?;
        let in_time = fields.has("decoupled");
        let model = Self {
            name: identifier(&mut fields)?,
            description: fields.text("description")?,
            line_bytes,
            width: fields.number("width", 0.1..=64.0)?,
            l1i: cache(&mut fields, "l1i", line_bytes)?,
            l2: cache(&mut fields, "l2", line_bytes)?,
            itlb: tlb(&mut fields, "itlb")?,
            stlb: tlb(&mut fields, "stlb")?,
            predictor: predictor(&mut fields)?,
            rep: rep(&mut fields)?,
            decoupled: DecoupledGeometry::read(&mut fields)?,
            data: DataGeometry::read(&mut fields, line_bytes, in_time)?,
        };
        // How true it is: for reports (`machine/held.py`).
        fields.skip("silicon");
        fields.end()?;
        Ok(model)
    }
}

pub(super) fn replacement(fields: &mut Fields) -> Result<Replacement, ModelError> {
    let choices = [
        ("lru", Replacement::Lru),
        ("round-robin", Replacement::RoundRobin),
        ("random", Replacement::Random),
    ];
    fields.choice("replacement", &choices, true)
}

pub(super) fn cache(
    parent: &mut Fields,
    name: &str,
    line: usize,
) -> Result<CacheGeometry, ModelError> {
    let mut fields = parent.section(name)?;
    let geometry = CacheGeometry {
        bytes: fields.integer("bytes", line..=64 << 20)?,
        ways: fields.integer("ways", 1..=256)?,
        replacement: replacement(&mut fields)?,
        miss_cycles: fields.number("miss_cycles", CYCLES)?,
    };
    if !geometry.bytes.is_multiple_of(line) {
        return Err(fields.error("bytes", format!("must be whole lines of {line} bytes")));
    }
    fields.check_sets("ways", geometry.bytes / line, geometry.ways)?;
    fields.end()?;
    Ok(geometry)
}

/// Models once had one size for all pages.
fn refuse_page_size(fields: &Fields) -> Result<(), ModelError> {
    if !fields.has("page_bytes") {
        return Ok(());
    }
    Err(fields.error(
        "page_bytes",
        "was replaced: sizes of pages are those of the traced guest, and itlb and stlb say by \
         shared, or small and large, which entries they have for them (docs/model.md)",
    ))
}

pub(super) fn tlb(parent: &mut Fields, name: &str) -> Result<TlbGeometry, ModelError> {
    let mut fields = parent.section(name)?;
    for key in ["entries", "ways", "replacement"] {
        if fields.has(key) {
            let message = "was replaced: say shared = { entries, ways, … } for entries that pages \
                           of all sizes share, or small and large (docs/model.md)";
            return Err(fields.error(key, message));
        }
    }
    let arrays = if fields.has("shared") {
        TlbArrays::Shared(tlb_entries(&mut fields, "shared")?)
    } else {
        TlbArrays::BySize {
            small: tlb_entries(&mut fields, "small")?,
            large: tlb_entries(&mut fields, "large")?,
        }
    };
    let geometry = TlbGeometry {
        arrays,
        miss_cycles: fields.number("miss_cycles", CYCLES)?,
    };
    fields.end()?;
    Ok(geometry)
}

fn tlb_entries(parent: &mut Fields, name: &str) -> Result<TlbEntries, ModelError> {
    let mut fields = parent.section(name)?;
    let found = TlbEntries {
        entries: fields.integer("entries", 1..=1 << 20)?,
        ways: fields.integer("ways", 1..=256)?,
        replacement: replacement(&mut fields)?,
    };
    fields.check_sets("ways", found.entries, found.ways)?;
    fields.end()?;
    Ok(found)
}

fn predictor(parent: &mut Fields) -> Result<PredictorGeometry, ModelError> {
    let mut fields = parent.section("predictor")?;
    let kinds = [
        ("gshare", PredictorKind::Gshare),
        ("tournament", PredictorKind::Tournament),
    ];
    let geometry = PredictorGeometry {
        kind: fields.choice("kind", &kinds, false)?,
        table_bits: fields.integer("table_bits", 2..=24)?,
        history_bits: fields.integer("history_bits", 0..=32)?,
        btb_entries: fields.integer("btb_entries", 1..=1 << 20)?,
        btb_ways: fields.integer("btb_ways", 1..=256)?,
        indirect_bits: fields.integer("indirect_bits", 0..=20)?,
        return_stack: fields.integer("return_stack", 1..=4096)?,
        pc_shift: fields.integer("pc_shift", 1..=4)? as u32,
        mispredict_cycles: fields.number("mispredict_cycles", CYCLES)?,
        btb_miss_cycles: fields.number("btb_miss_cycles", CYCLES)?,
        taken_cycles: fields.number("taken_cycles", CYCLES)?,
    };
    fields.check_sets("btb_ways", geometry.btb_entries, geometry.btb_ways)?;
    fields.end()?;
    Ok(geometry)
}

fn rep(parent: &mut Fields) -> Result<RepCost, ModelError> {
    let mut fields = parent.section("rep")?;
    let cost = RepCost {
        startup_cycles: fields.number("startup_cycles", CYCLES)?,
        bytes_per_cycle: fields.number("bytes_per_cycle", 0.001..=1024.0)?,
    };
    fields.end()?;
    Ok(cost)
}

fn identifier(fields: &mut Fields) -> Result<String, ModelError> {
    let name = fields.text("name")?;
    if name
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    {
        return Ok(name);
    }
    Err(fields.error(
        "name",
        format!("may have letters, digits, '.', '_' and '-', not \"{name}\""),
    ))
}
