// SPDX-License-Identifier: GPL-2.0-or-later
//! Records of translated blocks: what the hot path has to know of each, decoded once.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use kernsmith_arch::{Architecture, Operation, Terminator};
use kernsmith_trace::Kind;

use crate::names::Names;

/// One translated block, in half a cache line: reading it is what the tracer waits for most.
///
/// The thread that translates reads records while the engine's thread counts in them. So nobody has
/// a record for itself alone: once it is in [`Blocks`] there are only shared references to it, and
/// what still changes are its two [`Count`]s.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    bytes: u16,
    /// Instructions, and in the [low bits](LAST_BITS) the bytes of the last one.
    instructions_and_last: u16,
    /// The target of a direct branch, from the end.
    relative: i32,
    /// What its first instruction is called: see [`kernsmith_trace::Block::name`].
    pub name: u32,
    /// Times the block was entered since the region began, modulo 2³². Kept only for a profile.
    pub entered: Count,
    /// Times its direct branch was taken, modulo 2³². Kept only for a profile.
    pub taken: Count,
    /// Its place in [`Blocks`], its [`Kind`], whether it is in kernel mode, and whether interrupts and
    /// exceptions may arrive here.
    number_and_kind: u32,
}

/// Bits of the size of an instruction, which is below [`LONGEST`].
const LAST_BITS: u32 = LONGEST.ilog2();

/// Where the parts of [`Block::number_and_kind`] begin.
const KERNEL_AT: u32 = 1;
const KIND_AT: u32 = 2;
const NUMBER_AT: u32 = 6;

/// All kinds by number; what is left of four bits is no kind.
const KINDS: [Kind; 16] = {
    let mut kinds = [Kind::None; 16];
    let mut place = 0;
    while place < Kind::ALL.len() {
        kinds[place] = Kind::ALL[place];
        place += 1;
    }
    kinds
};

const _: () = {
    const fn is_shared_between_threads<T: Sync>() {}
    is_shared_between_threads::<Block>();
    assert!(size_of::<Block>() == 32, "half a cache line");
    assert!(
        LONGEST.is_power_of_two(),
        "its logarithm is the bits of a size"
    );
};

/// A count modulo 2³² that one thread writes and every thread may read.
#[derive(Debug, Default)]
pub struct Count(AtomicU32);

impl Count {
    /// What was counted.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Only for the one thread that counts: with others, counts would be lost.
    #[inline(always)]
    pub fn set(&self, count: u32) {
        self.0.store(count, Relaxed);
    }

    /// Counts one more, and returns how many there are. Only for the one thread that counts, which
    /// is why this costs no more than an addition.
    #[inline(always)]
    pub fn raise(&self) -> u32 {
        let count = self.get().wrapping_add(1);
        self.set(count);
        count
    }
}

/// Bytes of the longest instruction that any architecture has, and one.
pub const LONGEST: usize = 16;

/// One instruction while its block is being translated.
#[derive(Debug, Clone, Copy)]
pub struct Instruction {
    pub address: u64,
    pub size: usize,
    pub bytes: [u8; LONGEST],
}

impl Instruction {
    /// Its machine code.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        &self.bytes[..self.size.min(self.bytes.len())]
    }
}

impl Block {
    /// Address after the last instruction.
    #[inline(always)]
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.wrapping_add(u64::from(self.bytes))
    }

    /// Address of the last instruction.
    #[inline(always)]
    #[must_use]
    pub fn last(&self) -> u64 {
        self.start.wrapping_add(u64::from(self.last_offset()))
    }

    /// From the start to the last instruction.
    #[inline(always)]
    #[must_use]
    pub fn last_offset(&self) -> u16 {
        self.bytes - (self.instructions_and_last & ((1 << LAST_BITS) - 1))
    }

    /// How many instructions it has.
    #[inline(always)]
    #[must_use]
    pub fn instructions(&self) -> u16 {
        self.instructions_and_last >> LAST_BITS
    }

    /// How it ends.
    #[inline(always)]
    #[must_use]
    pub fn kind(&self) -> Kind {
        KINDS[(self.number_and_kind >> KIND_AT) as usize % KINDS.len()]
    }

    /// Whether it runs in kernel mode.
    #[inline(always)]
    #[must_use]
    pub fn kernel(&self) -> bool {
        self.number_and_kind >> KERNEL_AT & 1 == 1
    }

    /// What its last instruction is called.
    #[inline(always)]
    #[must_use]
    pub fn last_name(&self) -> u32 {
        self.name.wrapping_add(self.last_offset().into())
    }

    /// Where the direct branch at the end goes when it is taken.
    #[inline(always)]
    #[must_use]
    pub fn target(&self) -> u64 {
        self.end().wrapping_add_signed(i64::from(self.relative))
    }

    /// Whether the block ends with a direct branch.
    #[inline(always)]
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.kind(), Kind::Conditional | Kind::Jump | Kind::Call)
    }

    /// Whether `address` is behind the start, and not behind the last instruction.
    #[inline(always)]
    #[must_use]
    pub fn is_inside(&self, address: u64) -> bool {
        address.wrapping_sub(self.start).wrapping_sub(1) < u64::from(self.last_offset())
    }

    /// Whether interrupts and exceptions may arrive here.
    #[inline(always)]
    #[must_use]
    pub fn is_exception_entry(&self) -> bool {
        self.number_and_kind & 1 == 1
    }

    /// Its place in [`Blocks`].
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> usize {
        (self.number_and_kind >> NUMBER_AT) as usize
    }

    /// What a trace says of it.
    #[must_use]
    pub fn described(&self) -> kernsmith_trace::Block {
        kernsmith_trace::Block {
            start: self.start,
            target: self.target(),
            bytes: self.bytes,
            last_offset: self.last_offset(),
            kind: self.kind(),
            kernel: self.kernel(),
            name: self.name,
        }
    }

    /// Whether the block is one repeated string instruction and nothing else.
    #[must_use]
    pub fn is_repeat(&self) -> bool {
        self.last_offset() == 0 && self.kind() == Kind::Repeat
    }
}

/// All blocks seen so far. A record lives as long as this does, because translated code points to
/// it; the same code translated again gets the same record, so that memory is bounded by the
/// amount of different code, not by the length of the run.
#[derive(Default)]
pub struct Blocks {
    by_code: HashMap<(u64, usize, u64), usize>,
    /// The records, in arrays that never move, and that nobody borrows to change what is in them.
    arrays: Vec<Vec<Block>>,
    /// Offsets of each block's instructions from its start.
    offsets: Vec<Box<[u16]>>,
    /// The machine code of each.
    code: Vec<Box<[u8]>>,
    /// Whose code it is, when there is some.
    architecture: Option<&'static dyn Architecture>,
    names: Names,
}

/// So many have numbers: their records alone are of 2 GiB.
const MOST: usize = 1 << (u32::BITS - NUMBER_AT);

/// Records in one array.
const ARRAY: usize = 1024;

impl Blocks {
    /// None yet, of code that is called like this.
    #[must_use]
    pub fn named(names: Names) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// What is at an address is called.
    #[must_use]
    pub fn name_of(&self, address: u64) -> u32 {
        self.names.of(address)
    }

    /// The record of a block; null when it has no instructions. `next_byte` is what follows it in
    /// memory.
    pub fn get(
        &mut self,
        architecture: &'static dyn Architecture,
        instructions: &[Instruction],
        next_byte: &mut dyn FnMut() -> Option<u8>,
    ) -> *const Block {
        let (Some(first), Some(last)) = (instructions.first(), instructions.last()) else {
            return std::ptr::null();
        };
        let mut hasher = DefaultHasher::new();
        for instruction in instructions {
            instruction.code().hash(&mut hasher);
        }
        debug_assert!(last.size < LONGEST && instructions.len() < 1 << (u16::BITS - LAST_BITS));
        let key = (first.address, instructions.len(), hasher.finish());
        let vacant = match self.by_code.entry(key) {
            Entry::Occupied(known) => return record(&self.arrays, *known.get()),
            Entry::Vacant(vacant) => vacant,
        };
        let number = *vacant.insert(self.offsets.len());
        assert!(
            number < MOST,
            "the guest has executed more code than there are numbers for"
        );
        let offset = |address: u64| address.wrapping_sub(first.address) as u16;
        let (kind, target) = kind_and_target(architecture.terminator(last.address, last.code()));
        let beginning: Vec<&[u8]> = instructions.iter().take(3).map(Instruction::code).collect();
        let kernel = architecture.address_space().is_kernel(first.address);
        let exception_entry = kernel && architecture.is_exception_entry(&beginning, next_byte);
        let end = last.address.wrapping_add(last.size as u64);
        let block = Block {
            start: first.address,
            bytes: offset(end),
            instructions_and_last: (instructions.len() as u16) << LAST_BITS | last.size as u16,
            relative: target.map_or(0, |target| target.wrapping_sub(end) as i32),
            name: self.names.of(first.address),
            entered: Count::default(),
            taken: Count::default(),
            number_and_kind: (number as u32) << NUMBER_AT
                | (kind as u32) << KIND_AT
                | u32::from(kernel) << KERNEL_AT
                | u32::from(exception_entry),
        };
        self.offsets
            .push(instructions.iter().map(|one| offset(one.address)).collect());
        self.architecture = Some(architecture);
        let code = instructions.iter().flat_map(Instruction::code);
        self.code.push(code.copied().collect());
        if number.is_multiple_of(ARRAY) {
            self.arrays.push(Vec::with_capacity(ARRAY));
        }
        self.arrays[number / ARRAY].push(block);
        record(&self.arrays, number)
    }

    /// How many instructions of `block` come before `address`; `None` when none begins there.
    #[must_use]
    pub fn instructions_before(&self, block: &Block, address: u64) -> Option<usize> {
        let offset = u16::try_from(address.checked_sub(block.start)?).ok()?;
        self.offsets[block.number()].binary_search(&offset).ok()
    }

    /// The address of the instruction of `block` with this number.
    #[must_use]
    pub fn address_of(&self, block: &Block, instruction: usize) -> u64 {
        block.start + u64::from(self.offsets[block.number()][instruction])
    }

    /// Where the instructions of the block with this number begin: offsets from its start.
    #[must_use]
    pub fn offsets(&self, number: usize) -> &[u16] {
        &self.offsets[number]
    }

    /// The machine code of the block with this number.
    #[must_use]
    pub fn code(&self, number: usize) -> &[u8] {
        &self.code[number]
    }

    /// What the instructions of a block wait for.
    #[must_use]
    pub fn operations(&self, block: &Block) -> Vec<Operation> {
        let code = self.code(block.number());
        let begins = self
            .offsets(block.number())
            .iter()
            .copied()
            .map(usize::from);
        let ends = begins.clone().skip(1).chain([code.len()]);
        let each = begins.zip(ends).map(|(begin, end)| &code[begin..end]);
        each.filter_map(|code| Some(self.architecture?.operation(code)))
            .collect()
    }

    /// The sizes of a block's instructions, in bytes.
    #[must_use]
    pub fn sizes(&self, block: &Block) -> Vec<u8> {
        let offsets = self.offsets(block.number());
        let ends = offsets.iter().skip(1).copied();
        let ends = ends.chain([block.end().wrapping_sub(block.start) as u16]);
        offsets
            .iter()
            .zip(ends)
            .map(|(begin, end)| (end - begin) as u8)
            .collect()
    }

    /// All records, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.arrays.iter().flatten()
    }
}

/// The address of a record. It is that of the whole array, so it stays good when more are added.
fn record(arrays: &[Vec<Block>], number: usize) -> *const Block {
    // `wrapping_add`, because there is nothing to check: the number is one of a record.
    arrays[number / ARRAY].as_ptr().wrapping_add(number % ARRAY)
}

/// [`Terminator`] in two parts.
fn kind_and_target(terminator: Terminator) -> (Kind, Option<u64>) {
    match terminator {
        Terminator::None => (Kind::None, None),
        Terminator::Conditional { target } => (Kind::Conditional, Some(target)),
        Terminator::Jump { target } => (Kind::Jump, Some(target)),
        Terminator::Call { target } => (Kind::Call, Some(target)),
        Terminator::IndirectJump => (Kind::IndirectJump, None),
        Terminator::IndirectCall => (Kind::IndirectCall, None),
        Terminator::Return => (Kind::Return, None),
        Terminator::Far => (Kind::Far, None),
        Terminator::Repeat { .. } => (Kind::Repeat, None),
    }
}
