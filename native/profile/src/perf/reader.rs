// SPDX-License-Identifier: GPL-2.0-or-later
//! A file from its beginning to its end.

use std::io::{Read, Seek};

use super::attribute::{Attribute, Events};
use super::build_id::BuildId;
use super::fields::Fields;
use super::header::Header;
use super::mapping::Mapping;
use super::origin::Origin;
use super::records::Records;
use super::sample::Sample;
use super::{has, kind, misc};

/// What a record tells.
#[derive(Debug)]
pub enum Item<'a> {
    /// Code in kernel space is somewhere.
    Mapping(Mapping),
    /// What code in kernel space is.
    BuildId(BuildId),
    /// So many records, or samples, were lost.
    Lost(u64),
    Sample(Sample<'a>),
    /// A sample of an event that the file does not have.
    Stray,
    /// Nothing that anybody asks for.
    Other,
}

/// Reads a file of `perf record`.
pub struct Reader<R> {
    records: Records<R>,
    events: Events,
    build_ids: Vec<BuildId>,
    origin: Origin,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads what comes before the records.
    ///
    /// # Errors
    ///
    /// Why this is no such file, or one that cannot be read: a sentence without its subject, which
    /// is the file.
    pub fn new(mut source: R) -> Result<Self, String> {
        let header = Header::read(&mut source)?;
        Ok(Self {
            records: Records::new(source, header.records),
            events: header.events,
            build_ids: header.build_ids,
            origin: header.origin,
        })
    }

    /// The events that are known by now: of a file all, of what was piped those that were told.
    #[must_use]
    pub fn events(&self) -> &[Attribute] {
        self.events.attributes()
    }

    /// Whether one of these events has branch stacks.
    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.events().iter().any(|one| one.has(has::BRANCH_STACK))
    }

    /// The build ids in the file's features.
    #[must_use]
    pub fn build_ids(&self) -> &[BuildId] {
        &self.build_ids
    }

    /// Where it was recorded, as far as is known by now: see [`Self::events`].
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What the next record tells that tells anything; `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, String> {
        loop {
            if !self.records.advance()? {
                return Ok(None);
            }
            let record = self.records.record();
            match record.kind {
                kind::SAMPLE
                | kind::MMAP
                | kind::MMAP2
                | kind::LOST
                | kind::LOST_SAMPLES
                | kind::HEADER_BUILD_ID => break,
                kind::HEADER_ATTR => {
                    let mut fields = Fields(record.body);
                    let attribute = Attribute::read(&mut fields);
                    let attribute = attribute.ok_or("has an event that is corrupt")?;
                    self.events.add(attribute, fields.0)?;
                    self.events.check()?;
                }
                kind::HEADER_FEATURE => {
                    let mut fields = Fields(record.body);
                    if let Some(number) = fields.u64().and_then(|one| usize::try_from(one).ok()) {
                        self.origin.take(number, fields.0);
                    }
                }
                _ => {}
            }
        }
        self.item()
    }

    /// What the current record tells.
    #[inline]
    fn item(&self) -> Result<Option<Item<'_>>, String> {
        let record = self.records.record();
        Ok(Some(match record.kind {
            kind::SAMPLE => match self.events.of_sample(record.body) {
                Some(event) => {
                    let sample = Sample::read(record.misc, record.body, event);
                    Item::Sample(sample.ok_or_else(|| self.corrupt())?)
                }
                None => Item::Stray,
            },
            kind::LOST => {
                let mut fields = Fields(record.body);
                let lost = fields.words(1).and_then(|_| fields.u64());
                Item::Lost(lost.ok_or_else(|| self.corrupt())?)
            }
            kind::LOST_SAMPLES if record.misc & misc::LOST_BY_FILTER != 0 => Item::Other,
            kind::LOST_SAMPLES => {
                Item::Lost(Fields(record.body).u64().ok_or_else(|| self.corrupt())?)
            }
            kind::HEADER_BUILD_ID => {
                BuildId::read(record.misc, record.body).map_or(Item::Other, Item::BuildId)
            }
            kind => {
                Mapping::read(kind, record.misc, record.body).map_or(Item::Other, Item::Mapping)
            }
        }))
    }

    #[cold]
    fn corrupt(&self) -> String {
        format!(
            "is corrupt: the record that ends at byte {} is not what its event has",
            self.records.position()
        )
    }
}
