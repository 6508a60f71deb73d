// SPDX-License-Identifier: GPL-2.0-or-later
//! What comes before the records: `struct perf_file_header`, attributes, sections of features.

use std::io::{Read, Seek, SeekFrom};

use super::attribute::{Attribute, Events};
use super::build_id::BuildId;
use super::fields::Fields;
use super::origin::Origin;
use super::{HEADER, MAGIC, OLD, PIPE_HEADER, SWAPPED, feature};

/// Bytes of `struct perf_file_section`.
const SECTION: u64 = 16;

/// A section longer than this is not believed. Records are no such section.
const LONGEST: u64 = 1 << 26;

/// A part of the file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub offset: u64,
    pub size: u64,
}

/// What a file says before its first record.
#[derive(Debug, Default)]
pub struct Header {
    pub events: Events,
    pub build_ids: Vec<BuildId>,
    pub origin: Origin,
    /// Where the records are; `None` in what was piped: everything that follows.
    pub records: Option<Section>,
}

impl Header {
    /// Reads it, and leaves `source` at the first record.
    ///
    /// # Errors
    ///
    /// Why this is no such file, or one that cannot be read.
    pub fn read(source: &mut (impl Read + Seek)) -> Result<Self, String> {
        let size = source.seek(SeekFrom::End(0)).map_err(reason)?;
        source.rewind().map_err(reason)?;
        if size == 0 {
            return Err("is empty".to_owned());
        }
        let start = read(source, size.min(PIPE_HEADER))?;
        let own_size = check_magic(&start)?;
        if own_size == PIPE_HEADER {
            return Ok(Self::default());
        }
        if own_size != HEADER {
            return Err(format!(
                "has a header of {own_size} bytes, which kernsmith does not read"
            ));
        }
        let rest = read(source, HEADER - PIPE_HEADER)?;
        let told = Told::read(Fields(&rest)).ok_or("is cut off in its header")?;
        let end = check_records(told.records, size)?;
        let events = read_events(source, &told, size)?;
        let mut feature = |number| read_feature(source, end, &told.features, number, size);
        let build_ids = feature(feature::BUILD_ID)?.map(|section| BuildId::read_all(&section));
        let mut origin = Origin::default();
        for number in Origin::FEATURES {
            if let Some(content) = feature(number)? {
                origin.take(number, &content);
            }
        }
        seek(source, told.records.offset)?;
        Ok(Self {
            events,
            build_ids: build_ids.unwrap_or_default(),
            origin,
            records: Some(told.records),
        })
    }
}

/// The rest of `struct perf_file_header`.
struct Told {
    /// Bytes of one event.
    event: u64,
    events: Section,
    records: Section,
    /// A bit for each.
    features: [u64; feature::COUNT / 64],
}

impl Told {
    fn read(mut fields: Fields) -> Option<Self> {
        let event = fields.u64()?;
        let (events, records) = (section(&mut fields)?, section(&mut fields)?);
        let _event_types = section(&mut fields)?;
        let mut features = [0; feature::COUNT / 64];
        for word in &mut features {
            *word = fields.u64()?;
        }
        Some(Self {
            event,
            events,
            records,
            features,
        })
    }
}

/// The size of the header that the first bytes tell.
fn check_magic(start: &[u8]) -> Result<u64, String> {
    let mut fields = Fields(start);
    let reason = match fields.bytes(8) {
        Some(magic) if magic == MAGIC => "is cut off in its header",
        Some(magic) if magic == SWAPPED => {
            "was recorded on a machine of the other byte order (big-endian), which kernsmith does \
             not read"
        }
        Some(magic) if magic == OLD => "is of the format of 2009, which kernsmith does not read",
        _ => "is no file of perf record",
    };
    match fields.u64() {
        Some(size) if start.starts_with(MAGIC) => Ok(size),
        _ => Err(reason.to_owned()),
    }
}

/// That the records are in the file; returns where they end.
fn check_records(records: Section, size: u64) -> Result<u64, String> {
    let end = records.offset.checked_add(records.size);
    let end = end.ok_or("has a header that is corrupt")?;
    if records.size == 0 {
        return Err("has no records: perf record did not end properly, or recorded nothing".into());
    }
    if end > size {
        return Err(format!("is cut off: {} bytes are missing", end - size));
    }
    Ok(end)
}

fn read_events(source: &mut (impl Read + Seek), told: &Told, size: u64) -> Result<Events, String> {
    let mut events = Events::default();
    if told.event <= SECTION || told.event > told.events.size {
        return Err("has no events".to_owned());
    }
    let all = read_section(source, told.events, size)?;
    let mut ids_left = LONGEST;
    for entry in all.chunks_exact(told.event as usize) {
        let (own, ids) = entry.split_at(entry.len() - SECTION as usize);
        let corrupt = "has an event that is corrupt";
        let attribute = Attribute::read(&mut Fields(own)).ok_or(corrupt)?;
        let ids = section(&mut Fields(ids)).ok_or(corrupt)?;
        ids_left = ids_left.checked_sub(ids.size).ok_or(corrupt)?;
        events.add(attribute, &read_section(source, ids, size)?)?;
    }
    events.check()?;
    Ok(events)
}

/// What a feature says; `None` when the file does not have it. The sections of features are told one
/// behind the other after the records, for each that is set.
fn read_feature(
    source: &mut (impl Read + Seek),
    told_at: u64,
    features: &[u64],
    number: usize,
    size: u64,
) -> Result<Option<Vec<u8>>, String> {
    let is_set = |number: usize| features[number / 64] >> (number % 64) & 1 == 1;
    if !is_set(number) {
        return Ok(None);
    }
    let before = (0..number).filter(|one| is_set(*one)).count() as u64;
    let told = Section {
        offset: told_at.saturating_add(before * SECTION),
        size: SECTION,
    };
    let told = read_section(source, told, size)?;
    let own = section(&mut Fields(&told)).ok_or("has features that are cut off")?;
    read_section(source, own, size).map(Some)
}

fn section(fields: &mut Fields) -> Option<Section> {
    Some(Section {
        offset: fields.u64()?,
        size: fields.u64()?,
    })
}

/// The bytes of a section of a file of `size` bytes.
fn read_section(
    source: &mut (impl Read + Seek),
    section: Section,
    size: u64,
) -> Result<Vec<u8>, String> {
    let end = section.offset.checked_add(section.size);
    if section.size > LONGEST || end.is_none_or(|end| end > size) {
        return Err("is cut off, or its header is corrupt".to_owned());
    }
    seek(source, section.offset)?;
    read(source, section.size)
}

fn read(source: &mut impl Read, size: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    source.take(size).read_to_end(&mut bytes).map_err(reason)?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err("is cut off in its header".to_owned())
    }
}

fn seek(source: &mut impl Seek, place: u64) -> Result<(), String> {
    source
        .seek(SeekFrom::Start(place))
        .map(drop)
        .map_err(reason)
}

/// What the system says.
pub fn reason(error: std::io::Error) -> String {
    format!("cannot be read: {error}")
}
