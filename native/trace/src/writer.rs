// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes a trace while it happens.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::words::{FRAME, packed};
use super::{Block, END, Escape, Facts, MAGIC};

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

/// Writes under another name, which [`Self::finish`] changes: a trace that is there is whole.
#[derive(Debug)]
pub struct TraceWriter {
    file: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
    words: u64,
    /// Bytes of the words that are not packed yet.
    frame: Vec<u8>,
    /// Bytes of each packed frame.
    frames: Vec<u32>,
    failed: Option<io::Error>,
}

impl TraceWriter {
    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// The system's, when the file cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        let mut file = BufWriter::with_capacity(BUFFER, File::create(&part)?);
        file.write_all(MAGIC)?;
        Ok(Self {
            file,
            part,
            path: path.to_owned(),
            words: 0,
            frame: Vec::with_capacity(4 * FRAME),
            frames: Vec::new(),
            failed: None,
        })
    }

    /// The block of this number is entered.
    #[inline(always)]
    pub fn block(&mut self, number: usize) {
        self.word(number as u32);
    }

    /// The last instruction of the block before was not executed.
    pub fn cut(&mut self) {
        self.word(Escape::Cut as u32);
    }

    /// The block before has led to `address`, where the flow was interrupted.
    pub fn led(&mut self, address: u64, name: u32) {
        let [low, high] = [address as u32, (address >> 32) as u32];
        for word in [Escape::Led as u32, low, high, name] {
            self.word(word);
        }
    }

    /// The region begins.
    pub fn begin(&mut self) {
        self.word(Escape::Begin as u32);
    }

    /// An error is kept until [`Self::finish`]: the caller has no time for it.
    #[inline(always)]
    fn word(&mut self, word: u32) {
        self.words += 1;
        self.frame.extend_from_slice(&word.to_le_bytes());
        if self.frame.len() == 4 * FRAME {
            self.pack();
        }
    }

    #[inline(never)]
    fn pack(&mut self) {
        let packed = packed(&self.frame);
        self.frame.clear();
        let written = packed.and_then(|bytes| {
            self.file.write_all(&bytes)?;
            self.frames.push(bytes.len() as u32);
            Ok(())
        });
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    /// Writes the blocks, by number, each with the offsets of its instructions and their machine code,
    /// and everything else.
    ///
    /// # Errors
    ///
    /// The system's, also of writes before.
    pub fn finish<'a>(
        mut self,
        blocks: impl Iterator<Item = (Block, &'a [u16], &'a [u8])>,
        facts: &Facts,
    ) -> io::Result<()> {
        if !self.frame.is_empty() {
            self.pack();
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let file = &mut self.file;
        for bytes in &self.frames {
            file.write_all(&bytes.to_le_bytes())?;
        }
        let (mut count, mut sizes, mut code) = (0_u64, Vec::new(), Vec::new());
        for (block, offsets, bytes) in blocks {
            count += 1;
            file.write_all(&block.start.to_le_bytes())?;
            file.write_all(&block.target.to_le_bytes())?;
            file.write_all(&block.bytes.to_le_bytes())?;
            file.write_all(&block.last_offset.to_le_bytes())?;
            file.write_all(&[block.kind as u8, u8::from(block.kernel)])?;
            file.write_all(&(offsets.len() as u16).to_le_bytes())?;
            file.write_all(&block.name.to_le_bytes())?;
            let ends = offsets.iter().skip(1).chain([&block.bytes]);
            sizes.extend(
                offsets
                    .iter()
                    .zip(ends)
                    .map(|(begin, end)| (end - begin) as u8),
            );
            code.extend(bytes);
        }
        file.write_all(&sizes)?;
        file.write_all(&code)?;
        file.write_all(facts.tag.as_bytes())?;
        for figure in facts.counters.iter().flat_map(|one| one.figures()) {
            file.write_all(&figure.to_le_bytes())?;
        }
        file.write_all(facts.cpu.as_bytes())?;
        file.write_all(facts.architecture.as_bytes())?;
        let runs = facts.pages.runs();
        for run in runs {
            for number in [run.start, run.last, run.shift.into()] {
                file.write_all(&number.to_le_bytes())?;
            }
        }
        let texts = [&facts.tag, &facts.cpu, &facts.architecture].map(|text| text.len() as u64);
        let [tag, cpu, architecture] = texts;
        let instructions = sizes.len() as u64;
        let runs = runs.len() as u64;
        let packed = self.frames.iter().copied().map(u64::from).sum();
        for number in [
            self.words,
            packed,
            count,
            instructions,
            code.len() as u64,
            tag,
            cpu,
            architecture,
            runs,
        ] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(END)?;
        file.flush()?;
        fs::rename(&self.part, &self.path)
    }
}
