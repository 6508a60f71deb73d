// SPDX-License-Identifier: GPL-2.0-or-later
//! From the sequence of entered blocks to counters and profile.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernsmith_arch::{AddressSpace, Frame, PageMap};
use kernsmith_frontend::{Branch, BranchNames, Counters, CpuModel, DataCounters, Predictors};
use kernsmith_trace::{Facts, Kind, TraceWriter};

use crate::block::{Block, Blocks};
use crate::fetching::{Fetches, Fetching, Step, Told};
use crate::profile::Profile;
use crate::vcpus::Vcpus;
use crate::word;

/// What one vCPU has of its own.
struct Own {
    predictors: Predictors,
    /// The block that was entered last, if there was one.
    previous: *const Block,
}

/// Follows the flow of control.
///
/// Whether a block was left by its last instruction, and where to, is known only when the next
/// one is entered; so each entry first settles the block before it: either the last instruction
/// can have led here, or an interrupt or an exception came in between, and then the frame of
/// the interrupted program says where.
///
/// Each vCPU has a front end and a flow of its own; what is counted is the sum over all of them.
pub struct Engine {
    space: AddressSpace,
    vcpus: Vcpus<Own>,
    /// User mode, kernel mode: what is executed and predicted.
    counters: [Counters; 2],
    fetches: Fetches,
    blocks: Arc<Mutex<Blocks>>,
    profile: Profile,
    profiles_programs: bool,
    trace: Option<TraceWriter>,
    frame: Option<Frame>,
    faults: [u64; 2],
    undone: [u64; 2],
}

// SAFETY: the pointers are to records in `blocks`, which the engine owns as well; records are `Sync`.
unsafe impl Send for Engine {}

impl Engine {
    /// Everything empty. The records of the blocks that will be entered are in `blocks`, where
    /// others may put in more at any time. `trace`: where the sequence goes, if it is wanted, which
    /// is of one vCPU. The vCPU 0 runs.
    pub fn new(
        model: &CpuModel,
        vcpus: usize,
        space: AddressSpace,
        blocks: Arc<Mutex<Blocks>>,
        trace: Option<TraceWriter>,
    ) -> Self {
        let own = || Own {
            predictors: Predictors::new(model),
            previous: std::ptr::null(),
        };
        let fetching = Fetching::new(model, vcpus, Arc::clone(&blocks));
        Self {
            space,
            vcpus: Vcpus::new(vcpus, own),
            counters: [Counters::default(); 2],
            fetches: Fetches::Here(Box::new(fetching)),
            blocks,
            profile: Profile::default(),
            profiles_programs: false,
            trace,
            frame: None,
            faults: [0; 2],
            undone: [0; 2],
        }
    }

    /// From now on, what is followed is fetched in another thread, until [`Self::settle`].
    ///
    /// # Errors
    ///
    /// The system's, when there can be no more threads.
    pub fn fetch_elsewhere(self) -> io::Result<Self> {
        let fetches = self.fetches.elsewhere()?;
        Ok(Self { fetches, ..self })
    }

    /// Waits until all is fetched: before anybody asks for counters.
    #[must_use]
    pub fn settle(self) -> Self {
        let fetches = self.fetches.settle();
        Self { fetches, ..self }
    }

    /// From now on, this vCPU runs.
    pub fn run_on(&mut self, vcpu: usize) {
        self.vcpus.run_on(vcpu);
        self.fetch(word::vcpu(vcpu as u32), 0);
    }

    /// A word that is no block's, or whose record was promised to be this engine's.
    #[inline(always)]
    fn fetch(&mut self, word: u64, led: u32) {
        // SAFETY: see above.
        unsafe { self.fetches.step(Step { word, led }) };
    }

    /// Counters go to zero; caches and predictors keep their state.
    pub fn begin(&mut self) {
        self.counters = [Counters::default(); 2];
        self.fetches.tell(Told::Begin);
        self.faults = [0; 2];
        self.undone = [0; 2];
        self.profile = Profile::default();
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
        for block in self.blocks().iter() {
            block.entered.set(0);
            block.taken.set(0);
        }
    }

    /// From now on, programs' code is in the profile as well.
    pub fn profile_programs(&mut self) {
        self.profiles_programs = true;
    }

    #[inline(always)]
    fn is_profiled(&self, block: &Block) -> bool {
        block.kernel() || self.profiles_programs
    }

    /// From now on, the kernel's code is mapped in these pages.
    pub fn map(&mut self, pages: PageMap) {
        self.fetches.tell(Told::Pages(pages));
    }

    /// From now on, loads and stores are followed, too: before anything is executed.
    pub fn follow_data(&mut self, model: &CpuModel) {
        if let Fetches::Here(fetching) = &mut self.fetches {
            fetching.follow_data(model);
        }
    }

    /// From now on, the kernel's data are mapped in these large pages.
    pub fn map_data(&mut self, pages: PageMap) {
        self.fetches.tell(Told::DataPages(pages));
    }

    /// The block that was entered last loads or stores so many bytes, a power of two.
    #[inline(always)]
    pub fn access(&mut self, address: u64, bytes: u64, store: bool) {
        self.fetch(word::data(address, bytes.trailing_zeros(), store), 0);
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// User mode's counters, kernel mode's counters.
    #[must_use]
    pub fn counters(&self) -> [Counters; 2] {
        let fetched = self.fetches.settled().counters;
        [0, 1].map(|mode| self.counters[mode] + fetched[mode])
    }

    /// What loads and stores of user mode and of kernel mode were counted as.
    #[must_use]
    pub fn data_counters(&self) -> [DataCounters; 2] {
        self.fetches.settled().data_counters
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
        self.profile.text(&self.blocks(), self.profiles_programs)
    }

    /// Ends the trace, if there is one. `facts` are written with it.
    ///
    /// # Errors
    ///
    /// The system's, of this or an earlier write.
    pub fn finish_trace(&mut self, facts: &Facts) -> io::Result<()> {
        let Some(trace) = self.trace.take() else {
            return Ok(());
        };
        let blocks = self.blocks();
        let described = |block: &Block| {
            let number = block.number();
            (
                block.described(),
                blocks.offsets(number),
                blocks.code(number),
            )
        };
        trace.finish(blocks.iter().map(described), facts)
    }

    /// A block is entered. With `PROFILED`, ranges and edges are counted as well; with `TRACED`,
    /// there is a trace to write.
    ///
    /// Iterations of a repeated string instruction after the first are no entries, although QEMU
    /// executes a block for each: translated code counts them (`instrument.rs`).
    ///
    /// # Safety
    ///
    /// `entered` comes from [`Blocks::get`] of this engine's blocks.
    #[inline(always)]
    pub unsafe fn enter<const PROFILED: bool, const TRACED: bool>(
        &mut self,
        entered: *const Block,
    ) {
        let before = std::mem::replace(&mut self.vcpus.current.previous, entered);
        // SAFETY: promised by the caller, now and when `before` was entered.
        let (before, block) = unsafe { (before.as_ref(), &*entered) };
        if let Some(before) = before {
            let to = (block.start, block.name);
            if !self.branch::<PROFILED>(before, to, block.is_exception_entry()) {
                let led_to = self.interrupted::<PROFILED>(before, block);
                self.vcpus.current.predictors.interrupt();
                if TRACED {
                    self.trace_interruption(led_to);
                }
            }
        } else {
            self.vcpus.current.predictors.interrupt();
            self.trace_interruption(None);
        }
        if TRACED && let Some(trace) = &mut self.trace {
            trace.block(block.number());
        }
        let counters = &mut self.counters[usize::from(block.kernel())];
        counters.instructions += u64::from(block.instructions());
        if block.kind() == Kind::Repeat {
            counters.rep_instructions += 1;
        }
        let led = self.vcpus.current.predictors.led();
        self.fetch(entered as u64, led);
        if PROFILED {
            self.profile.count_entry(block);
        }
    }

    /// The first block of an interrupt or exception handler is entered, which has interrupted
    /// a program here.
    ///
    /// # Safety
    ///
    /// As for [`Self::enter`].
    pub unsafe fn enter_handler<const PROFILED: bool, const TRACED: bool>(
        &mut self,
        entered: *const Block,
        frame: Frame,
    ) {
        self.frame = Some(frame);
        // SAFETY: promised by the caller.
        unsafe { self.enter::<PROFILED, TRACED>(entered) };
        self.frame = None;
    }

    /// Resolves the end of `block`, if `to` is where it can have led, and returns whether it is.
    /// name: what is there is called.
    #[inline(always)]
    fn branch<const PROFILED: bool>(
        &mut self,
        block: &Block,
        (to, name): (u64, u32),
        to_exception_entry: bool,
    ) -> bool {
        let (pc, next) = (block.last(), block.end());
        let branch = match block.kind() {
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
            Kind::Return => Branch::Return { pc, target: to },
            Kind::IndirectJump => Branch::IndirectJump { pc, target: to },
            Kind::IndirectCall => Branch::IndirectCall {
                pc,
                target: to,
                next,
            },
        };
        let counters = &mut self.counters[usize::from(block.kernel())];
        let names = BranchNames {
            pc: block.last_name(),
            target: name,
        };
        self.vcpus
            .current
            .predictors
            .branch(branch, names, counters);
        if PROFILED && self.is_profiled(block) && to != next {
            if block.is_direct() {
                self.profile.count_taken(block);
            } else if self.space.is_kernel(to) == block.kernel() {
                self.profile.count_indirect(block, to);
            }
        }
        true
    }

    /// The flow left `before` in another way than its last instruction says: an interrupt or an
    /// exception came in between, or QEMU broke the block off to start again in its middle.
    /// Returns where the last instruction has led, if it was executed, and what is there is called.
    #[cold]
    #[inline(never)]
    fn interrupted<const PROFILED: bool>(
        &mut self,
        before: &Block,
        next: &Block,
    ) -> Option<(u64, u32)> {
        if let Some(executed) = self.instructions_before(before, next.start) {
            self.take_back::<PROFILED>(before, executed);
            return None;
        }
        let Some(frame) = self.frame.take() else {
            // No handler after all, only code that looks like one.
            let to = (next.start, next.name);
            return self.branch::<PROFILED>(before, to, false).then_some(to);
        };
        let executed = self.instructions_before(before, frame.resume);
        if let (Some(executed), true) = (executed, frame.fault) {
            // A string instruction that faults is one of its iterations, and counted there.
            let last = executed + 1 == usize::from(before.instructions());
            let iteration = last && before.kind() == Kind::Repeat;
            self.faults[usize::from(before.kernel())] += u64::from(!iteration);
            self.take_back::<PROFILED>(before, executed);
            return None;
        }
        let to = (frame.resume, self.blocks().name_of(frame.resume));
        let led = self.branch::<PROFILED>(before, to, false);
        if let (Some(executed), false) = (executed, led) {
            self.take_back::<PROFILED>(before, executed);
        }
        led.then_some(to)
    }

    #[cold]
    fn trace_interruption(&mut self, led_to: Option<(u64, u32)>) {
        match (&mut self.trace, led_to) {
            (Some(trace), Some((address, name))) => trace.led(address, name),
            (Some(trace), None) => trace.cut(),
            (None, _) => {}
        }
    }

    fn instructions_before(&self, block: &Block, address: u64) -> Option<usize> {
        self.blocks().instructions_before(block, address)
    }

    /// Of `block`, only the first `executed` instructions ran.
    fn take_back<const PROFILED: bool>(&mut self, block: &Block, executed: usize) {
        let lost = u64::from(block.instructions()) - executed as u64;
        let mode = usize::from(block.kernel());
        let repeated = u64::from(block.kind() == Kind::Repeat);
        let counters = &mut self.counters[mode];
        counters.instructions = counters.instructions.saturating_sub(lost);
        counters.rep_instructions = counters.rep_instructions.saturating_sub(repeated);
        self.undone[mode] += lost;
        if PROFILED && self.is_profiled(block) {
            let last = executed.checked_sub(1);
            let last = last.map(|last| self.blocks().address_of(block, last));
            self.profile.count_part(block, last);
        }
    }
}
