// SPDX-License-Identifier: GPL-2.0-or-later
//! The footer of a trace: how long its parts are.

use std::io::{Read, Seek, SeekFrom};

use super::words::FRAME;
use super::{END, FOOTER, MAGIC, OLD, RECORD, RUN};
use kernsmith_frontend::Counters;

/// How long the parts of a file are.
#[derive(Debug)]
pub(super) struct Lengths {
    pub words: u64,
    /// Of the packed frames, in bytes.
    pub packed: u64,
    pub blocks: u64,
    pub instructions: u64,
    /// Of their machine code, in bytes.
    pub code: u64,
    /// Of the texts, in bytes.
    pub tag: u64,
    pub cpu: u64,
    pub architecture: u64,
    pub runs: u64,
}

impl Lengths {
    /// What the footer of a whole file of `size` bytes says.
    ///
    /// # Errors
    ///
    /// Why it is no trace.
    pub fn read(source: &mut (impl Read + Seek), size: u64) -> Result<Self, String> {
        let mut magic = [0; 8];
        seek(source, 0)?;
        source
            .read_exact(&mut magic)
            .map_err(|_| "is cut off".to_owned())?;
        if let Some((_, what)) = OLD.iter().find(|(old, _)| **old == magic) {
            return Err(format!("{what}: take the trace anew"));
        }
        if magic != *MAGIC {
            return Err("is no trace of this version".to_owned());
        }
        let footer_at = size.checked_sub(FOOTER as u64);
        seek(source, footer_at.ok_or("is cut off")?)?;
        let mut bytes = [0; FOOTER];
        source
            .read_exact(&mut bytes)
            .map_err(|_| "is cut off".to_owned())?;
        let (numbers, end) = bytes.split_at(FOOTER - END.len());
        if end != END {
            return Err("is cut off: the tracer did not end it".to_owned());
        }
        let mut numbers = numbers.as_chunks().0.iter().copied();
        let mut next = || numbers.next().map_or(0, u64::from_le_bytes);
        let lengths = Self {
            words: next(),
            packed: next(),
            blocks: next(),
            instructions: next(),
            code: next(),
            tag: next(),
            cpu: next(),
            architecture: next(),
            runs: next(),
        };
        if lengths.whole() != Some(size) {
            return Err(format!(
                "has {size} bytes, which are not those that it says"
            ));
        }
        Ok(lengths)
    }

    /// Bytes of the whole file; `None` when no file is that long.
    fn whole(&self) -> Option<u64> {
        let rest = (MAGIC.len() + FOOTER + 2 * 8 * Counters::FIGURES) as u64;
        let parts = [
            self.packed,
            self.frames().checked_mul(4)?,
            self.blocks.checked_mul(RECORD as u64)?,
            self.runs.checked_mul(RUN as u64)?,
            self.instructions,
            self.code,
            self.tag,
            self.cpu,
            self.architecture,
        ];
        parts.into_iter().try_fold(rest, u64::checked_add)
    }

    pub fn frames(&self) -> u64 {
        self.words.div_ceil(FRAME as u64)
    }
}

/// Goes to a place in it.
pub(super) fn seek(source: &mut impl Seek, place: u64) -> Result<(), String> {
    source
        .seek(SeekFrom::Start(place))
        .map(drop)
        .map_err(|error| error.to_string())
}
