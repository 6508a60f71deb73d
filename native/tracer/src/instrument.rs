// SPDX-License-Identifier: GPL-2.0-or-later
//! What is put into translated code, and the memory that translated code writes.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use kernsmith_arch::{Architecture, Terminator};

use crate::block::{Block, Blocks, Instruction, LONGEST};
use crate::ffi::{self, Entry, ExecuteCallback, Insn, MemoryCallback, Tb};
use crate::frame::FrameReader;
use crate::names::Names;

/// Operand sizes of string instructions: 1, 2, 4 and 8 bytes.
const SIZES: usize = 4;

/// Counts of user and kernel mode.
type ByMode = [u64; 2];

/// What one vCPU has counted. Written by translated code, so its layout is fixed.
// The alignment makes the size a power of two, which makes QEMU's address computation cheap.
#[repr(C, align(128))]
#[derive(Debug, Clone, Default)]
struct Written {
    /// Address of the repeated string instruction that was executed last, if no block was
    /// entered since; else zero.
    repeating: u64,
    /// Iterations of string instructions: user and kernel mode, by operand size.
    iterations: [[u64; SIZES]; 2],
    /// Every started instruction, with `exact=on`.
    started: ByMode,
}

/// Who counts what translated code counts itself where it can.
///
/// on_repeat: called before each iteration of a repeated string instruction, with what
/// [`Instrumentation::repeat`] takes; on_start: before each instruction, with its mode.
pub struct Counting {
    pub on_repeat: ExecuteCallback,
    pub on_start: ExecuteCallback,
}

/// What is called: `on_block` at the entry of each block, with its record; `on_handler` instead where
/// interrupts and exceptions may arrive; `on_access`, if there is one, after each load and store;
/// and, where there are several vCPUs, so many and what counts for them.
pub struct Callbacks {
    pub on_block: ExecuteCallback,
    pub on_handler: ExecuteCallback,
    pub on_access: Option<MemoryCallback>,
    pub several: Option<(usize, Counting)>,
}

/// Instruments blocks while they are translated.
pub struct Instrumentation {
    architecture: &'static dyn Architecture,
    callbacks: Callbacks,
    exact: bool,
    blocks: Arc<Mutex<Blocks>>,
    scoreboard: *mut ffi::Scoreboard,
    /// Of all vCPUs, one behind the other.
    written: *mut Written,
    vcpus: usize,
}

impl Instrumentation {
    /// Nothing is instrumented yet. exact: every instruction is counted one by one, too. names: of the
    /// code that will be executed.
    pub fn new(
        architecture: &'static dyn Architecture,
        callbacks: Callbacks,
        exact: bool,
        names: Names,
    ) -> Self {
        // SAFETY: allocates.
        let scoreboard = unsafe { ffi::qemu_plugin_scoreboard_new(size_of::<Written>()) };
        let vcpus = callbacks.several.as_ref().map_or(1, |(vcpus, _)| *vcpus);
        // Never freed, as a scoreboard is not.
        let written = match vcpus {
            1 => null_mut(),
            _ => vec![Written::default(); vcpus].leak().as_mut_ptr(),
        };
        Self {
            architecture,
            callbacks,
            exact,
            blocks: Arc::new(Mutex::new(Blocks::named(names))),
            scoreboard,
            written,
            vcpus,
        }
    }

    /// The records of all instrumented blocks.
    pub fn blocks(&self) -> Arc<Mutex<Blocks>> {
        Arc::clone(&self.blocks)
    }

    /// To be called when the first vCPU exists: finds what translated code will write, if it does.
    pub fn locate(&mut self) {
        if self.callbacks.several.is_none() {
            // SAFETY: the scoreboard is never freed, and never moved because vCPUs are not added.
            self.written = unsafe { ffi::qemu_plugin_scoreboard_find(self.scoreboard, 0).cast() };
        }
    }

    fn written(&self) -> &[Written] {
        // SAFETY: `locate` was called before any block ran.
        unsafe { std::slice::from_raw_parts(self.written, self.vcpus) }
    }

    /// What one of several vCPUs has counted, for a callback of it to change.
    fn of(&mut self, vcpu: u32) -> &mut Written {
        // SAFETY: as above; no translated code writes there.
        unsafe { &mut std::slice::from_raw_parts_mut(self.written, self.vcpus)[vcpu as usize] }
    }

    fn entry(&self, offset: usize) -> Entry {
        Entry {
            scoreboard: self.scoreboard,
            offset,
        }
    }

    /// A vCPU enters a block, so it is repeating no string instruction.
    #[inline(always)]
    pub fn leave_repetition(&self, vcpu: u32) {
        // SAFETY: `locate` was called before any block ran, and there is such a vCPU.
        unsafe { (*self.written.add(vcpu as usize)).repeating = 0 };
    }

    /// Whether one of several vCPUs enters a block only to repeat its string instruction once more.
    ///
    /// # Safety
    ///
    /// `block` is a record.
    #[inline(always)]
    pub unsafe fn is_repeating(&mut self, vcpu: u32, block: *const Block) -> bool {
        // SAFETY: promised by the caller.
        let block = unsafe { &*block };
        block.is_repeat() && self.of(vcpu).repeating == block.last()
    }

    /// One of several vCPUs begins an iteration of a repeated string instruction.
    ///
    /// # Safety
    ///
    /// `data` is what the callback was asked for with.
    pub unsafe fn repeat(&mut self, vcpu: u32, data: *mut c_void) {
        let shift = data as usize & (SIZES - 1);
        // SAFETY: promised by the caller: the address of a record, whose low bits were clear.
        let block = unsafe { &*data.wrapping_byte_sub(shift).cast::<Block>() };
        let written = self.of(vcpu);
        written.iterations[usize::from(block.kernel())][shift] += 1;
        written.repeating = block.last();
    }

    /// One of several vCPUs begins an instruction, in this mode.
    pub fn start(&mut self, vcpu: u32, mode: usize) {
        self.of(vcpu).started[mode] += 1;
    }

    /// Sets all counts to zero.
    pub fn begin(&mut self) {
        for vcpu in 0..self.vcpus {
            let written = self.of(vcpu as u32);
            written.iterations = Default::default();
            written.started = Default::default();
        }
    }

    /// Iterations of string instructions, and the bytes they handled.
    pub fn iterations(&self, mode: usize) -> (u64, u64) {
        let by_size = self.written().iter().map(|one| one.iterations[mode]);
        let of_one = by_size.map(|by_size| {
            let bytes = by_size
                .iter()
                .enumerate()
                .map(|(shift, count)| count << shift);
            (by_size.iter().sum::<u64>(), bytes.sum::<u64>())
        });
        of_one.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Instructions started, counted one by one.
    pub fn started(&self, mode: usize) -> u64 {
        self.written().iter().map(|one| one.started[mode]).sum()
    }

    /// Adds the callback at the block's entry.
    ///
    /// A repeated string instruction is executed as a block of its own for each iteration: only
    /// the first one is told, and all are counted.
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
            let mode = usize::from(block.kernel());
            self.call_back(tb, block);
            if let Some(on_access) = self.callbacks.on_access {
                let report = ffi::qemu_plugin_register_vcpu_mem_cb;
                let (flags, accesses) = (ffi::CB_NO_REGS, ffi::MEM_RW);
                insns
                    .iter()
                    .for_each(|insn| report(*insn, on_access, flags, accesses, null_mut()));
            }
            if let Terminator::Repeat { bytes } =
                self.architecture.terminator(last.address, last.code())
            {
                self.count_iterations(*last_insn, block, bytes.trailing_zeros() as usize);
            }
            if self.exact {
                insns.iter().for_each(|insn| self.count_start(*insn, mode));
            }
        }
    }

    /// Has iterations of the string instruction at the end of a block counted. shift: log2 of the
    /// bytes of one.
    unsafe fn count_iterations(&self, insn: *mut Insn, block: &Block, shift: usize) {
        // SAFETY: promised by the caller.
        unsafe {
            if let Some((_, counting)) = &self.callbacks.several {
                let data = std::ptr::from_ref(block).cast::<c_void>().cast_mut();
                call(insn, counting.on_repeat, data.wrapping_byte_add(shift));
            } else {
                let place = usize::from(block.kernel()) * SIZES + shift;
                let offset = std::mem::offset_of!(Written, iterations) + place * size_of::<u64>();
                inline(insn, ffi::INLINE_ADD_U64, self.entry(offset), 1);
                inline(insn, ffi::INLINE_STORE_U64, self.repeating(), block.last());
            }
        }
    }

    /// Has an instruction's executions counted.
    unsafe fn count_start(&self, insn: *mut Insn, mode: usize) {
        // SAFETY: promised by the caller.
        unsafe {
            if let Some((_, counting)) = &self.callbacks.several {
                call(insn, counting.on_start, mode as *mut c_void);
            } else {
                let offset = std::mem::offset_of!(Written, started) + mode * size_of::<u64>();
                inline(insn, ffi::INLINE_ADD_U64, self.entry(offset), 1);
            }
        }
    }

    fn repeating(&self) -> Entry {
        self.entry(std::mem::offset_of!(Written, repeating))
    }

    /// Has the entry of a block reported.
    unsafe fn call_back(&self, tb: *mut Tb, block: &Block) {
        let (on_block, flags) = if block.is_exception_entry() {
            (self.callbacks.on_handler, ffi::CB_R_REGS)
        } else {
            (self.callbacks.on_block, ffi::CB_NO_REGS)
        };
        let (last, repeating) = (block.last(), self.repeating());
        let data = std::ptr::from_ref(block).cast_mut().cast();
        // SAFETY: promised by the caller.
        unsafe {
            if block.is_repeat() && self.callbacks.several.is_none() {
                let unless_repeating = ffi::qemu_plugin_register_vcpu_tb_exec_cond_cb;
                unless_repeating(tb, on_block, flags, ffi::COND_NE, repeating, last, data);
            } else {
                ffi::qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, flags, data);
            }
        }
    }
}

unsafe fn call(insn: *mut Insn, callback: ExecuteCallback, data: *mut c_void) {
    // SAFETY: promised by the caller: `insn` is being translated.
    unsafe { ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, ffi::CB_NO_REGS, data) };
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
