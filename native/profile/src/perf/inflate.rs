// SPDX-License-Identifier: GPL-2.0-or-later
//! Compressed records (`perf record -z`): all of them are one zstd stream of records.

use zstd::stream::raw::{Decoder, Operation};

use super::records::HEADER;

/// Inflated at once, in bytes. A record has less than 64 KiB.
const ROOM: usize = 1 << 20;

/// The records that come out of compressed ones.
pub struct Inflate {
    decoder: Decoder<'static>,
    /// Of the last compressed record: its bytes, and how many are used.
    input: Vec<u8>,
    used: usize,
    /// Whether the decoder may have more to say without further input.
    full: bool,
    output: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Inflate {
    /// Nothing is inflated yet.
    pub fn new() -> Result<Self, String> {
        Ok(Self {
            decoder: Decoder::new().map_err(|error| error.to_string())?,
            input: Vec::new(),
            used: 0,
            full: false,
            output: vec![0; ROOM],
            begin: 0,
            end: 0,
        })
    }

    /// The next compressed record, when [`Self::next_record`] has nothing left.
    pub fn give(&mut self, compressed: &[u8]) {
        self.input.clear();
        self.input.extend_from_slice(compressed);
        self.used = 0;
    }

    /// The place of the next record, header and all, in [`Self::bytes`]; `None` when there is none
    /// that is whole.
    pub fn next_record(&mut self) -> Result<Option<(usize, usize)>, String> {
        loop {
            let have = &self.output[self.begin..self.end];
            let size = size_of_record(have)?;
            if let Some(size) = size.filter(|size| *size <= have.len()) {
                let place = (self.begin, self.begin + size);
                self.begin += size;
                return Ok(Some(place));
            }
            if self.used == self.input.len() && !self.full {
                return Ok(None);
            }
            self.inflate()?;
        }
    }

    /// What records are in.
    pub fn bytes(&self) -> &[u8] {
        &self.output
    }

    /// Whether a record has begun and not ended.
    pub fn is_inside(&self) -> bool {
        self.begin != self.end
    }

    fn inflate(&mut self) -> Result<(), String> {
        self.output.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        let room = &mut self.output[self.end..];
        let free = room.len();
        let status = self
            .decoder
            .run_on_buffers(&self.input[self.used..], room)
            .map_err(|error| format!("has a compressed record that is corrupt ({error})"))?;
        self.used += status.bytes_read;
        self.end += status.bytes_written;
        self.full = status.bytes_written == free;
        if status.bytes_read == 0 && status.bytes_written == 0 && !self.full {
            // Nothing more can come of what is left.
            self.used = self.input.len();
        }
        Ok(())
    }
}

/// What the header of a record says; `None` when it is not whole.
fn size_of_record(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(header) = bytes.get(..HEADER) else {
        return Ok(None);
    };
    let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
    if size < HEADER {
        return Err("has a compressed record that is corrupt".to_owned());
    }
    Ok(Some(size))
}
