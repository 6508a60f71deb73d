// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a trace and checks every number in it.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::{Block, END, ESCAPE, Escape, Event, FOOTER, Facts, Kind, MAGIC, RECORD};
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

/// A whole trace in memory: 4 bytes for each entered block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// See [`super`]: every block number is one of `blocks`, every escape is whole.
    pub words: Vec<u32>,
    pub blocks: Vec<Block>,
    pub facts: Facts,
}

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One sentence with the file and the reason.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        let told = |reason: String| TraceError(format!("trace {}: {reason}", path.display()));
        let mut file = File::open(path).map_err(|error| told(error.to_string()))?;
        let size = file
            .seek(SeekFrom::End(0))
            .and_then(|size| file.rewind().map(|()| size))
            .map_err(|error| told(error.to_string()))?;
        Self::read(&mut file, size).map_err(told)
    }

    /// Reads a trace of `size` bytes.
    ///
    /// # Errors
    ///
    /// Why it is none.
    pub fn read(source: &mut (impl Read + Seek), size: u64) -> Result<Self, String> {
        let broken = |_| "is cut off".to_owned();
        let least = (MAGIC.len() + FOOTER) as u64;
        let mut magic = [0; 8];
        source.rewind().map_err(broken)?;
        source.read_exact(&mut magic).map_err(broken)?;
        if magic != *MAGIC {
            return Err("is no trace of this version".to_owned());
        }
        if size < least {
            return Err("is cut off".to_owned());
        }
        source
            .seek(SeekFrom::Start(size - FOOTER as u64))
            .map_err(broken)?;
        let [words, blocks, tag, cpu] = footer(source)?;
        let expected = words
            .checked_mul(4)
            .and_then(|sum| sum.checked_add(blocks.checked_mul(RECORD as u64)?))
            .and_then(|sum| sum.checked_add(tag)?.checked_add(cpu))
            .and_then(|sum| sum.checked_add(least + 2 * 8 * Counters::FIGURES as u64));
        if expected != Some(size) {
            return Err(format!(
                "has {size} bytes, which are not those that it says"
            ));
        }
        source
            .seek(SeekFrom::Start(MAGIC.len() as u64))
            .map_err(broken)?;
        let trace = Self {
            words: read_words(source, words as usize)?,
            blocks: (0..blocks)
                .map(|_| read_block(source))
                .collect::<Result<_, _>>()?,
            facts: Facts {
                tag: read_text(source, tag as usize)?,
                counters: [read_counters(source)?, read_counters(source)?],
                cpu: read_text(source, cpu as usize)?,
            },
        };
        trace.check()?;
        Ok(trace)
    }

    /// The sequence.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let mut words = self.words.iter();
        std::iter::from_fn(move || {
            let word = *words.next()?;
            let mut half = || words.next().map_or(0, |half| u64::from(*half));
            Some(match word {
                number if number < ESCAPE => Event::Block(number),
                begin if begin == Escape::Begin as u32 => Event::Begin,
                led if led == Escape::Led as u32 => Event::Led(half() | half() << 32),
                _ => Event::Cut,
            })
        })
    }

    /// Numbers the blocks anew: those that are entered most often come first, so that what is
    /// known of them lies close together when the sequence is replayed.
    pub fn sort_blocks(&mut self) {
        let mut entered = vec![0_u64; self.blocks.len()];
        self.entered().for_each(|word| entered[*word as usize] += 1);
        let mut order: Vec<u32> = (0..self.blocks.len() as u32).collect();
        order.sort_by_key(|number| Reverse(entered[*number as usize]));
        self.blocks = order.iter().map(|old| self.blocks[*old as usize]).collect();
        let mut new = vec![0; order.len()];
        for (number, old) in order.iter().enumerate() {
            new[*old as usize] = number as u32;
        }
        self.entered().for_each(|word| *word = new[*word as usize]);
    }

    /// The words that are numbers of blocks.
    fn entered(&mut self) -> impl Iterator<Item = &mut u32> {
        let mut halves = 0;
        self.words.iter_mut().filter(move |word| {
            let is_half = halves > 0;
            halves = match **word {
                _ if is_half => halves - 1,
                word if word == Escape::Led as u32 => 2,
                _ => 0,
            };
            !is_half && **word < ESCAPE
        })
    }

    fn check(&self) -> Result<(), String> {
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let fine = match *word {
                number if number < ESCAPE => (number as usize) < self.blocks.len(),
                led if led == Escape::Led as u32 => {
                    words.next().is_some() && words.next().is_some()
                }
                other => other == Escape::Cut as u32 || other == Escape::Begin as u32,
            };
            if !fine {
                return Err(format!("has the word {word:#x}, which means nothing"));
            }
        }
        Ok(())
    }
}

fn footer(source: &mut impl Read) -> Result<[u64; 4], String> {
    let mut bytes = [0; FOOTER];
    source
        .read_exact(&mut bytes)
        .map_err(|_| "is cut off".to_owned())?;
    let (numbers, end) = bytes.split_at(FOOTER - END.len());
    if end != END {
        return Err("is cut off: the tracer did not end it".to_owned());
    }
    let mut found = [0; 4];
    for (number, bytes) in found.iter_mut().zip(numbers.chunks_exact(8)) {
        *number = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(found)
}

fn read_words(source: &mut impl Read, count: usize) -> Result<Vec<u32>, String> {
    let mut words = Vec::with_capacity(count);
    let mut buffer = vec![0; 1 << 20];
    while words.len() < count {
        let wanted = (4 * (count - words.len())).min(buffer.len());
        let bytes = &mut buffer[..wanted];
        source
            .read_exact(bytes)
            .map_err(|error| error.to_string())?;
        let read = bytes.chunks_exact(4);
        words.extend(read.map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default())));
    }
    Ok(words)
}

fn read_block(source: &mut impl Read) -> Result<Block, String> {
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
    };
    if block.bytes == 0 || block.last_offset >= block.bytes {
        return Err(format!("has an impossible block at {:#x}", block.start));
    }
    Ok(block)
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
    let mut text = vec![0; bytes];
    source
        .read_exact(&mut text)
        .map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|_| "has names that are no text".to_owned())
}
