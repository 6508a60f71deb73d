// SPDX-License-Identifier: GPL-2.0-or-later
//! What is put into translated code, and the memory that translated code writes.

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use kernsmith_arch::{Architecture, Terminator};

use crate::block::{Block, Blocks, Instruction, LONGEST};
use crate::ffi::{self, Entry, ExecuteCallback, Insn, MemoryCallback, Tb};
use crate::frame::FrameReader;

/// Operand sizes of string instructions: 1, 2, 4 and 8 bytes.
const SIZES: usize = 4;

/// Counts of user and kernel mode.
type ByMode = [u64; 2];

/// Written by translated code, so its layout is fixed.
// The alignment makes the size a power of two, which makes QEMU's address computation cheap.
#[repr(C, align(128))]
#[derive(Debug, Default)]
struct Written {
    /// Address of the repeated string instruction that was executed last, if no block was
    /// entered since; else zero.
    repeating: u64,
    /// Iterations of string instructions: user and kernel mode, by operand size.
    iterations: [[u64; SIZES]; 2],
    /// Every started instruction, with `exact=on`.
    started: ByMode,
}

/// Instruments blocks while they are translated.
pub struct Instrumentation {
    architecture: &'static dyn Architecture,
    on_block: ExecuteCallback,
    on_handler: ExecuteCallback,
    exact: bool,
    /// Called with each load and store, where they are followed.
    on_access: Option<MemoryCallback>,
    blocks: Arc<Mutex<Blocks>>,
    scoreboard: *mut ffi::Scoreboard,
    written: *mut Written,
}

impl Instrumentation {
    /// `on_block` is called at the entry of each block, with its record; `on_handler` instead
    /// where interrupts and exceptions may arrive; `on_access`, if there is one, after each load and
    /// store.
    pub fn new(
        architecture: &'static dyn Architecture,
        [on_block, on_handler]: [ExecuteCallback; 2],
        exact: bool,
        on_access: Option<MemoryCallback>,
    ) -> Self {
        // SAFETY: allocates.
        let scoreboard = unsafe { ffi::qemu_plugin_scoreboard_new(size_of::<Written>()) };
        let blocks = Arc::default();
        let written = null_mut();
        Self {
            architecture,
            on_block,
            on_handler,
            exact,
            on_access,
            blocks,
            scoreboard,
            written,
        }
    }

    /// The records of all instrumented blocks.
    pub fn blocks(&self) -> Arc<Mutex<Blocks>> {
        Arc::clone(&self.blocks)
    }

    /// To be called when the vCPU exists: finds what translated code will write.
    pub fn locate(&mut self) {
        // SAFETY: the scoreboard is never freed, and never moved because vCPUs are not added.
        self.written = unsafe { ffi::qemu_plugin_scoreboard_find(self.scoreboard, 0).cast() };
    }

    fn entry(&self, offset: usize) -> Entry {
        Entry {
            scoreboard: self.scoreboard,
            offset,
        }
    }

    /// A block is entered, so no string instruction is being repeated.
    #[inline(always)]
    pub fn leave_repetition(&self) {
        // SAFETY: `locate` was called before any block ran.
        unsafe { (*self.written).repeating = 0 };
    }

    /// Sets all counts to zero.
    pub fn begin(&mut self) {
        // SAFETY: see `leave_repetition`.
        unsafe {
            (*self.written).iterations = Default::default();
            (*self.written).started = Default::default();
        }
    }

    /// Iterations of string instructions, and the bytes they handled.
    pub fn iterations(&self, mode: usize) -> (u64, u64) {
        // SAFETY: see `leave_repetition`.
        let by_size = unsafe { (*self.written).iterations[mode] };
        let bytes = by_size
            .iter()
            .enumerate()
            .map(|(shift, count)| count << shift);
        (by_size.iter().sum(), bytes.sum())
    }

    /// Instructions started, counted one by one.
    pub fn started(&self, mode: usize) -> u64 {
        // SAFETY: see `leave_repetition`.
        unsafe { (*self.written).started[mode] }
    }

    /// Adds the callback at the block's entry.
    ///
    /// A repeated string instruction is executed as a block of its own for each iteration: only
    /// the first one calls back, and all are counted by translated code.
    ///
    /// # Safety
    ///
    /// `tb` is being translated.
    pub unsafe fn instrument(&self, frames: Option<&mut FrameReader>, tb: *mut Tb, count: usize) {
        // SAFETY: promised by the caller.
        let insns = (0..count).map(|number| unsafe { ffi::qemu_plugin_tb_get_insn(tb, number) });
        let insns: Vec<_> = insns.collect();
        // SAFETY: promised by the caller.
        let instructions: Vec<_> = insns.iter().map(|insn| unsafe { read(*insn) }).collect();
        let (Some(last), Some(last_insn)) = (instructions.last(), insns.last()) else {
            return;
        };
        let end = last.address + last.size as u64;
        let mut next_byte = frames.map(|frames| move || frames.byte(end));
        let mut next_byte = || next_byte.as_mut()?();
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let record = blocks.get(self.architecture, &instructions, &mut next_byte);
        // SAFETY: a record, because there are instructions; and `tb` is being translated.
        unsafe {
            let block = &*record;
            let mode = usize::from(block.kernel);
            self.call_back(tb, block);
            if let Some(on_access) = self.on_access {
                let report = ffi::qemu_plugin_register_vcpu_mem_cb;
                let (flags, accesses) = (ffi::CB_NO_REGS, ffi::MEM_RW);
                insns
                    .iter()
                    .for_each(|insn| report(*insn, on_access, flags, accesses, null_mut()));
            }
            if let Terminator::Repeat { bytes } =
                self.architecture.terminator(last.address, last.code())
            {
                let place = mode * SIZES + bytes.trailing_zeros() as usize;
                let offset = std::mem::offset_of!(Written, iterations) + place * size_of::<u64>();
                inline(*last_insn, ffi::INLINE_ADD_U64, self.entry(offset), 1);
                inline(
                    *last_insn,
                    ffi::INLINE_STORE_U64,
                    self.repeating(),
                    last.address,
                );
            }
            if self.exact {
                let offset = std::mem::offset_of!(Written, started) + mode * size_of::<u64>();
                let started = self.entry(offset);
                insns
                    .iter()
                    .for_each(|insn| inline(*insn, ffi::INLINE_ADD_U64, started, 1));
            }
        }
    }

    fn repeating(&self) -> Entry {
        self.entry(std::mem::offset_of!(Written, repeating))
    }

    /// Has the entry of a block reported.
    unsafe fn call_back(&self, tb: *mut Tb, block: &Block) {
        let (on_block, flags) = if block.is_exception_entry() {
            (self.on_handler, ffi::CB_R_REGS)
        } else {
            (self.on_block, ffi::CB_NO_REGS)
        };
        let (last, repeating) = (block.last(), self.repeating());
        let data = std::ptr::from_ref(block).cast_mut().cast();
        // SAFETY: promised by the caller.
        unsafe {
            if block.is_repeat() {
                let unless_repeating = ffi::qemu_plugin_register_vcpu_tb_exec_cond_cb;
                unless_repeating(tb, on_block, flags, ffi::COND_NE, repeating, last, data);
            } else {
                ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, flags, data);
            }
        }
    }
}

unsafe fn inline(insn: *mut Insn, operation: c_int, entry: Entry, value: u64) {
    // SAFETY: promised by the caller: `insn` is being translated.
    unsafe {
        ffi::qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, operation, entry, value);
    }
}

unsafe fn read(insn: *mut Insn) -> Instruction {
    let mut bytes = [0; LONGEST];
    // SAFETY: promised by the caller.
    unsafe {
        let size = ffi::qemu_plugin_insn_size(insn);
        ffi::qemu_plugin_insn_data(insn, bytes.as_mut_ptr().cast(), bytes.len());
        Instruction {
            address: ffi::qemu_plugin_insn_vaddr(insn),
            size,
            bytes,
        }
    }
}
