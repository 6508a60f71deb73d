// SPDX-License-Identifier: GPL-2.0-or-later
//! The words of a sequence, in memory or in the file that they were written to.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// The words of a trace as they were written: read like a slice. Those of a file are not held in
/// memory: the system reads what is asked for, and forgets it where memory is short.
#[derive(Debug, Clone)]
pub struct Words {
    held: Held,
    /// By number in a word, the number of that block; empty where they are the same.
    numbers: Vec<u32>,
}

#[derive(Debug, Clone)]
enum Held {
    Here(Vec<u32>),
    /// So many of a file, from this byte on.
    InFile(Arc<Mmap>, usize, usize),
}

impl Words {
    /// Those of a file that nobody writes to any more. offset: of the first one, a multiple of 4.
    ///
    /// # Errors
    ///
    /// The system's; or the file is shorter.
    pub(super) fn of_file(file: &File, offset: usize, count: usize) -> io::Result<Self> {
        // SAFETY: a trace is written under another name and never changed under its own.
        let map = unsafe { Mmap::map(file)? };
        if map.len() < offset + 4 * count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self {
            held: Held::InFile(Arc::new(map), offset, count),
            numbers: Vec::new(),
        })
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
}

impl Deref for Words {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match &self.held {
            Held::Here(words) => words,
            Held::InFile(map, offset, count) => {
                let bytes = &map[*offset..offset + 4 * count];
                // SAFETY: any four bytes are a word.
                let (before, words, _) = unsafe { bytes.align_to() };
                debug_assert!(before.is_empty());
                words
            }
        }
    }
}

impl From<Vec<u32>> for Words {
    fn from(words: Vec<u32>) -> Self {
        Self {
            held: Held::Here(words),
            numbers: Vec::new(),
        }
    }
}
