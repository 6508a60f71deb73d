// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace: the sequence of blocks that a workload executed, from which what it costs in any
//! layout of the same kernel can be computed without executing it again.
//!
//! # The file
//!
//! Little-endian, version 5: [`MAGIC`]; the words of the sequence, 4 bytes each, in frames of 262,144
//! words (the last one may be shorter), each packed by itself with zstd (RFC 8878); the bytes of each
//! packed frame, 4 bytes each; a record of 28 bytes for each block (start, target of its direct branch: 8 bytes each; size, offset of the
//! last instruction: 2 bytes each; [`Kind`], kernel mode: 1 byte each; count of instructions: 2
//! bytes; [name](Block::name): 4 bytes); the sizes of all blocks' instructions, 1 byte each, block after block; their machine code; the tag; the
//! counters of user mode and of kernel mode (15 words of 8 bytes each, in the order of
//! [`Counters::figures`]); the name of the CPU model with which these were simulated; the
//! architecture, as QEMU calls it; the kernel's map of pages, for each run its first and last
//! address and the log2 of a page's bytes (8 bytes each); and the footer: count of words, bytes of
//! the packed frames, counts of blocks and instructions, bytes of their code, of tag, name and architecture, count
//! of runs (8 bytes each), [`END`]. The footer comes last, so a file that was cut off is recognised.
//!
//! # The words
//!
//! A word below [`ESCAPE`] is the number of the block that is entered, to which the block before
//! it has led by its last instruction. [`Escape`] words say where that is not so.

mod instructions;
mod lengths;
mod reader;
mod words;
mod writer;

pub use instructions::Instructions;
pub use reader::{Trace, TraceError};
pub use words::{Cursor, Words};
pub use writer::TraceWriter;

use kernsmith_arch::PageMap;
use kernsmith_frontend::Counters;

/// The first 8 bytes.
pub const MAGIC: &[u8; 8] = b"KSTRACE5";

/// Those of the versions before, and what one of them has not.
const OLD: [(&[u8; 8], &str); 4] = [
    (
        b"KSTRACE1",
        "is of version 1, which has no map of the kernel's pages",
    ),
    (b"KSTRACE2", "is of version 2, whose words are not packed"),
    (b"KSTRACE3", "is of version 3, in which code has no names"),
    (b"KSTRACE4", "is of version 4, which has no code"),
];

/// The last 8 bytes.
pub const END: &[u8; 8] = b"KSTREND5";

/// Words from here on are no block numbers.
pub const ESCAPE: u32 = 1 << 31;

const RECORD: usize = 28;
const RUN: usize = 24;

/// Numbers in the footer.
const LENGTHS: usize = 9;

const FOOTER: usize = (LENGTHS + 1) * 8;

/// What is told beside the entered blocks, as the words from [`ESCAPE`] on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Escape {
    /// The last instruction of the block before was not executed: there was an interrupt or an
    /// exception in between, or the sequence begins.
    Cut = ESCAPE,
    /// An interrupt came after the last instruction of the block before, which has led to the
    /// address in the next two words (low half first), whose name is in the one behind them.
    Led,
    /// Here the region of interest begins: what comes before only warms caches up.
    Begin,
}

impl Escape {
    /// Words behind [`Self::Led`] that belong to it.
    pub const LED_WORDS: usize = 3;
}

/// One step of the sequence, as its words tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The block of this number is entered.
    Block(u32),
    /// See [`Escape::Cut`].
    Cut,
    /// See [`Escape::Led`]: the address and its name.
    Led(u64, u32),
    /// See [`Escape::Begin`].
    Begin,
}

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    None,
    Conditional,
    Jump,
    Call,
    IndirectJump,
    IndirectCall,
    Return,
    Far,
    Repeat,
}

impl Kind {
    /// By number.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Conditional,
        Self::Jump,
        Self::Call,
        Self::IndirectJump,
        Self::IndirectCall,
        Self::Return,
        Self::Far,
        Self::Repeat,
    ];
}

/// One block: a stretch of code that is executed from its first instruction to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u64,
    /// Where its direct branch goes; of no meaning for the other kinds.
    pub target: u64,
    /// Size in bytes, at least 1.
    pub bytes: u16,
    /// From the start to the last instruction.
    pub last_offset: u16,
    pub kind: Kind,
    /// Whether it runs in kernel mode.
    pub kernel: bool,
    /// What its first instruction is called, the same in all layouts of one kernel or program: a
    /// number of the function that it is in, plus its place there, modulo 2³². Where nobody knows the
    /// function, the low 32 bits of the address.
    pub name: u32,
}

/// What a trace says beside the sequence itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What the writer was told to write: of which kernel and workload this is a trace.
    pub tag: String,
    /// The CPU model with which `counters` were simulated.
    pub cpu: String,
    /// The guest's architecture, as QEMU calls it.
    pub architecture: String,
    /// In which pages the guest has mapped the kernel's code.
    pub pages: PageMap,
    /// Of user and kernel mode. What the layout does not change — instructions, repetitions —
    /// is taken from here.
    pub counters: [Counters; 2],
}
