// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays a trace in other layouts, through the front end that the tracer simulates.

use std::collections::HashMap;

use kernsmith_arch::{Architecture, PageMap, SMALL};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_trace::{Block, Event, Trace};

use super::Text;
use super::chunks::{Chunk, Chunks};
use super::collisions::{Collided, Collisions, USER};
use super::pieces::Pieces;
use super::simulated::{Number, Room, Simulated};
use super::timed::{Placement, timed, timed_by_part};
use super::windows::Windows;

/// The most bytes that a line can have.
const LONGEST_LINE: u64 = 256;

/// In no section of the text: user code, and kernel code that never moves.
pub const FIXED: u32 = u32::MAX;

/// A trace of a kernel whose text is known.
#[derive(Debug)]
pub struct Replay {
    pub(super) trace: Trace,
    /// The section of each block.
    sections: Vec<u32>,
    pub(super) windows: Windows,
    /// Whether 32 bits are enough.
    narrow: bool,
    architecture: &'static dyn Architecture,
    /// The kernel's text by the rule that it follows, in the layout that was traced; of a program,
    /// which follows none, nothing.
    image: Option<PageMap>,
}

impl Replay {
    /// A trace, and the text of the kernel in the layout that it was taken in.
    ///
    /// # Errors
    ///
    /// One sentence when the text's pages are not those that the kernel's own rule makes, so that
    /// those of another layout are not known; or when there is no such architecture.
    pub fn new(trace: Trace, text: &Text) -> Result<Self, String> {
        let architecture = kernsmith_arch::find(&trace.facts.architecture)?;
        let starts: Vec<u64> = text
            .sections()
            .iter()
            .map(|section| section.start)
            .collect();
        let image = architecture.image_pages(text.start(), text.end_of(&starts));
        let pages = &trace.facts.pages;
        if pages.replaced(&image, &image).as_ref() != Some(pages) {
            return Err(format!(
                "the guest has mapped the kernel's text from {:#x} on in other pages than Linux \
                 does, so those of another layout are not known",
                text.start()
            ));
        }
        Ok(Self::with_pages(trace, text, architecture, Some(image)))
    }

    /// A trace of a program in user mode, and the text of that program: all that is said of the
    /// kernel here is said of it then. It lies in the same pages in all layouts.
    ///
    /// # Errors
    ///
    /// One sentence when there is no such architecture.
    pub fn of_program(mut trace: Trace, text: &Text) -> Result<Self, String> {
        let architecture = kernsmith_arch::find(&trace.facts.architecture)?;
        for block in &mut trace.blocks {
            block.kernel = !block.kernel;
        }
        trace.facts.counters.reverse();
        Ok(Self::with_pages(trace, text, architecture, None))
    }

    fn with_pages(
        mut trace: Trace,
        text: &Text,
        architecture: &'static dyn Architecture,
        image: Option<PageMap>,
    ) -> Self {
        trace.sort_blocks();
        let section = |address| {
            text.section_of(address)
                .map_or(FIXED, |number| number as u32)
        };
        let sections = trace.blocks.iter().map(|block| section(block.start));
        Self {
            sections: sections.collect(),
            windows: Windows::new(&trace.words, |word| {
                trace.blocks[trace.words.block(word) as usize].kernel
            }),
            narrow: is_narrow(&trace.blocks, text),
            architecture,
            image,
            trace,
        }
    }

    /// In which pages code is mapped when the sections are at these addresses: what is traced, with
    /// the kernel's text by the kernel's own rule ([`Architecture::image_pages`]).
    #[must_use]
    pub fn pages_in(&self, text: &Text, starts: &[u64]) -> PageMap {
        let traced = &self.trace.facts.pages;
        let Some(before) = &self.image else {
            return traced.clone();
        };
        let image = self
            .architecture
            .image_pages(text.start(), text.end_of(starts));
        // Longer text can only reach where nothing is executable.
        traced.replaced(before, &image).unwrap_or(image)
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The section of a block, or [`FIXED`].
    #[must_use]
    pub fn section(&self, block: u32) -> u32 {
        self.sections[block as usize]
    }

    /// Bytes of kernel code that are executed, each counted once.
    #[must_use]
    pub fn touched(&self) -> u64 {
        let mut spans = self.executed();
        spans.sort_unstable();
        let mut reached = 0;
        let mut bytes = 0;
        for (start, end) in spans {
            let from = start.max(reached);
            bytes += end.saturating_sub(from);
            reached = reached.max(end);
        }
        bytes
    }

    /// Start and end of each kernel block of the region.
    fn executed(&self) -> Vec<(u64, u64)> {
        let mut seen = vec![false; self.trace.blocks.len()];
        for step in self.trace.events() {
            match step {
                Event::Block(number) => seen[number as usize] = true,
                Event::Begin => seen.fill(false),
                Event::Cut | Event::Led(..) => {}
            }
        }
        let blocks = self.trace.blocks.iter().enumerate();
        blocks
            .filter(|(number, block)| seen[*number] && block.kernel)
            .map(|(_, block)| (block.start, block.start + u64::from(block.bytes)))
            .collect()
    }

    /// What user mode and kernel mode cost in each of some layouts: when the sections of `text`
    /// are at these addresses (see [`Text::place`]).
    ///
    /// every: only one of so many windows of the trace is replayed, and the counts are those of
    /// these windows (see [`Windows::sample`]); 1 is the whole trace.
    #[must_use]
    pub fn cost(
        &self,
        text: &Text,
        layouts: &[Vec<u64>],
        model: &CpuModel,
        every: usize,
    ) -> Vec<[Counters; 2]> {
        if let Some(geometry) = &model.decoupled {
            let fast = self.narrow && stays(text, layouts);
            let timed = fast.then(|| self.timed_in_pieces(text, layouts, (model, geometry), every));
            return timed.flatten().unwrap_or_else(|| {
                let cost = |starts: &Vec<u64>| self.timed_in(text, starts, model, every);
                layouts.iter().map(cost).collect()
            });
        }
        if self.narrow && stays(text, layouts) {
            self.cost_in::<u32>(text, layouts, model, every)
        } else {
            self.cost_in::<u64>(text, layouts, model, every)
        }
    }

    /// What collides in the instruction cache when the sections of `text` are at these addresses.
    ///
    /// owners: of each section the number of its function. Kernel code in none of them has the one
    /// behind all of these.
    #[must_use]
    pub fn collisions(
        &self,
        text: &Text,
        starts: &[u64],
        model: &CpuModel,
        owners: &[u32],
    ) -> Collided {
        let blocks = &self.trace.blocks;
        let elsewhere = owners.iter().max().map_or(0, |last| last + 1);
        let owner = |(block, section): (&Block, &u32)| match block.kernel {
            false => USER,
            true => owners.get(*section as usize).copied().unwrap_or(elsewhere),
        };
        let owned: Vec<u32> = blocks.iter().zip(&self.sections).map(owner).collect();
        let placed = Placed {
            replay: self,
            text,
            starts,
        };
        let pages = self.pages_in(text, starts);
        let mut watch = Collisions::new(blocks, &placed, model, &owned);
        let slots = vec![0; blocks.len()];
        let _ = timed_by_part(&self.trace, &placed, pages, model, &slots, &mut watch);
        watch.finish()
    }

    fn timed_in(
        &self,
        text: &Text,
        starts: &[u64],
        model: &CpuModel,
        every: usize,
    ) -> [Counters; 2] {
        let placed = Placed {
            replay: self,
            text,
            starts,
        };
        let sample = self.windows.sample(every);
        let pages = self.pages_in(text, starts);
        let counted = timed(&self.trace, &placed, pages, model, &sample);
        std::array::from_fn(|mode| self.whole(mode, counted[mode]))
    }

    fn cost_in<K: Number>(
        &self,
        text: &Text,
        layouts: &[Vec<u64>],
        model: &CpuModel,
        every: usize,
    ) -> Vec<[Counters; 2]> {
        let pieces = Pieces::new(&self.trace.blocks, &self.sections, model.line_bytes);
        let mut chunks = Chunks::new(&self.trace, &self.windows, &pieces, &model.predictor, every);
        let simulated = |starts| Simulated::<K>::new(self, &pieces, text, starts, model);
        let mut machines: Vec<_> = layouts.iter().map(simulated).collect();
        let mut fixed = [Counters::default(); 2];
        let mut chunk = Chunk::default();
        let mut room = Room::new();
        while chunks.next(&mut chunk) {
            if chunk.begins {
                fixed = Default::default();
            }
            if !chunk.warms {
                for (sum, more) in fixed.iter_mut().zip(chunk.fixed) {
                    *sum = *sum + more;
                }
            }
            for machine in &mut machines {
                machine.execute(&chunk, &mut room);
            }
        }
        let counted = machines.into_iter().map(|machine| machine.counters);
        counted
            .map(|counters| {
                std::array::from_fn(|mode| self.whole(mode, counters[mode] + fixed[mode]))
            })
            .collect()
    }

    /// Counters with what the layout does not change; of a sample, as large a part of it as of
    /// the conditional branches.
    pub(super) fn whole(&self, mode: usize, counted: Counters) -> Counters {
        let traced = &self.trace.facts.counters[mode];
        let (part, all) = (counted.conditional_branches, traced.conditional_branches);
        let share = |figure: u64| match all {
            _ if part == all => figure,
            0 => 0,
            _ => (u128::from(figure) * u128::from(part) / u128::from(all)) as u64,
        };
        Counters {
            instructions: share(traced.instructions),
            rep_instructions: share(traced.rep_instructions),
            rep_iterations: share(traced.rep_iterations),
            rep_bytes: share(traced.rep_bytes),
            ..counted
        }
    }
}

/// The blocks of a replay where a layout puts them.
pub(super) struct Placed<'a> {
    pub replay: &'a Replay,
    pub text: &'a Text,
    pub starts: &'a [u64],
}

impl Placement for Placed<'_> {
    #[inline(always)]
    fn block(&self, number: u32) -> u64 {
        let block = self.replay.trace.blocks[number as usize];
        match self.replay.section(number) {
            FIXED => block.start,
            section => {
                let section = section as usize;
                block.start - self.text.sections()[section].start + self.starts[section]
            }
        }
    }

    fn address(&self, traced: u64) -> u64 {
        match self.text.section_of(traced) {
            Some(section) => traced - self.text.sections()[section].start + self.starts[section],
            None => traced,
        }
    }
}

/// What the low 32 bits of an address do not tell.
fn upper(address: u64) -> u64 {
    address >> 32
}

/// Whether the low 32 bits of an address tell which page it is in, of all that are executed: all
/// of the kernel's lie in the same 4 GiB as `text` does, and of programs no two meet.
fn is_narrow(blocks: &[Block], text: &Text) -> bool {
    let mut pages = HashMap::new();
    let mut ends = blocks.iter().flat_map(|block| {
        // And the line behind, which may be fetched ahead.
        let last = block.start + u64::from(block.bytes) - 1;
        let ends = [block.start, last, last.saturating_add(LONGEST_LINE)];
        ends.map(|address| (address, block.kernel))
    });
    ends.all(|(address, kernel)| {
        let page = address >> SMALL;
        match kernel {
            true => upper(address) == upper(text.start()),
            false => *pages.entry(page % (1 << (32 - SMALL))).or_insert(page) == page,
        }
    })
}

/// Whether no section leaves the 4 GiB in which the text begins, where these layouts put it.
fn stays(text: &Text, layouts: &[Vec<u64>]) -> bool {
    let sizes = text.sections().iter().map(|section| section.size);
    let highest = |starts: &Vec<u64>| {
        let ends = starts
            .iter()
            .zip(sizes.clone())
            .map(|(start, size)| start + size);
        ends.max().unwrap_or(0)
    };
    layouts.iter().all(|starts| {
        let lowest = starts.iter().min().copied().unwrap_or(0);
        [lowest, highest(starts).saturating_sub(1)].map(upper) == [upper(text.start()); 2]
    })
}
