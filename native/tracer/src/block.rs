// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of translated blocks: what the hot path has to know of each, decoded once.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::decode::{Decoder, Terminator};

/// Kernel addresses are in the upper half of the address space.
#[must_use]
pub fn is_kernel(address: u64) -> bool {
    address >> 63 == 1
}

/// One translated block. What the hot path reads of each is in its first 64 bytes.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Address after the last instruction.
    pub end: u64,
    /// Address of the last instruction.
    pub last: u64,
    pub terminator: Terminator,
    pub instructions: u32,
    pub kernel: bool,
    /// Interrupts and exceptions may arrive here.
    pub exception_entry: bool,
    /// Times the block was entered since the region began. Kept only for a profile.
    pub entered: u64,
    /// Times its direct branch was taken. Kept only for a profile.
    pub taken: u64,
    /// Where its indirect branch went first, with counts. Kept only for a profile.
    pub successors: [(u64, u64); 2],
    /// Offsets of the instructions from `start`.
    offsets: Box<[u16]>,
}

/// One instruction while its block is being translated.
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    pub address: u64,
    pub size: usize,
    pub bytes: [u8; 16],
}

impl Instruction {
    fn code(&self) -> &[u8] {
        &self.bytes[..self.size.min(self.bytes.len())]
    }
}

impl Block {
    /// Decodes a block. `None` when it has no instructions.
    pub fn new(decoder: &dyn Decoder, instructions: &[Instruction]) -> Option<Self> {
        let (first, last) = (instructions.first()?, instructions.last()?);
        let beginning: Vec<&[u8]> = instructions.iter().take(3).map(Instruction::code).collect();
        let kernel = is_kernel(first.address);
        Some(Self {
            start: first.address,
            end: last.address.wrapping_add(last.size as u64),
            last: last.address,
            terminator: decoder.terminator(last.address, last.code()),
            instructions: instructions.len() as u32,
            kernel,
            exception_entry: kernel && decoder.is_exception_entry(&beginning),
            entered: 0,
            taken: 0,
            successors: [(0, 0); 2],
            offsets: instructions
                .iter()
                .map(|instruction| instruction.address.wrapping_sub(first.address) as u16)
                .collect(),
        })
    }

    /// Whether the block is one repeated string instruction and nothing else.
    #[inline(always)]
    #[must_use]
    pub fn is_repeat(&self) -> bool {
        self.start == self.last && matches!(self.terminator, Terminator::Repeat { .. })
    }

    /// How many instructions come before `address`; `None` when no instruction begins there.
    #[must_use]
    pub fn instructions_before(&self, address: u64) -> Option<usize> {
        let offset = u16::try_from(address.checked_sub(self.start)?).ok()?;
        self.offsets.binary_search(&offset).ok()
    }

    /// The address of the instruction with this number.
    #[must_use]
    pub fn address_of(&self, number: usize) -> u64 {
        self.start + u64::from(self.offsets[number])
    }
}

/// All blocks seen so far. A record lives as long as the program, because translated code points
/// to it; the same code translated again gets the same record, so that memory is bounded by the
/// amount of different code, not by the length of the run.
#[derive(Default)]
pub struct Blocks {
    by_code: HashMap<(u64, usize, u64), *mut Block>,
}

impl Blocks {
    /// The record of a block.
    pub fn get(&mut self, decoder: &dyn Decoder, instructions: &[Instruction]) -> *mut Block {
        let Some(first) = instructions.first() else {
            return std::ptr::null_mut();
        };
        let mut hasher = DefaultHasher::new();
        for instruction in instructions {
            instruction.code().hash(&mut hasher);
        }
        let key = (first.address, instructions.len(), hasher.finish());
        *self.by_code.entry(key).or_insert_with(|| {
            Block::new(decoder, instructions)
                .map_or(std::ptr::null_mut(), |block| Box::into_raw(Box::new(block)))
        })
    }

    /// All records, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = *mut Block> + '_ {
        self.by_code
            .values()
            .copied()
            .filter(|block| !block.is_null())
    }
}
