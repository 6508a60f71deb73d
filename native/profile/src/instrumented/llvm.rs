// SPDX-License-Identifier: GPL-2.0-or-later
//! clang's counters and LLVM's raw profile of them.
//!
//! `-fprofile-generate` gives each function a record (`__llvm_prf_data`) with the hash of its name,
//! that of its control flow, and where its counters are, relative to the record itself; counters
//! (`__llvm_prf_cnts`) are 64-bit numbers; the names (`__llvm_prf_names`) are compressed. The raw
//! profile is a header and these three as they are in memory, and what values were seen (values.rs;
//! "Instrumentation Profile Format" of
//! LLVM's documentation; `llvm/include/llvm/ProfileData/InstrProfData.inc`).

use object::{File, Object, ObjectSection, ObjectSymbol};

use super::image::section;
use super::values::{self, KINDS, Seen};
use super::{InstrumentedError, Span};

/// `INSTR_PROF_RAW_VERSION` of LLVM 19 to 22.
pub const VERSION: u64 = 10;

const MAGIC: u64 = u64::from_be_bytes(*b"\xfflprofr\x81");
/// What of a version is no number but says what is counted (`VARIANT_MASKS_ALL`).
const VARIANTS: u64 = 0xffff_ffff_0000_0000;
/// The variable in which the compiler says it.
const VERSION_SYMBOL: &str = "__llvm_profile_raw_version";
/// `sizeof(struct __llvm_profile_data)` on 64-bit machines.
const RECORD: usize = 64;
/// Where `CounterPtr` is in it, `NumCounters`, and at how many places values are looked at (of each
/// kind 16 bits).
const COUNTERS: usize = 16;
const NUMBER: usize = 48;
const VALUE_SITES: std::ops::Range<usize> = 52..58;

/// What clang has put into an image.
#[derive(Debug)]
pub struct Records {
    version: u64,
    /// Where the records are, and their content.
    at: Span,
    data: Vec<u8>,
    pub counters: Span,
    /// Where the functions are that values are shown to.
    pub shown_to: Vec<u64>,
    names_at: u64,
    names: Vec<u8>,
}

impl Records {
    pub fn of(file: &File<'_>) -> Result<Self, InstrumentedError> {
        let wanted = |name| section(file, name)?.ok_or(InstrumentedError::NoCounters);
        let (counters, _) = wanted("__llvm_prf_cnts")?;
        let (at, data) = wanted("__llvm_prf_data")?;
        let (names, content) = wanted("__llvm_prf_names")?;
        let version = version(file)?;
        if version & !VARIANTS != VERSION {
            return Err(InstrumentedError::Version(version & !VARIANTS));
        }
        if data.len() != at.bytes() || !data.len().is_multiple_of(RECORD) {
            return Err(InstrumentedError::Corrupt("a record is cut off"));
        }
        if !counters.bytes().is_multiple_of(8) || !counters.start.is_multiple_of(8) {
            return Err(InstrumentedError::Corrupt("a counter is cut off"));
        }
        let records = Self {
            version,
            at,
            data: data.to_vec(),
            counters,
            shown_to: values::functions(file),
            names_at: names.start,
            names: content.to_vec(),
        };
        records.check()?;
        Ok(records)
    }

    /// That all records have counters of the image.
    fn check(&self) -> Result<(), InstrumentedError> {
        let outside = InstrumentedError::Corrupt("a function's counters are outside of them all");
        for (number, record) in self.data.chunks_exact(RECORD).enumerate() {
            let place = self.at.start.wrapping_add((number * RECORD) as u64);
            let first = place.wrapping_add(word(&record[COUNTERS..]));
            let count = u64::from(half(&record[NUMBER..]));
            let end = first.checked_add(8 * count);
            if first < self.counters.start || end.is_none_or(|end| end > self.counters.end) {
                return Err(outside);
            }
        }
        Ok(())
    }

    /// `seen`: the values that were seen.
    pub fn raw_profile(
        &self,
        counters: &[u8],
        seen: &[Seen],
    ) -> Result<Vec<u8>, InstrumentedError> {
        let has = self.counters.bytes();
        if counters.len() != has {
            let given = counters.len();
            return Err(InstrumentedError::OtherCounters { given, has });
        }
        let header = [
            MAGIC,
            self.version,
            0, // bytes of build ids
            (self.data.len() / RECORD) as u64,
            0, // bytes between records and counters
            (has / 8) as u64,
            0, // bytes behind the counters
            0, // bytes of bitmaps
            0, // bytes behind the bitmaps
            self.names.len() as u64,
            self.counters.start.wrapping_sub(self.at.start),
            0, // the same of bitmaps
            self.names_at,
            0, // virtual tables
            0, // bytes of their names
            KINDS as u64 - 1,
        ];
        let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.extend(&self.data);
        file.extend(counters);
        file.extend(&self.names);
        file.resize(file.len().next_multiple_of(8), 0);
        file.extend(self.values(seen)?);
        Ok(file)
    }

    /// The values of each record that has places for any, one behind the other.
    fn values(&self, seen: &[Seen]) -> Result<Vec<u8>, InstrumentedError> {
        let mut seen = seen.to_vec();
        seen.sort_unstable();
        let mut left = &seen[..];
        let mut bytes = Vec::new();
        for (number, record) in self.data.chunks_exact(RECORD).enumerate() {
            let place = self.at.start.wrapping_add((number * RECORD) as u64);
            let own = left.partition_point(|seen| seen.record <= place);
            let (own, others) = left.split_at(own);
            if own.first().is_some_and(|seen| seen.record != place) {
                break;
            }
            left = others;
            let mut sites = record[VALUE_SITES].chunks_exact(2);
            let sites = std::array::from_fn(|_| sites.next().map_or(0, short));
            if sites != [0; KINDS] || !own.is_empty() {
                bytes.extend(values::data(sites, own)?);
            }
        }
        if left.is_empty() {
            Ok(bytes)
        } else {
            Err(InstrumentedError::Values("the image has no such function"))
        }
    }
}

/// The version of the compiler's records, and what it counts.
fn version(file: &File<'_>) -> Result<u64, InstrumentedError> {
    let mut symbols = file.symbols();
    let symbol = symbols.find(|symbol| symbol.name() == Ok(VERSION_SYMBOL));
    let bytes = symbol.and_then(|symbol| {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        section.data_range(symbol.address(), 8).ok()?
    });
    match bytes {
        Some(bytes) if bytes.len() == 8 => Ok(word(bytes)),
        _ => Err(InstrumentedError::Corrupt(
            "it does not say of which version its counters are",
        )),
    }
}

/// The number that the first 8 bytes are; 0 where there are fewer.
pub(super) fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().copied().map_or(0, u64::from_le_bytes)
}

fn short(bytes: &[u8]) -> u16 {
    bytes.first_chunk().copied().map_or(0, u16::from_le_bytes)
}

fn half(bytes: &[u8]) -> u32 {
    bytes.first_chunk().copied().map_or(0, u32::from_le_bytes)
}
