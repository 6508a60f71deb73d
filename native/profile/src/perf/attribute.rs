// SPDX-License-Identifier: GPL-2.0-or-later
//! Attributes of recorded events: what their samples have.

use std::collections::HashMap;

use super::fields::Fields;
use super::has;

/// Bytes of an attribute in its first version, and of the shortest that knows of branches.
const FIRST: u64 = 64;
const WITH_BRANCHES: u64 = 80;

/// What is read of `struct perf_event_attr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attribute {
    /// `PERF_SAMPLE_…`.
    pub sample_type: u64,
    /// `PERF_FORMAT_…`.
    pub read_format: u64,
    /// `PERF_SAMPLE_BRANCH_…`.
    pub branch_sample_type: u64,
}

impl Attribute {
    /// Reads an attribute, which says itself how long it is, and leaves what is behind it.
    pub fn read(fields: &mut Fields) -> Option<Self> {
        let mut sizes = Fields(fields.0);
        sizes.u32()?;
        let size = match u64::from(sizes.u32()?) {
            0 => FIRST,
            size => size,
        };
        let mut own = Fields(fields.bytes(size)?);
        own.words(3)?;
        let (sample_type, read_format) = (own.u64()?, own.u64()?);
        own.words(4)?;
        let branch_sample_type = if size >= WITH_BRANCHES { own.u64()? } else { 0 };
        Some(Self {
            sample_type,
            read_format,
            branch_sample_type,
        })
    }

    /// Whether samples have this: a `PERF_SAMPLE_…`.
    #[must_use]
    pub fn has(&self, what: u64) -> bool {
        self.sample_type & what != 0
    }

    /// How many words of a sample come before its event's id; `None` when it has none.
    fn words_before_id(&self) -> Option<usize> {
        if self.has(has::IDENTIFIER) {
            return Some(0);
        }
        let before = [has::IP, has::TID, has::TIME, has::ADDR];
        let words = before.iter().filter(|one| self.has(**one)).count();
        self.has(has::ID).then_some(words)
    }
}

/// All events of a file.
#[derive(Debug, Clone, Default)]
pub struct Events {
    attributes: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
    /// Whether samples of different events have different things.
    differ: bool,
}

/// Of more events than this, a file is not believed.
const MOST_EVENTS: usize = 1 << 16;
const MOST_IDS: usize = 1 << 22;

impl Events {
    /// Adds an event with its ids, one for each processor or thread.
    pub fn add(&mut self, attribute: Attribute, ids: &[u8]) -> Result<(), String> {
        let number = self.attributes.len();
        let mut ids = Fields(ids);
        while let Some(id) = ids.u64() {
            self.by_id.insert(id, number);
        }
        self.differ |= self.attributes.first().is_some_and(|f| *f != attribute);
        self.attributes.push(attribute);
        if number >= MOST_EVENTS || self.by_id.len() > MOST_IDS {
            return Err("has more events than can be".to_owned());
        }
        Ok(())
    }

    /// All attributes.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// That samples can be told apart.
    pub fn check(&self) -> Result<(), String> {
        let mut places = self.attributes.iter().map(Attribute::words_before_id);
        let first = places.next().flatten();
        if self.differ && (first.is_none() || places.any(|place| place != first)) {
            return Err("has events whose samples cannot be told apart".to_owned());
        }
        Ok(())
    }

    /// The event that a sample is of; `None` when nobody knows.
    #[inline]
    #[must_use]
    pub fn of_sample(&self, body: &[u8]) -> Option<&Attribute> {
        let first = self.attributes.first()?;
        if !self.differ {
            return Some(first);
        }
        let mut fields = Fields(body);
        fields.words(first.words_before_id()? as u64)?;
        self.attributes.get(*self.by_id.get(&fields.u64()?)?)
    }
}
