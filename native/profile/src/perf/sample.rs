// SPDX-License-Identifier: GPL-2.0-or-later
//! `PERF_RECORD_SAMPLE`.

use super::attribute::Attribute;
use super::fields::Fields;
use super::{branch, has, misc};

/// Bytes of `struct perf_branch_entry`: where from, where to, flags.
const ENTRY: usize = 24;

/// `PERF_FORMAT_…`: what a counter's value that stands in a sample has.
const TIME_ENABLED: u64 = 1;
const TIME_RUNNING: u64 = 1 << 1;
const ID: u64 = 1 << 2;
const GROUP: u64 = 1 << 3;
const LOST: u64 = 1 << 4;

/// What is read of a sample.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample<'a> {
    /// Whether a guest of the machine ran: what it has is not of the machine's own kernel.
    pub guest: bool,
    /// Where the program was.
    pub ip: Option<u64>,
    /// The last branches that were taken, if the event has such.
    pub branches: Option<Branches<'a>>,
}

/// A branch stack.
#[derive(Debug, Clone, Copy, Default)]
pub struct Branches<'a>(&'a [u8]);

impl Branches<'_> {
    /// Where from and where to, the latest branch first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.chunks_exact(ENTRY).map(|entry| {
            let word = |at: usize| {
                let bytes: [u8; 8] = entry[at..at + 8].try_into().unwrap_or_default();
                u64::from_le_bytes(bytes)
            };
            (word(0), word(8))
        })
    }
}

impl<'a> Sample<'a> {
    /// Reads a sample of an event; `None` when it is cut off.
    #[inline]
    #[must_use]
    pub fn read(record_misc: u16, body: &'a [u8], event: &Attribute) -> Option<Self> {
        let mut fields = Fields(body);
        let mode = record_misc & misc::CPU_MODE;
        let mut sample = Self {
            guest: matches!(mode, misc::GUEST_KERNEL | misc::GUEST_USER),
            ..Self::default()
        };
        if event.has(has::IDENTIFIER) {
            fields.u64()?;
        }
        if event.has(has::IP) {
            sample.ip = Some(fields.u64()?);
        }
        let words = [
            has::TID,
            has::TIME,
            has::ADDR,
            has::ID,
            has::STREAM_ID,
            has::CPU,
            has::PERIOD,
        ];
        let words = words.iter().filter(|one| event.has(**one)).count();
        fields.words(words as u64)?;
        if event.has(has::READ) {
            skip_read(&mut fields, event.read_format)?;
        }
        if event.has(has::CALLCHAIN) {
            let count = fields.u64()?;
            fields.words(count)?;
        }
        if event.has(has::RAW) {
            let size = fields.u32()?;
            fields.bytes(size.into())?;
        }
        if event.has(has::BRANCH_STACK) {
            let count = fields.u64()?;
            if event.branch_sample_type & branch::HW_INDEX != 0 {
                fields.u64()?;
            }
            let entries = fields.bytes(count.checked_mul(ENTRY as u64)?)?;
            sample.branches = Some(Branches(entries));
        }
        Some(sample)
    }
}

/// Skips the values of counters (`perf_output_read` of `kernel/events/core.c`).
fn skip_read(fields: &mut Fields, format: u64) -> Option<()> {
    let words = |bits: &[u64]| bits.iter().filter(|bit| format & **bit != 0).count() as u64;
    let values = if format & GROUP != 0 {
        fields.u64()?
    } else {
        1
    };
    fields.words(words(&[TIME_ENABLED, TIME_RUNNING]))?;
    fields.words(values.checked_mul(1 + words(&[ID, LOST]))?)?;
    Some(())
}
