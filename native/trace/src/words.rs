// SPDX-License-Identifier: GPL-2.0-or-later
//! The words of a sequence, in memory or packed in the file that they were written to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

/// Words of a frame, but for the last one: what is packed and unpacked at a time.
pub(super) const FRAME: usize = 256 * 1024;

/// How hard is tried to make a frame small: while a guest runs, zstd's fastest ordinary level.
const LEVEL: i32 = 1;

/// The words of a trace as they were written. Those of a file are not held in memory: a frame of
/// them is unpacked when it is asked for.
#[derive(Debug, Clone)]
pub struct Words {
    held: Held,
    count: usize,
    /// By number in a word, the number of that block; empty where they are the same.
    numbers: Vec<u32>,
}

#[derive(Debug, Clone)]
enum Held {
    Here(Arc<[u32]>),
    InFile(Arc<Packed>),
}

#[derive(Debug)]
struct Packed {
    file: File,
    /// Where each frame begins, and where the last one ends.
    bounds: Vec<u64>,
    /// The frame that was unpacked last: who looks ahead from a place begins in the same one.
    latest: Mutex<Option<(usize, Arc<[u32]>)>>,
}

impl Words {
    /// Those of a file that nobody writes to any more. bounds: where each frame of it begins, and
    /// where the last one ends.
    pub(super) fn of_file(file: File, bounds: Vec<u64>, count: usize) -> Self {
        let latest = Mutex::default();
        let packed = Packed {
            file,
            bounds,
            latest,
        };
        Self {
            held: Held::InFile(packed.into()),
            count,
            numbers: Vec::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, from the first one on.
    #[must_use]
    pub fn iter(&self) -> Cursor<'_> {
        self.cursor(0)
    }

    /// Those from a place on.
    #[must_use]
    pub fn cursor(&self, position: usize) -> Cursor<'_> {
        let mut cursor = Cursor {
            words: self,
            begin: position,
            at: 0,
            frame: [].into(),
        };
        cursor.unpack();
        cursor
    }

    /// The number of the block that a word below [`super::ESCAPE`] stands for.
    #[inline(always)]
    #[must_use]
    pub fn block(&self, word: u32) -> u32 {
        self.numbers.get(word as usize).copied().unwrap_or(word)
    }

    /// From now on blocks have other numbers. numbers: the new ones, by those of until now.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        self.numbers = match self.numbers.is_empty() {
            true => numbers.to_vec(),
            false => self
                .numbers
                .iter()
                .map(|old| numbers[*old as usize])
                .collect(),
        };
    }

    /// How many frames [`Self::frame`] has.
    pub(super) fn frames(&self) -> usize {
        match &self.held {
            Held::Here(_) => 1,
            Held::InFile(_) => self.count.div_ceil(FRAME),
        }
    }

    /// The words of a frame.
    ///
    /// # Errors
    ///
    /// Why it cannot be unpacked.
    pub(super) fn frame(&self, number: usize) -> Result<Arc<[u32]>, String> {
        match &self.held {
            Held::Here(words) => Ok(words.clone()),
            Held::InFile(packed) => packed.frame(number, words_in(number, self.count)),
        }
    }
}

impl From<Vec<u32>> for Words {
    fn from(words: Vec<u32>) -> Self {
        Self {
            count: words.len(),
            held: Held::Here(words.into()),
            numbers: Vec::new(),
        }
    }
}

impl Packed {
    fn frame(&self, number: usize, count: usize) -> Result<Arc<[u32]>, String> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, words)) = latest.as_ref().filter(|(known, _)| *known == number) {
            return Ok(words.clone());
        }
        let (begin, end) = (self.bounds[number], self.bounds[number + 1]);
        let mut packed = vec![0; (end - begin) as usize];
        let read = self.file.read_exact_at(&mut packed, begin);
        read.map_err(|error| error.to_string())?;
        let words = unpacked(&packed, count)?;
        *latest = Some((number, words.clone()));
        Ok(words)
    }
}

/// A place in the words, and the way on from there.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    words: &'a Words,
    /// Of the words, where `frame` begins.
    begin: usize,
    /// The place in `frame`.
    at: usize,
    frame: Arc<[u32]>,
}

impl Cursor<'_> {
    /// How many words lie before this place.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> usize {
        self.begin + self.at
    }

    /// The word at this place; `None` behind the last one.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u32> {
        if self.at == self.frame.len() {
            self.unpack();
        }
        self.frame.get(self.at).copied()
    }

    /// Takes in the frame of this place.
    #[cold]
    fn unpack(&mut self) {
        let position = self.place().min(self.words.count);
        if position == self.words.count {
            (self.begin, self.at, self.frame) = (position, 0, [].into());
            return;
        }
        let frames = self.words.frames();
        let number = if frames == 1 { 0 } else { position / FRAME };
        self.begin = number * FRAME;
        self.at = position - self.begin;
        // All of them were unpacked once before anyone had the trace.
        let frame = self.words.frame(number);
        self.frame = frame.expect("the file of a trace can be read as it was when it was opened");
    }
}

impl Iterator for Cursor<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let word = self.peek()?;
        self.at += 1;
        Some(word)
    }
}

/// How many words a frame has. count: of all words.
pub(super) fn words_in(frame: usize, count: usize) -> usize {
    count.saturating_sub(frame * FRAME).min(FRAME)
}

/// A frame as it lies in a file (RFC 8878). bytes: of its words, little-endian.
pub(super) fn packed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL)
}

/// The words of a frame, of which there must be so many.
pub(super) fn unpacked(packed: &[u8], count: usize) -> Result<Arc<[u32]>, String> {
    let bytes = zstd::bulk::decompress(packed, 4 * count);
    let bytes = bytes.map_err(|error| format!("has a frame that is none: {error}"))?;
    if bytes.len() != 4 * count {
        return Err("has a frame of fewer words than it says".to_owned());
    }
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().copied().map(u32::from_le_bytes).collect())
}
