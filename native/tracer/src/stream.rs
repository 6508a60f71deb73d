// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries what the vCPUs execute to the engine, which runs in a thread of its own.
//!
//! The vCPUs' thread only appends a word for each block to a buffer: simulating in its callbacks
//! would take as long as the execution itself, and each would push the other's data and code out
//! of the host's caches. The engine sees the same sequence whenever it comes to it, so the result
//! does not depend on the threads' timing.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use kernsmith_arch::{Frame, PageMap};

use crate::block::Block;
use crate::engine::Engine;

/// Words in a buffer: 128 KiB, what fits in a second-level cache beside other things.
const WORDS: usize = 16 * 1024;

/// Buffers: when all of them are full, the vCPUs wait.
const BUFFERS: usize = 8;

/// Marks the first word of a frame; addresses of records have their low bits clear.
const IS_FRAME: u64 = 1;

/// Marks a load or store: see [`data_word`].
const IS_DATA: u64 = 4;

/// In the word of a load or store: whether it is a store.
const IS_STORE: u64 = 8;

/// Where log2 of its bytes is, in three bits.
const SIZE_AT: u32 = 4;

/// Where its address is. The bits above are all equal, with addresses of 57 bits as well.
const ADDRESS_AT: u32 = 7;

/// In the first word of a frame: whether it is a fault.
const IS_FAULT: u64 = 2;

/// Beside the mark of a frame: it is none, but the number of the vCPU that goes on.
const IS_VCPU: u64 = 8;

/// Where that number is.
const VCPU_AT: u32 = 32;

enum Message {
    /// Addresses of records of entered blocks; before one, two words may describe a frame, and behind
    /// it stand its loads and stores.
    Words(Vec<u64>),
    /// The region begins.
    Begin,
    /// The kernel's code is mapped in other pages from now on.
    Pages(PageMap),
    /// So are its data.
    DataPages(PageMap),
}

/// The vCPUs' end.
pub struct Stream {
    current: Vec<u64>,
    vcpu: u32,
    full: SyncSender<Message>,
    free: Receiver<Vec<u64>>,
    simulation: JoinHandle<Engine>,
}

impl Stream {
    /// Starts the engine's thread.
    ///
    /// # Errors
    ///
    /// The system's, when there can be no more threads.
    pub fn start(engine: Engine, profiled: bool, traced: bool) -> io::Result<Self> {
        let (full, incoming) = sync_channel(BUFFERS);
        let (done, free) = channel();
        for _ in 1..BUFFERS {
            let _ = done.send(Vec::with_capacity(WORDS));
        }
        let simulate = match (profiled, traced) {
            (false, false) => simulate::<false, false>,
            (true, false) => simulate::<true, false>,
            (false, true) => simulate::<false, true>,
            (true, true) => simulate::<true, true>,
        };
        let simulation = Builder::new()
            .name("kernsmith".to_owned())
            .spawn(move || simulate(engine, &incoming, &done))?;
        Ok(Self {
            current: Vec::with_capacity(WORDS),
            vcpu: 0,
            full,
            free,
            simulation,
        })
    }

    /// All that follows is of this vCPU.
    #[inline(always)]
    pub fn run_on(&mut self, vcpu: u32) {
        if vcpu != self.vcpu {
            self.vcpu = vcpu;
            self.word(u64::from(vcpu) << VCPU_AT | IS_VCPU | IS_FRAME);
        }
    }

    /// A block is entered.
    #[inline(always)]
    pub fn block(&mut self, block: *const Block) {
        self.word(block as u64);
    }

    /// The block that is entered next is a handler's first, which has interrupted a program
    /// here.
    pub fn frame(&mut self, frame: Frame) {
        self.word(if frame.fault {
            IS_FRAME | IS_FAULT
        } else {
            IS_FRAME
        });
        self.word(frame.resume);
    }

    /// The block that was entered last loads or stores so many bytes, told by their log2.
    #[inline(always)]
    pub fn data(&mut self, address: u64, size_shift: u32, store: bool) {
        self.word(data_word(address, size_shift, store));
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        if self.current.len() == self.current.capacity() {
            self.hand_over();
        }
        self.current.push(word);
    }

    #[cold]
    #[inline(never)]
    fn hand_over(&mut self) {
        // Neither fails: the engine's thread ends only after this end is gone.
        let next = self
            .free
            .recv()
            .unwrap_or_else(|_| Vec::with_capacity(WORDS));
        let words = std::mem::replace(&mut self.current, next);
        let _ = self.full.send(Message::Words(words));
    }

    /// The region begins.
    pub fn begin(&mut self) {
        self.hand_over();
        let _ = self.full.send(Message::Begin);
    }

    /// The kernel's code is mapped in these pages from now on.
    pub fn map(&mut self, pages: PageMap) {
        self.hand_over();
        let _ = self.full.send(Message::Pages(pages));
    }

    /// The kernel's data are mapped in these large pages from now on.
    pub fn map_data(&mut self, pages: PageMap) {
        self.hand_over();
        let _ = self.full.send(Message::DataPages(pages));
    }

    /// Waits for the engine to come to the end. `None` when its thread has panicked.
    #[must_use]
    pub fn finish(mut self) -> Option<Engine> {
        self.hand_over();
        drop(self.full);
        self.simulation.join().ok()
    }
}

fn simulate<const PROFILED: bool, const TRACED: bool>(
    engine: Engine,
    incoming: &Receiver<Message>,
    done: &Sender<Vec<u64>>,
) -> Engine {
    let mut follower = Follower {
        engine,
        fault: None,
        frame: None,
    };
    for message in incoming {
        match message {
            Message::Begin => follower.engine.begin(),
            Message::Pages(pages) => follower.engine.map(pages),
            Message::DataPages(pages) => follower.engine.map_data(pages),
            Message::Words(mut words) => {
                // SAFETY: the words come from `Stream`.
                unsafe { follower.follow::<PROFILED, TRACED>(&words) };
                words.clear();
                // It is of no use any more when the other end is gone.
                let _ = done.send(words);
            }
        }
    }
    follower.engine
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
        for word in words {
            if let Some(fault) = self.fault.take() {
                self.frame = Some(Frame {
                    resume: *word,
                    fault,
                });
            } else if word & (IS_FRAME | IS_DATA) != 0 {
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
        if word & IS_DATA != 0 {
            let address = (word as i64 >> ADDRESS_AT) as u64;
            let bytes = 1 << (word >> SIZE_AT & 7);
            self.engine.access(address, bytes, word & IS_STORE != 0);
        } else if word & IS_VCPU != 0 {
            self.engine.run_on((word >> VCPU_AT) as usize);
        } else {
            self.fault = Some(word & IS_FAULT != 0);
        }
    }
}

/// A load or store in one word.
#[inline(always)]
fn data_word(address: u64, size_shift: u32, store: bool) -> u64 {
    let store = if store { IS_STORE } else { 0 };
    address << ADDRESS_AT | u64::from(size_shift & 7) << SIZE_AT | store | IS_DATA
}
