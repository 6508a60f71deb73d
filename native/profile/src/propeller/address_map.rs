// SPDX-License-Identifier: GPL-2.0-or-later
//! The map of basic blocks that clang puts into objects with `-fbasic-block-address-map`.
//!
//! The section `.llvm_bb_addr_map` (`llvm/docs/Extensions.rst`, "`SHT_LLVM_BB_ADDR_MAP` Section")
//! in its versions 2 to 5, which clang 19 to 23 write. One record a function:
//!
//! - version (1 byte), features (1 byte; 2 from version 5 on);
//! - ranges of blocks, if feature 3 says that there may be several: their number (all numbers are
//!   ULEB128), then for each: address, number of blocks, and of each block: its id, the distance
//!   from the end of the block before it, with feature 5 the distances of the ends of calls, the
//!   size behind the last of these, metadata, with feature 6 a hash (8 bytes);
//! - with features 0, 1, 2 and 7 the compiler's own frequencies, which are skipped.

use std::fmt;

/// The section's name.
pub const SECTION: &str = ".llvm_bb_addr_map";

const OLDEST: u8 = 2;
const NEWEST: u8 = 5;
/// Features that each version has, as a mask, from `OLDEST` on.
const FEATURES: [u16; 4] = [0x1f, 0x3f, 0x7f, 0xff];
const ENTRY_COUNT: u16 = 1 << 0;
const FREQUENCIES: u16 = 1 << 1;
const PROBABILITIES: u16 = 1 << 2;
const SEVERAL_RANGES: u16 = 1 << 3;
const NO_BLOCKS: u16 = 1 << 4;
const CALL_ENDS: u16 = 1 << 5;
const HASHES: u16 = 1 << 6;
const POST_LINK: u16 = 1 << 7;
const HASH_BYTES: usize = 8;

/// Why a map cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapError {
    /// This version is not known.
    Version(u8),
    /// At this byte of the section is something that no map has there.
    Corrupt(usize),
}

impl fmt::Display for MapError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                to,
                "its map of basic blocks has version {version}: known are {OLDEST} to {NEWEST} \
                 (clang 19 to 23)"
            ),
            Self::Corrupt(at) => write!(
                to,
                "its map of basic blocks is cut off or corrupt at byte {at}"
            ),
        }
    }
}

impl std::error::Error for MapError {}

/// A basic block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// What the compiler calls it; 0 is the function's entry.
    pub id: u32,
    /// Address of the first byte.
    pub start: u64,
    /// Bytes, without what aligns the next block.
    pub size: u32,
    metadata: u8,
}

impl Block {
    /// A block with metadata as in the map.
    #[must_use]
    pub fn new(id: u32, start: u64, size: u32, metadata: u8) -> Self {
        Self {
            id,
            start,
            size,
            metadata,
        }
    }

    /// Address behind the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(u64::from(self.size))
    }

    /// Whether it has the id and the ways out of another block.
    #[must_use]
    pub fn is_left_like(&self, other: &Self) -> bool {
        (self.id, self.metadata) == (other.id, other.metadata)
    }

    #[must_use]
    pub fn has_return(&self) -> bool {
        self.metadata & 1 != 0
    }

    #[must_use]
    pub fn has_tail_call(&self) -> bool {
        self.metadata & 2 != 0
    }

    #[must_use]
    pub fn is_landing_pad(&self) -> bool {
        self.metadata & 4 != 0
    }

    #[must_use]
    pub fn can_fall_through(&self) -> bool {
        self.metadata & 8 != 0
    }

    #[must_use]
    pub fn has_indirect_branch(&self) -> bool {
        self.metadata & 16 != 0
    }
}

/// A function's blocks: ranges of them, each in the order of their addresses; the first range
/// begins with the entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedFunction {
    pub ranges: Vec<Range>,
}

/// Blocks that lie together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub blocks: Vec<Block>,
}

/// How the file that a section is in writes numbers.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub little_endian: bool,
    /// Bytes of an address.
    pub address_bytes: usize,
}

/// All functions of a section, as far as blocks of them are in it.
///
/// address: from the offset of an address in the section and what stands there to what is meant:
/// in a relocatable file that is in a relocation. None: nothing is.
///
/// # Errors
///
/// An unknown version, or what cannot be read.
pub fn decode(
    section: &[u8],
    form: Form,
    address: impl Fn(usize, u64) -> Option<u64>,
) -> Result<Vec<MappedFunction>, MapError> {
    let mut reader = Reader {
        section,
        at: 0,
        form,
        address: &address,
    };
    let mut functions = Vec::new();
    while reader.at < section.len() {
        let function = reader.function()?;
        if function.ranges.iter().any(|range| !range.blocks.is_empty()) {
            functions.push(function);
        }
    }
    Ok(functions)
}

struct Reader<'a> {
    section: &'a [u8],
    at: usize,
    form: Form,
    address: &'a dyn Fn(usize, u64) -> Option<u64>,
}

impl Reader<'_> {
    fn function(&mut self) -> Result<MappedFunction, MapError> {
        let features = self.features()?;
        let count = match features & SEVERAL_RANGES {
            0 => 1,
            _ => self.small()?,
        };
        if count == 0 {
            return Err(MapError::Corrupt(self.at));
        }
        // A number says nothing about the memory that is needed: what it counts must be there.
        let mut ranges = Vec::new();
        for _ in 0..count {
            ranges.push(self.range(features)?);
        }
        let blocks = ranges.iter().map(|range| range.blocks.len()).sum();
        self.skip_frequencies(features, blocks)?;
        Ok(MappedFunction { ranges })
    }

    fn features(&mut self) -> Result<u16, MapError> {
        let version = self.byte()?;
        if !(OLDEST..=NEWEST).contains(&version) {
            return Err(MapError::Version(version));
        }
        let begin = self.at;
        let first = u16::from(self.byte()?);
        let features = match (version < 5, self.form.little_endian) {
            (true, _) => first,
            (false, true) => first | u16::from(self.byte()?) << 8,
            (false, false) => first << 8 | u16::from(self.byte()?),
        };
        let known = FEATURES[usize::from(version - OLDEST)];
        if features & !known != 0 {
            return Err(MapError::Corrupt(begin));
        }
        Ok(features)
    }

    fn range(&mut self, features: u16) -> Result<Range, MapError> {
        let start = self.pointer()?;
        let count = self.small()?;
        let mut blocks = Vec::new();
        if features & NO_BLOCKS == 0 {
            let mut end = 0;
            for _ in 0..count {
                let block = self.block(features, start, end)?;
                end = block.end() - start;
                blocks.push(block);
            }
        }
        Ok(Range { start, blocks })
    }

    /// end: bytes from the range's start to the end of the block before this one.
    fn block(&mut self, features: u16, start: u64, end: u64) -> Result<Block, MapError> {
        let begin = self.at;
        let id = self.small()?;
        let offset = end + u64::from(self.small()?);
        let mut before = 0_u64;
        if features & CALL_ENDS != 0 {
            for _ in 0..self.small()? {
                before += u64::from(self.small()?);
            }
        }
        let size = before + u64::from(self.small()?);
        let metadata = self.small()?;
        if features & HASHES != 0 {
            self.skip(HASH_BYTES)?;
        }
        let corrupt = MapError::Corrupt(begin);
        let start = start.checked_add(offset).ok_or(corrupt)?;
        let size = u32::try_from(size).map_err(|_| corrupt)?;
        start.checked_add(u64::from(size)).ok_or(corrupt)?;
        let metadata = u8::try_from(metadata).map_err(|_| corrupt)?;
        Ok(Block::new(id, start, size, metadata))
    }

    fn skip_frequencies(&mut self, features: u16, blocks: usize) -> Result<(), MapError> {
        if features & ENTRY_COUNT != 0 {
            self.number()?;
        }
        if features & (FREQUENCIES | PROBABILITIES) == 0 {
            return Ok(());
        }
        let of_link = features & POST_LINK != 0;
        for _ in 0..blocks {
            if features & FREQUENCIES != 0 {
                self.number()?;
            }
            if of_link {
                self.number()?;
            }
            if features & PROBABILITIES != 0 {
                for _ in 0..self.number()? {
                    let numbers = if of_link { 3 } else { 2 };
                    for _ in 0..numbers {
                        self.number()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) -> Result<&[u8], MapError> {
        let end = self.at.checked_add(bytes);
        let skipped = end.and_then(|end| self.section.get(self.at..end));
        let skipped = skipped.ok_or(MapError::Corrupt(self.at))?;
        self.at += bytes;
        Ok(skipped)
    }

    fn byte(&mut self) -> Result<u8, MapError> {
        Ok(self.skip(1)?[0])
    }

    fn pointer(&mut self) -> Result<u64, MapError> {
        let begin = self.at;
        let little = self.form.little_endian;
        let bytes = self.skip(self.form.address_bytes)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let raw = if little {
            bytes.iter().rev().fold(0, add)
        } else {
            bytes.iter().fold(0, add)
        };
        (self.address)(begin, raw).ok_or(MapError::Corrupt(begin))
    }

    /// A number in ULEB128 (DWARF 5, section 7.6).
    fn number(&mut self) -> Result<u64, MapError> {
        let begin = self.at;
        let mut number = 0_u64;
        for place in 0..10 {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let shifted = bits << (7 * place);
            if shifted >> (7 * place) != bits {
                break;
            }
            number |= shifted;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(MapError::Corrupt(begin))
    }

    fn small(&mut self) -> Result<u32, MapError> {
        let begin = self.at;
        u32::try_from(self.number()?).map_err(|_| MapError::Corrupt(begin))
    }
}
