// SPDX-License-Identifier: GPL-2.0-or-later
//! From the sequence of entered blocks to counters and profile.

use kernsmith_profile::frontend::{Branch, Counters, CpuModel, FrontEnd};

use crate::block::{Block, Blocks, Instruction, Kind, is_kernel};
use crate::decode::{Decoder, Frame};
use crate::profile::Profile;

/// Tells what was interrupted, when an interrupt or exception handler has just been entered.
pub type ReadFrame = Box<dyn FnMut() -> Option<Frame>>;

/// Follows the flow of control.
///
/// Whether a block was left by its last instruction, and where to, is known only when the next
/// one is entered; so each entry first settles the block before it: either the last instruction
/// can have led here, or an interrupt or an exception came in between, and then the frame on the
/// stack says where.
pub struct Engine {
    front_end: FrontEnd,
    /// User mode, kernel mode.
    counters: [Counters; 2],
    blocks: Blocks,
    profile: Profile,
    previous: *mut Block,
    read_frame: ReadFrame,
    faults: [u64; 2],
    undone: [u64; 2],
}

impl Engine {
    /// Everything empty.
    pub fn new(model: &CpuModel, read_frame: ReadFrame) -> Self {
        Self {
            front_end: FrontEnd::new(model),
            counters: [Counters::default(); 2],
            blocks: Blocks::default(),
            profile: Profile::default(),
            previous: std::ptr::null_mut(),
            read_frame,
            faults: [0; 2],
            undone: [0; 2],
        }
    }

    /// Counters go to zero; caches and predictors keep their state.
    pub fn begin(&mut self) {
        self.counters = [Counters::default(); 2];
        self.faults = [0; 2];
        self.undone = [0; 2];
        self.profile = Profile::default();
        for block in self.blocks.iter_mut() {
            block.entered = 0;
            block.taken = 0;
        }
    }

    /// The record of a block that is being translated: see [`Blocks::get`].
    pub fn block(
        &mut self,
        decoder: &dyn Decoder,
        instructions: &[Instruction],
        next_byte: &mut dyn FnMut() -> Option<u8>,
    ) -> *mut Block {
        self.blocks.get(decoder, instructions, next_byte)
    }

    /// User mode's counters, kernel mode's counters.
    #[must_use]
    pub fn counters(&self) -> [Counters; 2] {
        self.counters
    }

    /// Instructions that were started and did not complete, because they faulted; they are
    /// counted when they are started again.
    #[must_use]
    pub fn faults(&self) -> [u64; 2] {
        self.faults
    }

    /// Instructions that were taken back, because the block they are in was left before them.
    #[must_use]
    pub fn undone(&self) -> [u64; 2] {
        self.undone
    }

    /// The branch profile of the region: see [`Profile::text`].
    #[must_use]
    pub fn profile_text(&self) -> String {
        self.profile.text(&self.blocks)
    }

    /// A block is entered. With `PROFILED`, ranges and edges are counted as well.
    ///
    /// Iterations of a repeated string instruction after the first are no entries, although QEMU
    /// executes a block for each: translated code counts them (`instrument.rs`).
    ///
    /// # Safety
    ///
    /// `entered` comes from [`Self::block`] of this engine.
    #[inline(always)]
    pub unsafe fn enter<const PROFILED: bool>(&mut self, entered: *mut Block) {
        let before = std::mem::replace(&mut self.previous, entered);
        // SAFETY: promised by the caller. `before` may be the same record: only shared
        // references are made where both are needed.
        let block = unsafe { &*entered };
        if !before.is_null()
            && !self.branch::<PROFILED>(before, block.start, block.is_exception_entry())
        {
            self.interrupted::<PROFILED>(before, block);
        }
        let counters = &mut self.counters[usize::from(block.kernel)];
        counters.instructions += u64::from(block.instructions);
        if block.kind == Kind::Repeat {
            counters.rep_instructions += 1;
        }
        self.front_end.fetch(block.start, block.end() - 1, counters);
        if PROFILED {
            // SAFETY: promised by the caller; `block` is not used after this.
            self.profile.count_entry(unsafe { &mut *entered });
        }
    }

    /// Resolves the end of `from`, if `to` is where it can have led, and returns whether it is.
    #[inline(always)]
    fn branch<const PROFILED: bool>(
        &mut self,
        from: *mut Block,
        to: u64,
        to_exception_entry: bool,
    ) -> bool {
        // SAFETY: see `enter`.
        let block = unsafe { &*from };
        let (pc, next) = (block.last(), block.end());
        let branch = match block.kind {
            Kind::Conditional => {
                let target = block.target();
                let taken = to == target;
                if !taken && to != next {
                    return false;
                }
                Branch::Conditional { pc, target, taken }
            }
            Kind::None | Kind::Repeat => return to == next,
            Kind::Jump | Kind::Call if to != block.target() => return false,
            Kind::Jump => Branch::Jump { pc, target: to },
            Kind::Call => Branch::Call {
                pc,
                target: to,
                next,
            },
            // These can lead anywhere, but hardly into their own block: that is a restart.
            _ if to_exception_entry || block.is_inside(to) => return false,
            Kind::Far => return true,
            Kind::Return => Branch::Return { target: to },
            Kind::IndirectJump => Branch::IndirectJump { pc, target: to },
            Kind::IndirectCall => Branch::IndirectCall {
                pc,
                target: to,
                next,
            },
        };
        let counters = &mut self.counters[usize::from(block.kernel)];
        self.front_end.branch(branch, counters);
        if PROFILED && block.kernel && to != next {
            if block.is_direct() {
                // SAFETY: `block` is not used after this.
                self.profile.count_taken(unsafe { &mut *from });
            } else if is_kernel(to) {
                self.profile.count_indirect(block, to);
            }
        }
        true
    }

    /// The flow left `before` in another way than its last instruction says: an interrupt or an
    /// exception came in between, or QEMU broke the block off to start again in its middle.
    #[cold]
    #[inline(never)]
    fn interrupted<const PROFILED: bool>(&mut self, before: *mut Block, next: &Block) {
        // SAFETY: see `enter`.
        let previous = unsafe { &*before };
        if let Some(executed) = self.blocks.instructions_before(previous, next.start) {
            self.take_back::<PROFILED>(before, executed);
            return;
        }
        let frame = if next.kernel {
            (self.read_frame)()
        } else {
            None
        };
        let Some(frame) = frame else {
            // No handler after all, only code that looks like one.
            self.branch::<PROFILED>(before, next.start, false);
            return;
        };
        match self.blocks.instructions_before(previous, frame.resume) {
            Some(executed) if frame.fault => {
                // A string instruction that faults is one of its iterations, and counted there.
                let last = executed + 1 == usize::from(previous.instructions);
                let iteration = last && previous.kind == Kind::Repeat;
                self.faults[usize::from(previous.kernel)] += u64::from(!iteration);
                self.take_back::<PROFILED>(before, executed);
            }
            Some(executed) if !self.branch::<PROFILED>(before, frame.resume, false) => {
                self.take_back::<PROFILED>(before, executed);
            }
            Some(_) => {}
            None => {
                self.branch::<PROFILED>(before, frame.resume, false);
            }
        }
    }

    /// Of `block`, only the first `executed` instructions ran.
    fn take_back<const PROFILED: bool>(&mut self, block: *mut Block, executed: usize) {
        // SAFETY: see `enter`.
        let block = unsafe { &mut *block };
        let lost = u64::from(block.instructions) - executed as u64;
        let mode = usize::from(block.kernel);
        let repeated = u64::from(block.kind == Kind::Repeat);
        let counters = &mut self.counters[mode];
        counters.instructions = counters.instructions.saturating_sub(lost);
        counters.rep_instructions = counters.rep_instructions.saturating_sub(repeated);
        self.undone[mode] += lost;
        if PROFILED && block.kernel {
            self.profile.count_part(&self.blocks, block, executed);
        }
    }
}
