// SPDX-License-Identifier: GPL-2.0-or-later
//! From the sequence of entered blocks to counters and profile.

use kernsmith_profile::frontend::{Branch, Counters, CpuModel, FrontEnd};

use crate::block::{Block, is_kernel};
use crate::decode::Terminator;
use crate::profile::Profile;

/// Tells where interrupted code goes on, when an interrupt or an exception has just been entered.
pub type ResumeAddress = Box<dyn FnMut() -> Option<u64>>;

/// Follows the flow of control.
///
/// Whether a block was left by its last instruction, and where to, is known only when the next
/// one is entered; so each entry first settles the block before it.
pub struct Engine {
    front_end: FrontEnd,
    /// User mode, kernel mode.
    counters: [Counters; 2],
    profile: Profile,
    previous: *mut Block,
    resume_address: ResumeAddress,
    faults: [u64; 2],
    undone: [u64; 2],
}

impl Engine {
    /// Everything empty.
    pub fn new(model: &CpuModel, resume_address: ResumeAddress) -> Self {
        Self {
            front_end: FrontEnd::new(model),
            counters: [Counters::default(); 2],
            profile: Profile::default(),
            previous: std::ptr::null_mut(),
            resume_address,
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

    /// Edges and ranges that do not fit in the blocks' records.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// A block is entered. `finished` says whether the last instruction of the one before it was
    /// started. With `PROFILED`, ranges and edges are counted as well.
    ///
    /// Iterations of a repeated string instruction after the first are no entries, although QEMU
    /// executes a block for each: translated code counts them (`instrument.rs`).
    ///
    /// # Safety
    ///
    /// `entered`, and every block given before, points to a live record that nobody else uses
    /// during the call.
    #[inline(always)]
    pub unsafe fn enter<const PROFILED: bool>(&mut self, entered: *mut Block, finished: bool) {
        let before = std::mem::replace(&mut self.previous, entered);
        // SAFETY: promised by the caller. `before` may be the same record: only shared
        // references are made where both are needed.
        let block = unsafe { &*entered };
        if !before.is_null() {
            self.settle::<PROFILED>(before, finished, block);
        }
        let counters = &mut self.counters[usize::from(block.kernel)];
        counters.instructions += u64::from(block.instructions);
        if let Terminator::Repeat { .. } = block.terminator {
            counters.rep_instructions += 1;
        }
        self.front_end.fetch(block.start, block.end - 1, counters);
        if PROFILED {
            // SAFETY: promised by the caller; `block` is not used after this.
            unsafe { (*entered).entered += 1 };
        }
    }

    /// Resolves what the block before did last.
    #[inline(always)]
    fn settle<const PROFILED: bool>(&mut self, before: *mut Block, finished: bool, next: &Block) {
        // SAFETY: see `enter`.
        let previous = unsafe { &*before };
        let went_on = finished
            && match previous.terminator {
                Terminator::None => next.start == previous.end,
                Terminator::Far => true,
                _ => self.branch::<PROFILED>(before, next.start, next.exception_entry),
            };
        if !went_on {
            self.interrupted::<PROFILED>(before, finished, next);
        }
    }

    /// Resolves the branch at the end of `from`, if `to` is where it can have led. An indirect
    /// branch can lead anywhere but `to_exception_entry`.
    #[inline(always)]
    fn branch<const PROFILED: bool>(
        &mut self,
        from: *mut Block,
        to: u64,
        to_exception_entry: bool,
    ) -> bool {
        // SAFETY: see `enter`.
        let block = unsafe { &*from };
        let (pc, next) = (block.last, block.end);
        let branch = match block.terminator {
            Terminator::Conditional { target } if to == next || to == target => {
                Branch::Conditional {
                    pc,
                    target,
                    taken: to != next,
                }
            }
            Terminator::Jump { target } if to == target => Branch::Jump { pc, target },
            Terminator::Call { target } if to == target => Branch::Call { pc, target, next },
            Terminator::Repeat { .. } if to == next => return true,
            Terminator::Return if !to_exception_entry => Branch::Return { target: to },
            Terminator::IndirectJump if !to_exception_entry => {
                Branch::IndirectJump { pc, target: to }
            }
            Terminator::IndirectCall if !to_exception_entry => Branch::IndirectCall {
                pc,
                target: to,
                next,
            },
            _ => return false,
        };
        self.front_end
            .branch(branch, &mut self.counters[usize::from(block.kernel)]);
        if PROFILED && block.kernel && to != next && is_kernel(to) {
            let direct = block.terminator.target().is_some();
            // SAFETY: `block` is not used after this.
            let from = unsafe { &mut *from };
            if direct {
                from.taken += 1;
            } else {
                self.profile.count_indirect(from, to);
            }
        }
        true
    }

    /// The flow left `before` in another way than its last instruction says: an interrupt or an
    /// exception came in between, or QEMU broke the block off to start again in its middle.
    #[cold]
    fn interrupted<const PROFILED: bool>(
        &mut self,
        before: *mut Block,
        finished: bool,
        next: &Block,
    ) {
        // SAFETY: see `enter`.
        let previous = unsafe { &*before };
        let restarted = !finished && previous.instructions_before(next.start).is_some();
        let resume = if restarted {
            Some(next.start)
        } else if next.kernel {
            (self.resume_address)()
        } else {
            None
        };
        let Some(resume) = resume else { return };
        let faulted = !finished || resume == previous.last;
        if finished && !faulted {
            // The branch was executed, then came the interrupt.
            self.branch::<PROFILED>(before, resume, false);
            return;
        }
        let Some(executed) = previous.instructions_before(resume) else {
            return;
        };
        let lost = u64::from(previous.instructions) - executed as u64;
        let mode = usize::from(previous.kernel);
        let repeated = matches!(previous.terminator, Terminator::Repeat { .. });
        let counters = &mut self.counters[mode];
        counters.instructions = counters.instructions.saturating_sub(lost);
        counters.rep_instructions = counters
            .rep_instructions
            .saturating_sub(u64::from(repeated));
        self.undone[mode] += lost;
        // A string instruction that faults is one of its iterations, and counted there.
        self.faults[mode] += u64::from(!restarted && !(repeated && finished));
        if PROFILED && previous.kernel {
            // SAFETY: `previous` is not used after this.
            self.profile.count_part(unsafe { &mut *before }, executed);
        }
    }
}
