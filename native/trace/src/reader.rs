// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a trace and checks every number in it.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::lengths::{Lengths, seek};
use super::words::{unpacked, words_in};
use super::{Block, ESCAPE, Escape, Event, Facts, Instructions, Kind, MAGIC, RECORD, RUN, Words};
use kernsmith_arch::{PageMap, Run};
use kernsmith_frontend::Counters;

/// Why a file is no trace; one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError(String);

impl std::fmt::Display for TraceError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// A whole trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// See [`super`]: every block number is one of `blocks`, every escape is whole.
    pub words: Words,
    pub blocks: Vec<Block>,
    pub instructions: Instructions,
    pub facts: Facts,
}

impl Trace {
    /// Opens a file, which nobody may write to any more. The words stay in it.
    ///
    /// # Errors
    ///
    /// One sentence with the file and the reason.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        opened(path, |file, size| {
            Self::read_with(file, size, |file, bounds, count| {
                let file = file.try_clone().map_err(|error| error.to_string())?;
                Ok(Words::of_file(file, bounds, count))
            })
        })
    }

    /// Reads what a file says beside the sequence.
    ///
    /// # Errors
    ///
    /// One sentence with the file and the reason.
    pub fn load_facts(path: &Path) -> Result<Facts, TraceError> {
        opened(path, |file, size| {
            let lengths = Lengths::read(file, size)?;
            let index = 4 * lengths.frames();
            let blocks = RECORD as u64 * lengths.blocks + lengths.instructions + lengths.code;
            let skipped = lengths.packed + index + blocks;
            seek(file, MAGIC.len() as u64 + skipped)?;
            read_facts(file, &lengths)
        })
    }

    /// Reads a trace of `size` bytes.
    ///
    /// # Errors
    ///
    /// Why it is none.
    pub fn read(source: &mut (impl Read + Seek), size: u64) -> Result<Self, String> {
        Self::read_with(source, size, |source, bounds, count| {
            read_words(source, &bounds, count).map(Words::from)
        })
    }

    /// words: takes that many of the source, whose frames have these bounds.
    fn read_with<S: Read + Seek>(
        source: &mut S,
        size: u64,
        words: impl FnOnce(&mut S, Vec<u64>, usize) -> Result<Words, String>,
    ) -> Result<Self, String> {
        let lengths = Lengths::read(source, size)?;
        let index = MAGIC.len() as u64 + lengths.packed;
        seek(source, index)?;
        let bounds = read_bounds(source, &lengths)?;
        let words = words(source, bounds, lengths.words as usize)?;
        seek(source, index + 4 * lengths.frames())?;
        let (mut blocks, mut counts) = (Vec::new(), Vec::new());
        for _ in 0..lengths.blocks {
            let (block, count) = read_block(source)?;
            blocks.push(block);
            counts.push(count);
        }
        let sizes = read_bytes(source, lengths.instructions as usize)?;
        let code = read_bytes(source, lengths.code as usize)?;
        let trace = Self {
            words,
            blocks,
            instructions: Instructions::new(sizes, counts.into_iter())?.with_code(code)?,
            facts: read_facts(source, &lengths)?,
        };
        trace.check()?;
        Ok(trace)
    }

    /// The sequence.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.events_in(0..self.words.len())
    }

    /// A part of the sequence: from one word to another, neither of them inside an escape.
    pub fn events_in(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = Event> {
        let mut words = self.words.cursor(range.start);
        std::iter::from_fn(move || {
            if words.place() >= range.end {
                return None;
            }
            let word = words.next()?;
            let mut next = || words.next().map_or(0, u64::from);
            Some(match word {
                number if number < ESCAPE => Event::Block(self.words.block(number)),
                begin if begin == Escape::Begin as u32 => Event::Begin,
                led if led == Escape::Led as u32 => {
                    let address = next() | next() << 32;
                    Event::Led(address, next() as u32)
                }
                _ => Event::Cut,
            })
        })
    }

    /// Numbers the blocks anew: those that are entered most often come first, so that what is
    /// known of them lies close together when the sequence is replayed.
    pub fn sort_blocks(&mut self) {
        let mut entered = vec![0_u64; self.blocks.len()];
        for event in self.events() {
            if let Event::Block(number) = event {
                entered[number as usize] += 1;
            }
        }
        let mut order: Vec<u32> = (0..self.blocks.len() as u32).collect();
        order.sort_by_key(|number| Reverse(entered[*number as usize]));
        self.blocks = order.iter().map(|old| self.blocks[*old as usize]).collect();
        self.instructions = self.instructions.in_order(&order);
        let mut numbers = vec![0; order.len()];
        for (number, old) in order.iter().enumerate() {
            numbers[*old as usize] = number as u32;
        }
        self.words.renumber(&numbers);
    }

    fn check(&self) -> Result<(), String> {
        // Words of an address and its name that are still to come.
        let mut rest = 0;
        for frame in 0..self.words.frames() {
            for word in self.words.frame(frame)?.iter().copied() {
                if rest > 0 {
                    rest -= 1;
                    continue;
                }
                if word == Escape::Led as u32 {
                    rest = Escape::LED_WORDS;
                    continue;
                }
                let known = (word as usize) < self.blocks.len();
                let escape = word == Escape::Cut as u32 || word == Escape::Begin as u32;
                if !(word < ESCAPE && known || escape) {
                    return Err(format!("has the word {word:#x}, which means nothing"));
                }
            }
        }
        if rest > 0 {
            return Err("ends inside an address".to_owned());
        }
        for (number, block) in self.blocks.iter().enumerate() {
            let sizes = self.instructions.sizes(number);
            let bytes: u32 = sizes.iter().copied().map(u32::from).sum();
            let last = self.instructions.offsets(number).last();
            if bytes != block.bytes.into() || last != Some(block.last_offset) {
                return Err(format!(
                    "has a block at {:#x} of other instructions than it says",
                    block.start
                ));
            }
        }
        Ok(())
    }
}

/// Opens a file and has it read, of which the size is told.
fn opened<T>(
    path: &Path,
    read: impl FnOnce(&mut File, u64) -> Result<T, String>,
) -> Result<T, TraceError> {
    let told = |reason: String| TraceError(format!("trace {}: {reason}", path.display()));
    let mut file = File::open(path).map_err(|error| told(error.to_string()))?;
    let size = file
        .seek(SeekFrom::End(0))
        .map_err(|error| told(error.to_string()))?;
    read(&mut file, size).map_err(told)
}

/// What comes behind the blocks.
fn read_facts(source: &mut impl Read, lengths: &Lengths) -> Result<Facts, String> {
    Ok(Facts {
        tag: read_text(source, lengths.tag as usize)?,
        counters: [read_counters(source)?, read_counters(source)?],
        cpu: read_text(source, lengths.cpu as usize)?,
        architecture: read_text(source, lengths.architecture as usize)?,
        pages: read_pages(source, lengths.runs as usize)?,
    })
}

fn read_pages(source: &mut impl Read, count: usize) -> Result<PageMap, String> {
    let bytes = read_bytes(source, count * RUN)?;
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let run = |bytes: &[u8]| Run {
        start: long(&bytes[..8]),
        last: long(&bytes[8..16]),
        shift: u32::try_from(long(&bytes[16..])).unwrap_or(u32::MAX),
    };
    if count == 0 {
        return Err("has no map of the kernel's pages: take the trace anew".to_owned());
    }
    PageMap::new(bytes.chunks_exact(RUN).map(run))
        .map_err(|reason| format!("has no map of the kernel's pages: {reason}"))
}

fn read_bytes(source: &mut impl Read, count: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; count];
    source
        .read_exact(&mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Where each packed frame begins, and where the last one ends.
fn read_bounds(source: &mut impl Read, lengths: &Lengths) -> Result<Vec<u64>, String> {
    let index = read_bytes(source, 4 * lengths.frames() as usize)?;
    let mut bounds = vec![MAGIC.len() as u64];
    let mut end = MAGIC.len() as u64;
    for bytes in index.as_chunks().0 {
        end += u64::from(u32::from_le_bytes(*bytes));
        bounds.push(end);
    }
    if end != MAGIC.len() as u64 + lengths.packed {
        return Err("has frames of other lengths than it says".to_owned());
    }
    Ok(bounds)
}

fn read_words(
    source: &mut (impl Read + Seek),
    bounds: &[u64],
    count: usize,
) -> Result<Vec<u32>, String> {
    let mut words = Vec::new();
    for (number, frame) in bounds.windows(2).enumerate() {
        seek(source, frame[0])?;
        let packed = read_bytes(source, (frame[1] - frame[0]) as usize)?;
        words.extend_from_slice(&unpacked(&packed, words_in(number, count))?);
    }
    Ok(words)
}

/// A block and how many instructions it has.
fn read_block(source: &mut impl Read) -> Result<(Block, usize), String> {
    let mut record = [0; RECORD];
    source
        .read_exact(&mut record)
        .map_err(|error| error.to_string())?;
    let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap_or_default());
    let short = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
    let block = Block {
        start: long(0),
        target: long(8),
        bytes: short(16),
        last_offset: short(18),
        kind: *Kind::ALL
            .get(usize::from(record[20]))
            .ok_or_else(|| format!("has a block of the unknown kind {}", record[20]))?,
        kernel: record[21] != 0,
        name: u32::from_le_bytes(record[24..].try_into().unwrap_or_default()),
    };
    if block.bytes == 0 || block.last_offset >= block.bytes {
        return Err(format!("has an impossible block at {:#x}", block.start));
    }
    Ok((block, short(22).into()))
}

fn read_counters(source: &mut impl Read) -> Result<Counters, String> {
    let mut figures = [0; Counters::FIGURES];
    for figure in &mut figures {
        let mut bytes = [0; 8];
        source
            .read_exact(&mut bytes)
            .map_err(|error| error.to_string())?;
        *figure = u64::from_le_bytes(bytes);
    }
    Ok(Counters::from_figures(figures))
}

fn read_text(source: &mut impl Read, bytes: usize) -> Result<String, String> {
    let text = read_bytes(source, bytes)?;
    String::from_utf8(text).map_err(|_| "has names that are no text".to_owned())
}
