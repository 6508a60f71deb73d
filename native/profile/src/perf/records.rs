// SPDX-License-Identifier: GPL-2.0-or-later
//! The records of a file, one after the other.

use std::io::Read;

use super::fields::Fields;
use super::header::{Section, reason};
use super::inflate::Inflate;
use super::kind;

/// Bytes of `struct perf_event_header`.
pub const HEADER: usize = 8;

/// Read at once, in bytes: more than any record has.
const BUFFER: usize = 1 << 20;

/// Where a record is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Plain(usize, usize),
    Inflated(usize, usize),
}

/// A record.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// `PERF_RECORD_…`.
    pub kind: u32,
    /// `PERF_RECORD_MISC_…`.
    pub misc: u16,
    /// What stands behind the header.
    pub body: &'a [u8],
}

/// Reads records from a source that stands at the first one.
pub struct Records<R> {
    source: R,
    /// Bytes that the source still has, if that is known.
    left: Option<u64>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// In the file: of the first byte of the buffer.
    offset: u64,
    current: Place,
    inflate: Option<Inflate>,
}

impl<R: Read> Records<R> {
    /// section: where the records are, of which `source` stands at the first; `None`: up to the
    /// end.
    pub fn new(source: R, section: Option<Section>) -> Self {
        Self {
            source,
            left: section.map(|section| section.size),
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
            offset: section.map_or(super::PIPE_HEADER, |section| section.offset),
            current: Place::Plain(0, 0),
            inflate: None,
        }
    }

    /// Goes to the next record; whether there is one.
    ///
    /// # Errors
    ///
    /// Why the file ends before its end.
    pub fn advance(&mut self) -> Result<bool, String> {
        loop {
            if let Some(inflate) = &mut self.inflate
                && let Some((begin, end)) = inflate.next_record()?
            {
                self.current = Place::Inflated(begin, end);
                return Ok(true);
            }
            let Some(size) = self.next_plain()? else {
                return self.finish();
            };
            self.current = Place::Plain(self.begin, self.begin + size);
            self.begin += size;
            let record = self.record();
            match record.kind {
                kind::COMPRESSED => self.open_compressed(false)?,
                kind::COMPRESSED2 => self.open_compressed(true)?,
                // What these have comes behind them, and is not part of any record.
                kind::AUXTRACE => {
                    let size = Fields(record.body).u64();
                    self.skip(size.ok_or_else(|| self.cut_off())?)?;
                }
                kind::HEADER_TRACING_DATA if self.left.is_none() => {
                    let size = Fields(record.body).u32();
                    let size = u64::from(size.ok_or_else(|| self.cut_off())?);
                    self.skip(size.next_multiple_of(8))?;
                }
                _ => return Ok(true),
            }
        }
    }

    /// The record that [`Self::advance`] went to.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        let bytes = match self.current {
            Place::Plain(begin, end) => &self.buffer[begin..end],
            Place::Inflated(begin, end) => match &self.inflate {
                Some(inflate) => &inflate.bytes()[begin..end],
                None => &[],
            },
        };
        let mut fields = Fields(bytes);
        let kind = fields.u32().unwrap_or_default();
        let misc = fields.u16().unwrap_or_default();
        let _size = fields.u16();
        Record {
            kind,
            misc,
            body: fields.0,
        }
    }

    /// Where in the file the last record ends.
    pub fn position(&self) -> u64 {
        self.offset + self.begin as u64
    }

    /// The size of the next record in the buffer; `None` at the end.
    fn next_plain(&mut self) -> Result<Option<usize>, String> {
        if !self.fill(HEADER)? {
            return if self.begin == self.end {
                Ok(None)
            } else {
                Err(self.cut_off())
            };
        }
        let header = &self.buffer[self.begin..self.begin + HEADER];
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        if size < HEADER {
            return Err(format!("is corrupt at byte {}", self.position()));
        }
        if !self.fill(size)? {
            return Err(self.cut_off());
        }
        Ok(Some(size))
    }

    /// Has `wanted` bytes in the buffer; whether there are so many.
    #[inline]
    fn fill(&mut self, wanted: usize) -> Result<bool, String> {
        if self.end - self.begin >= wanted {
            return Ok(true);
        }
        self.refill(wanted)
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> Result<bool, String> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.offset += self.begin as u64;
        self.end -= self.begin;
        self.begin = 0;
        while self.end < wanted {
            let mut room = BUFFER - self.end;
            if let Some(left) = self.left {
                room = room.min(usize::try_from(left).unwrap_or(usize::MAX));
            }
            let read = self
                .source
                .read(&mut self.buffer[self.end..self.end + room]);
            let read = match read {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read.map_err(reason)?,
            };
            if read == 0 {
                return Ok(false);
            }
            self.end += read;
            self.left = self.left.map(|left| left.saturating_sub(read as u64));
        }
        Ok(true)
    }

    /// Leaves out bytes that are no record.
    fn skip(&mut self, mut bytes: u64) -> Result<(), String> {
        while bytes > 0 {
            if !self.fill(1)? {
                return Err(self.cut_off());
            }
            let here = bytes.min((self.end - self.begin) as u64);
            self.begin += here as usize;
            bytes -= here;
        }
        Ok(())
    }

    /// The current record has others in it. sized: whether it says how many bytes it has.
    fn open_compressed(&mut self, sized: bool) -> Result<(), String> {
        let mut inflate = match self.inflate.take() {
            Some(inflate) => inflate,
            None => Inflate::new()?,
        };
        let mut fields = Fields(self.record().body);
        if sized {
            let bytes = fields.u64().and_then(|size| fields.bytes(size));
            fields = Fields(bytes.ok_or("has a compressed record that is corrupt")?);
        }
        inflate.give(fields.0);
        self.inflate = Some(inflate);
        Ok(())
    }

    fn finish(&self) -> Result<bool, String> {
        let inside = self.inflate.as_ref().is_some_and(Inflate::is_inside);
        if inside || self.left.is_some_and(|left| left > 0) {
            return Err(self.cut_off());
        }
        Ok(false)
    }

    fn cut_off(&self) -> String {
        format!("is cut off at byte {}", self.position())
    }
}
