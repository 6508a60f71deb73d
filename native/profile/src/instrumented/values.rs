// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that clang looks at: which functions are called through a pointer, how long copies are.
//!
//! Where a function is to be looked at, compiled code calls one of two functions of the run-time
//! library with the value, the record of the calling function and the number of the place in it
//! (`instrumentOneIndirectCall`… of LLVM's `InstrProfiling.cpp`). Here they return at once, and the
//! machine has counted what they were called with.

use std::collections::BTreeMap;

use object::{File, Object, ObjectSymbol};

use super::InstrumentedError;

/// The functions: of pointers, and of lengths (`INSTR_PROF_VALUE_PROF_FUNC_STR` and
/// `INSTR_PROF_VALUE_PROF_MEMOP_FUNC_STR` of LLVM's `InstrProfData.inc`).
pub const FUNCTIONS: [&str; 2] = [
    "__llvm_profile_instrument_target",
    "__llvm_profile_instrument_memop",
];
/// The first line of the machine's file.
const FIRST_LINE: &str = "kernsmith-values 1";
/// Kinds of values (`IPVK_First` to `IPVK_Last`): targets of calls, lengths, virtual tables.
pub const KINDS: usize = 3;
const LENGTHS: usize = 1;
/// Values of one place in a profile, at most (`INSTR_PROF_MAX_NUM_VAL_PER_SITE`).
const MOST: usize = 255;
/// Lengths up to here are told apart one by one, and from there on not at all.
const SHORT: u64 = 8;
const LONG: u64 = 513;

/// A value that was seen: in the record at this address, at this place, so often. Places of one kind
/// are numbered behind those of the kinds before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub record: u64,
    pub place: u64,
    pub value: u64,
    pub count: u64,
}

/// Where the functions are that code shows values to. None where it shows none.
pub fn functions(file: &File<'_>) -> Vec<u64> {
    let symbols = file.symbols();
    let ours = symbols.filter(|symbol| {
        symbol.is_definition() && symbol.name().is_ok_and(|name| FUNCTIONS.contains(&name))
    });
    let mut found: Vec<u64> = ours.map(|symbol| symbol.address()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What the machine's file says.
pub fn read(text: &str) -> Result<Vec<Seen>, InstrumentedError> {
    let mut lines = text.lines();
    if lines.next() != Some(FIRST_LINE) {
        return Err(InstrumentedError::Values(
            "it does not begin as such files do",
        ));
    }
    lines
        .map(|line| line_of(line).ok_or(InstrumentedError::Values("a line is cut off")))
        .collect()
}

fn line_of(line: &str) -> Option<Seen> {
    let mut words = line.split(' ');
    let mut number = |base| u64::from_str_radix(words.next()?, base).ok();
    Some(Seen {
        record: number(16)?,
        place: number(10)?,
        value: number(16)?,
        count: number(10)?,
    })
}

/// The values of one record as a profile has them, most frequent first; `sites`: how many places of
/// each kind it has. Values at places that it does not have are refused.
pub fn data(sites: [u16; KINDS], seen: &[Seen]) -> Result<Vec<u8>, InstrumentedError> {
    let mut kinds = Vec::new();
    let mut first = 0;
    for (kind, number) in sites.into_iter().enumerate() {
        let places = first..first + u64::from(number);
        first = places.end;
        if number != 0 {
            kinds.push(one_kind(kind, places, seen));
        }
    }
    if seen.iter().any(|seen| seen.place >= first) {
        return Err(InstrumentedError::Values("a function has no such place"));
    }
    let bytes = 8 + kinds.iter().map(Vec::len).sum::<usize>();
    let head = [bytes as u32, kinds.len() as u32];
    let head = head.into_iter().flat_map(u32::to_le_bytes);
    Ok(head.chain(kinds.into_iter().flatten()).collect())
}

/// A `ValueProfRecord`: the kind, the number of places, of each how many values, and these.
fn one_kind(kind: usize, places: std::ops::Range<u64>, seen: &[Seen]) -> Vec<u8> {
    let number = (places.end - places.start) as u32;
    let mut bytes: Vec<u8> = [kind as u32, number]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let mut values = Vec::new();
    for place in places {
        let mut counts = BTreeMap::<u64, u64>::new();
        for seen in seen.iter().filter(|seen| seen.place == place) {
            let value = if kind == LENGTHS {
                range_of(seen.value)
            } else {
                seen.value
            };
            let count = counts.entry(value).or_default();
            *count = count.saturating_add(seen.count);
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
        counts.truncate(MOST);
        bytes.push(counts.len() as u8);
        values.extend(counts);
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    for (value, count) in values {
        bytes.extend(value.to_le_bytes());
        bytes.extend(count.to_le_bytes());
    }
    bytes
}

/// The length that stands for all that are compiled alike (`InstrProfGetRangeRepValue`).
fn range_of(length: u64) -> u64 {
    if length <= SHORT || length.is_power_of_two() && length < LONG {
        length
    } else if length >= LONG {
        LONG
    } else {
        length.next_power_of_two() / 2 + 1
    }
}
