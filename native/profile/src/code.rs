// SPDX-License-Identifier: GPL-2.0-or-later
//! Where instructions begin in a kernel's code, and which of them never lead to the next one.
//!
//! As `llvm-profgen` sees it (`llvm/tools/llvm-profgen/ProfiledBinary.cpp`): code is disassembled
//! from each symbol to the next one; calls, returns and direct jumps end what can be executed in
//! one go. A recorded stretch of code that goes over such an instruction is an error of the
//! processor's records, and is left out.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

/// The code of a kernel, by offset from its first byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    start: u64,
    bytes: u64,
    /// A bit a byte: whether an instruction begins there.
    begins: Bits,
    /// The same: whether one does that never leads to the next.
    leaves: Bits,
    /// Direct calls, and jumps out of a symbol's code: where each is, and where it leads.
    calls: Vec<(u64, u64)>,
}

/// A prefix that LLVM's disassembler takes for an instruction of its own.
const LOCK: u8 = 0xf0;

/// Of code that is spread over more bytes than this, the file is not believed.
const MOST: u64 = 1 << 30;

impl Code {
    /// Code between two addresses, of which nothing is known yet.
    ///
    /// # Errors
    ///
    /// Why there is no such code.
    pub fn new(start: u64, end: u64) -> Result<Self, String> {
        let bytes = end.checked_sub(start).filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or("has no code")?;
        if bytes > MOST {
            return Err("has code that is spread over more than a gigabyte".to_owned());
        }
        Ok(Self {
            start,
            bytes,
            begins: Bits::new(bytes as usize),
            leaves: Bits::new(bytes as usize),
            calls: Vec::new(),
        })
    }

    /// Disassembles a section.
    ///
    /// address: of its first byte. symbols: addresses in it, sorted. What is before the first of
    /// them, or outside of this code, is left out.
    pub fn disassemble(&mut self, address: u64, section: &[u8], symbols: &[u64]) {
        let end = address.saturating_add(section.len() as u64);
        let stops = symbols.iter().skip(1).copied().chain([end]);
        for (symbol, stop) in symbols.iter().zip(stops) {
            let inside = |at: u64| (address..=end).contains(&at);
            if inside(*symbol) && inside(stop) {
                let from = (symbol - address) as usize;
                self.disassemble_symbol(*symbol, stop, &section[from..]);
            }
        }
    }

    fn disassemble_symbol(&mut self, start: u64, stop: u64, code: &[u8]) {
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.ip() < stop && decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                continue;
            }
            if let Some(offset) = self.offset(instruction.ip()) {
                self.begins.set(offset as usize);
                let first = code.get((instruction.ip() - start) as usize);
                if first == Some(&LOCK) && self.offset(instruction.ip() + 1).is_some() {
                    self.begins.set(offset as usize + 1);
                }
                if leaves(&instruction) {
                    self.leaves.set(offset as usize);
                }
                if let Some(target) = called(&instruction, start..stop) {
                    self.calls.push((instruction.ip(), target));
                }
            }
        }
    }

    /// Execution may go over these instructions, although one of them is a jump: the kernel makes
    /// it a nop while it runs.
    pub fn pass(&mut self, addresses: &[u64]) {
        for address in addresses {
            if let Some(offset) = self.offset(*address) {
                self.leaves.clear(offset as usize);
            }
        }
    }

    /// How far from the first byte an address is; `None` outside of the code.
    #[inline]
    #[must_use]
    pub fn offset(&self, address: u64) -> Option<u32> {
        let offset = address.wrapping_sub(self.start);
        (offset < self.bytes).then_some(offset as u32)
    }

    /// The address at an offset.
    #[must_use]
    pub fn address(&self, offset: u32) -> u64 {
        self.start.wrapping_add(offset.into())
    }

    /// Direct calls, and jumps out of a symbol's code: where each is, and where it leads.
    #[must_use]
    pub fn calls(&self) -> &[(u64, u64)] {
        &self.calls
    }

    /// Whether an instruction begins at an offset.
    #[inline]
    #[must_use]
    pub fn begins(&self, offset: u32) -> bool {
        self.begins.get(offset as usize)
    }

    /// Whether execution can go from one instruction to another one that is not before it without
    /// a branch.
    #[must_use]
    pub fn falls_through(&self, from: u32, to: u32) -> bool {
        from <= to && !self.leaves.any(from as usize, to as usize)
    }
}

/// Calls, returns and direct jumps, as LLVM's tables of instructions have it: indirect jumps and
/// system calls are not among them.
fn leaves(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Call
        | Mnemonic::Ret
        | Mnemonic::Retf
        | Mnemonic::Iret
        | Mnemonic::Iretd
        | Mnemonic::Iretq => true,
        Mnemonic::Jmp => instruction.op0_kind() == OpKind::NearBranch64,
        _ => false,
    }
}

/// Where a direct call leads, or a jump from a symbol's code to another's.
fn called(instruction: &Instruction, own: Range<u64>) -> Option<u64> {
    if instruction.op0_kind() != OpKind::NearBranch64 {
        return None;
    }
    let target = instruction.near_branch_target();
    match instruction.mnemonic() {
        Mnemonic::Call => Some(target),
        Mnemonic::Jmp if !own.contains(&target) => Some(target),
        _ => None,
    }
}

/// A bit for each number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn clear(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    #[inline]
    fn get(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// Whether one is set of those from `begin` on that are below `end`.
    fn any(&self, begin: usize, end: usize) -> bool {
        if begin >= end {
            return false;
        }
        let (first, last) = (begin / 64, (end - 1) / 64);
        let head = !0 << (begin % 64);
        let tail = !0 >> (63 - (end - 1) % 64);
        if first == last {
            return self.0[first] & head & tail != 0;
        }
        self.0[first] & head != 0
            || self.0[first + 1..last].iter().any(|word| *word != 0)
            || self.0[last] & tail != 0
    }
}
