// SPDX-License-Identifier: GPL-2.0-or-later
//! Fetches what the engine has followed, a little later, if need be in a thread of its own: what is in
//! caches and TLBs does not change where the flow goes, nor what predictors say of it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use kernsmith_arch::PageMap;
use kernsmith_frontend::{Access, Counters, CpuModel, DataCounters, Fetcher};
use kernsmith_trace::Kind;

use crate::block::{Block, Blocks};
use crate::pipe::{Inlet, pipe};
use crate::vcpus::Vcpus;
use crate::word::{self, AHEAD, Other};

/// Accesses of one block that are told apart; later ones are taken for the last of these.
const MOST_TOLD: u64 = 63;

/// What one vCPU has of its own.
struct Own {
    fetcher: Fetcher,
    /// The block that was entered last, if there was one.
    previous: *const Block,
    /// Loads and stores since then.
    accesses: u64,
}

/// Caches, TLBs and clocks of all vCPUs.
pub struct Fetching {
    vcpus: Vcpus<Own>,
    /// User mode, kernel mode: what fetching costs.
    pub counters: [Counters; 2],
    pub data_counters: [DataCounters; 2],
    blocks: Arc<Mutex<Blocks>>,
}

// SAFETY: the pointers are to records in `blocks`; records are `Sync`.
unsafe impl Send for Fetching {}

impl Fetching {
    /// Everything empty. The records of the blocks that will be entered are in `blocks`.
    pub fn new(model: &CpuModel, vcpus: usize, blocks: Arc<Mutex<Blocks>>) -> Self {
        let own = || Own {
            fetcher: Fetcher::new(model),
            previous: std::ptr::null(),
            accesses: 0,
        };
        Self {
            vcpus: Vcpus::new(vcpus, own),
            counters: [Counters::default(); 2],
            data_counters: [DataCounters::default(); 2],
            blocks,
        }
    }

    /// From now on, loads and stores are followed, too: before anything is executed.
    pub fn follow_data(&mut self, model: &CpuModel) {
        self.vcpus
            .all()
            .for_each(|own| own.fetcher.follow_data(model));
    }

    /// A block is entered. led: what its predictors say of how.
    ///
    /// # Safety
    ///
    /// `entered` is one of the records.
    #[inline(always)]
    unsafe fn enter(&mut self, entered: *const Block, led: u32) {
        // SAFETY: promised by the caller.
        let block = unsafe { &*entered };
        let own = &mut self.vcpus.current;
        (own.previous, own.accesses) = (entered, 0);
        if own.fetcher.wants(block.number()) {
            describe(&self.blocks, block, &mut own.fetcher);
        }
        let span = (block.start, block.end() - 1);
        let counters = &mut self.counters[usize::from(block.kernel())];
        own.fetcher.enter(block.number(), span, led, counters);
    }

    /// The block that was entered last loads or stores. Which instruction does, is told by how many
    /// accesses of the block came before; of a repeated string instruction, by its first ones.
    #[inline(always)]
    fn access(&mut self, address: u64, bytes: u64, store: bool) {
        let own = &mut self.vcpus.current;
        // SAFETY: it was a record when it was entered, and still is one.
        let Some(block) = (unsafe { own.previous.as_ref() }) else {
            return;
        };
        let access = Access {
            address,
            bytes,
            store,
            place: block.start.wrapping_add(own.accesses.min(MOST_TOLD)),
        };
        own.accesses += 1;
        let counters = &mut self.data_counters[usize::from(block.kernel())];
        own.fetcher.access(access, counters);
    }

    /// # Safety
    ///
    /// A block's word is the address of a record.
    #[inline(always)]
    unsafe fn step(&mut self, step: Step) {
        if !word::is_other(step.word) {
            // SAFETY: promised by the caller.
            return unsafe { self.enter(step.word as *const Block, step.led) };
        }
        match word::read(step.word) {
            Other::Data {
                address,
                bytes,
                store,
            } => self.access(address, bytes, store),
            Other::Vcpu(number) => self.vcpus.run_on(number),
            Other::Frame { .. } => {}
        }
    }

    /// # Safety
    ///
    /// As for [`Self::step`].
    unsafe fn steps(&mut self, steps: &[Step]) {
        for (place, step) in steps.iter().enumerate() {
            if let Some(soon) = steps.get(place + AHEAD) {
                word::expect(soon.word);
            }
            // SAFETY: promised by the caller.
            unsafe { self.step(*step) };
        }
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Begin => {
                self.counters = Default::default();
                self.data_counters = Default::default();
            }
            Told::Pages(pages) => self.map(|fetcher| fetcher.map(pages.clone())),
            Told::DataPages(pages) => self.map(|fetcher| fetcher.map_data(pages.clone())),
        }
    }

    fn map(&mut self, map: impl Fn(&mut Fetcher)) {
        self.vcpus.all().for_each(|own| map(&mut own.fetcher));
    }
}

#[cold]
#[inline(never)]
fn describe(blocks: &Mutex<Blocks>, block: &Block, fetcher: &mut Fetcher) {
    let known = blocks.lock().unwrap_or_else(PoisonError::into_inner);
    let sizes = known.sizes(block).into_iter();
    let conditional = block.kind() == Kind::Conditional;
    let operations = || known.operations(block);
    fetcher.describe(block.number(), block.start, sizes, conditional, operations);
}

/// A word ([`word`]), and of a block what led there.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub word: u64,
    pub led: u32,
}

/// What comes between steps.
pub enum Told {
    /// Counters go to zero; caches keep their state.
    Begin,
    /// The kernel's code is mapped in these pages from now on.
    Pages(PageMap),
    /// Its data are mapped in these large pages from now on.
    DataPages(PageMap),
}

/// Who is told what to fetch.
pub enum Fetches {
    /// In the thread that tells it.
    Here(Box<Fetching>),
    /// In another one.
    Elsewhere(Inlet<Step, Told>, JoinHandle<Fetching>),
}

impl Fetches {
    /// From now on in a thread of its own, until [`Self::settle`].
    ///
    /// # Errors
    ///
    /// The system's, when there can be no more threads.
    pub fn elsewhere(self) -> io::Result<Self> {
        let Self::Here(mut fetching) = self else {
            return Ok(self);
        };
        let (inlet, outlet) = pipe();
        let fetch = move || {
            outlet.take_all(
                &mut *fetching,
                // SAFETY: whoever tells steps has promised that they are of records.
                |fetching, steps: &[Step]| unsafe { fetching.steps(steps) },
                Fetching::hear,
            );
            *fetching
        };
        let thread = Builder::new()
            .name("kernsmith-fetch".to_owned())
            .spawn(fetch)?;
        Ok(Self::Elsewhere(inlet, thread))
    }

    /// Waits until all is fetched that was told.
    ///
    /// # Panics
    ///
    /// When the other thread did.
    #[must_use]
    pub fn settle(self) -> Self {
        match self {
            Self::Here(_) => self,
            Self::Elsewhere(mut inlet, thread) => {
                inlet.hand_over();
                drop(inlet);
                Self::Here(Box::new(thread.join().expect("it has not panicked")))
            }
        }
    }

    /// # Safety
    ///
    /// A block's word is the address of a record.
    #[inline(always)]
    pub unsafe fn step(&mut self, step: Step) {
        match self {
            // SAFETY: promised by the caller.
            Self::Here(fetching) => unsafe { fetching.step(step) },
            Self::Elsewhere(inlet, _) => inlet.push(step),
        }
    }

    /// See [`Told`].
    pub fn tell(&mut self, told: Told) {
        match self {
            Self::Here(fetching) => fetching.hear(told),
            Self::Elsewhere(inlet, _) => inlet.tell(told),
        }
    }

    /// What was fetched.
    ///
    /// # Panics
    ///
    /// When that is not settled.
    #[must_use]
    pub fn settled(&self) -> &Fetching {
        match self {
            Self::Here(fetching) => fetching,
            Self::Elsewhere(..) => {
                panic!("what is fetched elsewhere is settled before it is asked for")
            }
        }
    }
}
