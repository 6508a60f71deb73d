// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries what the vCPUs execute to the engine, which runs in a thread of its own.
//!
//! The vCPUs' thread only appends a word for each block to a buffer: simulating in its callbacks
//! would take as long as the execution itself, and each would push the other's data and code out
//! of the host's caches. The engine follows the flow and predicts, and hands what is to be fetched
//! to a third thread (`fetching.rs`). Each sees the same sequence whenever it comes to it, so the
//! result does not depend on the threads' timing.

use std::io;
use std::thread::{Builder, JoinHandle};

use kernsmith_arch::{Frame, PageMap};

use crate::block::Block;
use crate::engine::Engine;
use crate::fetching::Told;
use crate::pipe::{Inlet, Outlet, pipe};
use crate::word::{self, AHEAD, Other};

/// The vCPUs' end.
pub struct Stream {
    /// Words ([`word`]): of entered blocks; before one, a frame may be described in two words, and
    /// behind it stand its loads and stores.
    inlet: Inlet<u64, Told>,
    vcpu: u32,
    simulation: JoinHandle<Engine>,
}

impl Stream {
    /// Starts the engine's thread, and the one that fetches.
    ///
    /// # Errors
    ///
    /// The system's, when there can be no more threads.
    pub fn start(engine: Engine, profiled: bool, traced: bool) -> io::Result<Self> {
        let simulate = match (profiled, traced) {
            (false, false) => simulate::<false, false>,
            (true, false) => simulate::<true, false>,
            (false, true) => simulate::<false, true>,
            (true, true) => simulate::<true, true>,
        };
        let engine = engine.fetch_elsewhere()?;
        let (inlet, outlet) = pipe();
        let simulation = Builder::new()
            .name("kernsmith".to_owned())
            .spawn(move || simulate(engine, outlet))?;
        Ok(Self {
            inlet,
            vcpu: 0,
            simulation,
        })
    }

    /// All that follows is of this vCPU.
    #[inline(always)]
    pub fn run_on(&mut self, vcpu: u32) {
        if vcpu != self.vcpu {
            self.vcpu = vcpu;
            self.inlet.push(word::vcpu(vcpu));
        }
    }

    /// A block is entered.
    #[inline(always)]
    pub fn block(&mut self, block: *const Block) {
        self.inlet.push(block as u64);
    }

    /// The block that is entered next is a handler's first, which has interrupted a program
    /// here.
    pub fn frame(&mut self, frame: Frame) {
        self.inlet.push(word::frame(frame.fault));
        self.inlet.push(frame.resume);
    }

    /// The block that was entered last loads or stores so many bytes, told by their log2.
    #[inline(always)]
    pub fn data(&mut self, address: u64, size_shift: u32, store: bool) {
        self.inlet.push(word::data(address, size_shift, store));
    }

    /// The region begins.
    pub fn begin(&mut self) {
        self.inlet.tell(Told::Begin);
    }

    /// The kernel's code is mapped in these pages from now on.
    pub fn map(&mut self, pages: PageMap) {
        self.inlet.tell(Told::Pages(pages));
    }

    /// The kernel's data are mapped in these large pages from now on.
    pub fn map_data(&mut self, pages: PageMap) {
        self.inlet.tell(Told::DataPages(pages));
    }

    /// Waits for the engine to come to the end. `None` when a thread has panicked.
    #[must_use]
    pub fn finish(mut self) -> Option<Engine> {
        self.inlet.hand_over();
        drop(self.inlet);
        self.simulation.join().ok()
    }
}

fn simulate<const PROFILED: bool, const TRACED: bool>(
    engine: Engine,
    outlet: Outlet<u64, Told>,
) -> Engine {
    let mut follower = Follower {
        engine,
        fault: None,
        frame: None,
    };
    outlet.take_all(
        &mut follower,
        // SAFETY: the words come from `Stream`.
        |follower, words| unsafe { follower.follow::<PROFILED, TRACED>(words) },
        |follower, told| match told {
            Told::Begin => follower.engine.begin(),
            Told::Pages(pages) => follower.engine.map(pages),
            Told::DataPages(pages) => follower.engine.map_data(pages),
        },
    );
    follower.engine.settle()
}

/// Reads the words, of which a frame and its block may be in two buffers.
struct Follower {
    engine: Engine,
    /// The first word of a frame was read: whether it is a fault.
    fault: Option<bool>,
    /// A whole frame was read.
    frame: Option<Frame>,
}

impl Follower {
    /// # Safety
    ///
    /// The words are those of [`Stream`], and the records those of the engine.
    unsafe fn follow<const PROFILED: bool, const TRACED: bool>(&mut self, words: &[u64]) {
        for (place, word) in words.iter().enumerate() {
            if let Some(soon) = words.get(place + AHEAD) {
                word::expect(*soon);
            }
            if let Some(fault) = self.fault.take() {
                self.frame = Some(Frame {
                    resume: *word,
                    fault,
                });
            } else if word::is_other(*word) {
                self.other(*word);
            } else if let Some(frame) = self.frame.take() {
                // SAFETY: promised by the caller.
                unsafe {
                    self.engine
                        .enter_handler::<PROFILED, TRACED>(*word as *const Block, frame)
                };
            } else {
                // SAFETY: promised by the caller.
                unsafe { self.engine.enter::<PROFILED, TRACED>(*word as *const Block) };
            }
        }
    }

    /// A word that is no block's.
    #[inline(always)]
    fn other(&mut self, word: u64) {
        match word::read(word) {
            Other::Data {
                address,
                bytes,
                store,
            } => self.engine.access(address, bytes, store),
            Other::Vcpu(number) => self.engine.run_on(number),
            Other::Frame { fault } => self.fault = Some(fault),
        }
    }
}
