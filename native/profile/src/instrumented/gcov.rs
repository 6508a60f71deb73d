// SPDX-License-Identifier: GPL-2.0-or-later
//! gcc's counters and its files of them (`.gcda`).
//!
//! `-fprofile-arcs -fprofile-info-section` puts a pointer to each object's record into a section. The
//! record has the file's name and the object's functions, each with its checksums and where its
//! counters are (`libgcc/libgcov.h`: `gcov_info`, `gcov_fn_info`). A file has a head, a summary and, of
//! each function, checksums and counters (`gcc/gcov-io.h`).

use object::File;

use super::image::{Content, section};
use super::{InstrumentedError, Span};

const SECTION: &str = ".gcov_info";
/// gcc 12 was the first to give lengths in bytes, and an object a checksum of its own.
const OLDEST: u64 = 12;
const NEWEST: u64 = 15;

/// The tags of a file: its own, and those of its parts.
const MAGIC: u32 = 0x6763_6461;
const SUMMARY: u32 = 0xa100_0000;
const FUNCTION: u32 = 0x0100_0000;
const ARCS: u32 = 0x01a1_0000;

/// Counters lie among other variables that start at zero; no kernel has more of these.
const MOST: u64 = 1 << 30;

const CUT_OFF: InstrumentedError = InstrumentedError::Corrupt("a record of gcc's is cut off");

/// What gcc has put into an image.
#[derive(Debug)]
pub struct Records {
    objects: Vec<Counted>,
    /// From the first counter to the last; other variables lie between.
    pub counters: Span,
}

#[derive(Debug)]
struct Counted {
    version: u32,
    stamp: u32,
    checksum: u32,
    file: String,
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Function {
    /// Its number, the checksum of its place in the source, and that of its control flow.
    identity: [u32; 3],
    counters: Span,
}

impl Records {
    /// `None` when gcc has put nothing into it.
    pub fn of(file: &File<'_>) -> Result<Option<Self>, InstrumentedError> {
        let Some((_, pointers)) = section(file, SECTION)? else {
            return Ok(None);
        };
        let content = Content::of(file)?;
        let (pointers, []) = pointers.as_chunks() else {
            return Err(CUT_OFF);
        };
        let objects = pointers
            .iter()
            .map(|pointer| Counted::at(&content, u64::from_le_bytes(*pointer)))
            .collect::<Result<Vec<_>, _>>()?;
        let functions = || objects.iter().flat_map(|object| &object.functions);
        let start = functions().map(|one| one.counters.start).min();
        let end = functions().map(|one| one.counters.end).max();
        let (Some(start), Some(end)) = (start, end) else {
            return Err(InstrumentedError::NoCounters);
        };
        if end - start > MOST {
            return Err(InstrumentedError::Corrupt(
                "its counters are all over memory",
            ));
        }
        let counters = Span { start, end };
        Ok(Some(Self { objects, counters }))
    }

    /// Makes everything zero that is no counter.
    pub fn leave_counters(&self, memory: &mut [u8]) {
        let mut kept = vec![0; memory.len()];
        for function in self.objects.iter().flat_map(|object| &object.functions) {
            let range = self.range(function);
            if let (Some(to), Some(from)) = (kept.get_mut(range.clone()), memory.get(range)) {
                to.copy_from_slice(from);
            }
        }
        memory.copy_from_slice(&kept);
    }

    /// The files of all objects in which something was counted: their names, as gcc has given them,
    /// and their content. `seen_alone`: without the functions that never ran.
    pub fn files(
        &self,
        counters: &[u8],
        seen_alone: bool,
    ) -> Result<Vec<(String, Vec<u8>)>, InstrumentedError> {
        let has = self.counters.bytes();
        if counters.len() != has {
            let given = counters.len();
            return Err(InstrumentedError::OtherCounters { given, has });
        }
        let (values, _) = counters.as_chunks();
        let most = values.iter().map(|value| u64::from_le_bytes(*value)).max();
        let mut files = Vec::new();
        for object in &self.objects {
            let functions: Vec<_> = object
                .functions
                .iter()
                .map(|function| (function.identity, self.values(function, counters)))
                .filter(|(_, values)| !seen_alone || has_run(values))
                .collect();
            if functions.iter().any(|(_, values)| has_run(values)) {
                let content = object.content(most.unwrap_or(0), &functions);
                files.push((object.file.clone(), content));
            }
        }
        Ok(files)
    }

    fn values<'a>(&self, function: &Function, counters: &'a [u8]) -> &'a [u8] {
        counters.get(self.range(function)).unwrap_or_default()
    }

    fn range(&self, function: &Function) -> std::ops::Range<usize> {
        let start = usize::try_from(function.counters.start - self.counters.start);
        let start = start.unwrap_or(usize::MAX);
        start..start.saturating_add(function.counters.bytes())
    }
}

fn has_run(values: &[u8]) -> bool {
    values.iter().any(|byte| *byte != 0)
}

impl Counted {
    fn at(content: &Content<'_>, place: u64) -> Result<Self, InstrumentedError> {
        let word = |at: u64| content.u32(place.wrapping_add(at)).ok_or(CUT_OFF);
        let pointer = |at: u64| content.u64(place.wrapping_add(at)).ok_or(CUT_OFF);
        let version = word(0)?;
        let kinds = kinds_of_counters(version)?;
        let merges = (0..kinds)
            .map(|kind| pointer(32 + 8 * kind))
            .collect::<Result<Vec<_>, _>>()?;
        if merges.iter().skip(1).any(|merge| *merge != 0) || merges[0] == 0 {
            return Err(InstrumentedError::Corrupt(
                "it counts more than edges: it must be compiled with -fprofile-arcs",
            ));
        }
        let end = 32 + 8 * kinds;
        let (number, table) = (u64::from(word(end)?), pointer(end + 8)?);
        let file = content.text(pointer(24)?).ok_or(CUT_OFF)?;
        content.bytes(table, 8 * number).ok_or(CUT_OFF)?;
        let mut functions = Vec::new();
        for index in 0..number {
            let at = content.u64(table + 8 * index).ok_or(CUT_OFF)?;
            // Of functions that several objects have, one was taken.
            if at != 0 && content.u64(at) == Some(place) {
                functions.push(Function::at(content, at)?);
            }
        }
        let (stamp, checksum) = (word(16)?, word(20)?);
        Ok(Self {
            version,
            stamp,
            checksum,
            file,
            functions,
        })
    }

    /// The file. most: the greatest counter of the whole run. functions: who they are, and their counters.
    fn content(&self, most: u64, functions: &[([u32; 3], &[u8])]) -> Vec<u8> {
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let head = [MAGIC, self.version, self.stamp, self.checksum];
        let summary = [SUMMARY, 8, 1, most];
        let mut file = bytes(&[head, summary].concat());
        for ([number, lines, flow], counters) in functions {
            let length = u32::try_from(counters.len()).unwrap_or(0);
            file.extend(bytes(&[FUNCTION, 12, *number, *lines, *flow, ARCS, length]));
            file.extend(*counters);
        }
        file.extend(bytes(&[0]));
        file
    }
}

impl Function {
    fn at(content: &Content<'_>, place: u64) -> Result<Self, InstrumentedError> {
        let word = |at: u64| content.u32(place.wrapping_add(at)).ok_or(CUT_OFF);
        let start = content.u64(place.wrapping_add(32)).ok_or(CUT_OFF)?;
        let end = start.checked_add(8 * u64::from(word(24)?)).ok_or(CUT_OFF)?;
        Ok(Self {
            identity: [word(8)?, word(12)?, word(16)?],
            counters: Span { start, end },
        })
    }
}

/// `GCOV_COUNTERS` of the gcc that has written a record: `B22*` is 12.2.
fn kinds_of_counters(version: u32) -> Result<u64, InstrumentedError> {
    let [letter, digit, ..] = version.to_be_bytes().map(u64::from);
    let tens = letter.wrapping_sub(u64::from(b'A')).wrapping_mul(10);
    match tens.wrapping_add(digit.wrapping_sub(u64::from(b'0'))) {
        OLDEST..=13 => Ok(8),
        14 => Ok(9),
        NEWEST => Ok(10),
        _ => Err(InstrumentedError::GccVersion(version)),
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
