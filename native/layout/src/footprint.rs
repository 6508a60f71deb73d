// SPDX-License-Identifier: GPL-2.0-or-later
//! What workloads fetch of each section, and what that costs by where the section begins.
//!
//! How often a part of a section is fetched anew (`epochs.rs`) hardly depends on the layout. How
//! many lines and pages it takes up does: on where it begins, and on what it shares them with.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_arch::{Page, PageMap};
use kernsmith_frontend::CpuModel;

use super::epochs::{Fetched, UNITS, by_section};
use super::gathered::{Gathered, LANES, Lanes};
use super::parallel::in_parallel;
use super::{Replay, Text};

/// Where the parts of a function end of which one knows how probable it is that they are executed
/// when the function is, in bytes.
const PARTS: [u64; 7] = [16, 32, 64, 128, 256, 512, u64::MAX];

/// In a part that is longer than this, so many bytes at a time.
const PIECE: u64 = 64;

/// A stretch of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: u32,
    end: u32,
}

/// What each workload fetches of each section, and what one that nobody has traced may fetch.
///
/// Costs are parts of a workload's cycles in the default layout, so those of several may be
/// added.
#[derive(Debug)]
pub struct Footprints {
    line_bytes: u64,
    /// In the default layout: where the kernel's rule cuts its text up hardly depends on the order.
    pages: PageMap,
    /// Those that were traced.
    workloads: usize,
    /// Groups of lanes that hold one cost for each workload, and one for the untraced one.
    width: usize,
    /// By section: its spans.
    of: Vec<Range<usize>>,
    spans: Vec<Span>,
    /// By span: `width` groups of lanes, what fetching its line costs; as many, its page when that
    /// is a small one; and as many, when it is a large one.
    costs: Vec<Lanes>,
}

impl Footprints {
    /// Of the regions of some traces. The untraced workload weighs as much as all others together:
    /// of what they execute, it executes what the average one does; and of the rest, in each group
    /// of the linker script, so many functions as one of them executes of those that the others
    /// do not.
    #[must_use]
    pub fn new(text: &Text, replays: &[&Replay], model: &CpuModel, threads: usize) -> Self {
        let workloads = replays.len();
        let width = (workloads + 1).div_ceil(LANES);
        let mut prints = Self {
            workloads,
            line_bytes: model.line_bytes as u64,
            pages: replays
                .first()
                .map(|replay| replay.pages_in(text, &text.place(&[])))
                .unwrap_or_default(),
            width,
            of: Vec::with_capacity(text.sections().len()),
            spans: Vec::new(),
            costs: Vec::new(),
        };
        let fetched = in_parallel(threads, workloads, |number| {
            by_section(replays[number], text, model)
        });
        let unknown = Unknown::new(text, &fetched);
        for (number, section) in text.sections().iter().enumerate() {
            let begin = prints.spans.len();
            let blocks: Vec<(usize, &Fetched)> = fetched
                .iter()
                .enumerate()
                .filter_map(|(lane, sections)| Some((lane, sections.get(&(number as u32))?)))
                .flat_map(|(lane, blocks)| blocks.iter().map(move |block| (lane, block)))
                .collect();
            if blocks.is_empty() {
                prints.suppose(&unknown, number, section.size);
            } else {
                prints.join(&blocks);
            }
            prints.of.push(begin..prints.spans.len());
        }
        prints
    }

    /// Adds the spans of a section of which some workloads execute these blocks.
    fn join(&mut self, blocks: &[(usize, &Fetched)]) {
        let ends = blocks
            .iter()
            .flat_map(|(_, block)| [block.start, block.end]);
        let mut bounds: Vec<u32> = ends.collect();
        bounds.sort_unstable();
        bounds.dedup();
        for pair in bounds.windows(2) {
            let mut costs = vec![[0.0_f32; LANES]; UNITS * self.width];
            for (lane, block) in blocks {
                if block.start <= pair[0] && pair[1] <= block.end {
                    for (unit, cost) in block.costs.iter().enumerate() {
                        let place = unit * self.width + lane / LANES;
                        let known = &mut costs[place][lane % LANES];
                        *known = known.max(*cost);
                    }
                }
            }
            for groups in costs.chunks_exact_mut(self.width) {
                let sum: f32 = groups.iter().flatten().sum();
                groups[self.workloads / LANES][self.workloads % LANES] = sum;
            }
            self.push(pair[0], pair[1], &costs);
        }
    }

    /// Adds the spans of a section that no workload executes.
    fn suppose(&mut self, unknown: &Unknown, section: usize, size: u64) {
        let untraced = self.workloads;
        let mut start = 0;
        for (part, end) in PARTS.into_iter().enumerate() {
            let end = end.min(size);
            if end > start {
                let mut costs = vec![[0.0_f32; LANES]; UNITS * self.width];
                for (unit, cost) in unknown.costs(section, part).into_iter().enumerate() {
                    costs[unit * self.width + untraced / LANES][untraced % LANES] = cost;
                }
                self.push(start as u32, end as u32, &costs);
            }
            start = end;
        }
    }

    fn push(&mut self, start: u32, end: u32, costs: &[Lanes]) {
        if costs.iter().flatten().any(|cost| *cost > 0.0) {
            self.spans.push(Span { start, end });
            self.costs.extend(costs);
        }
    }

    /// Bytes of a line.
    #[must_use]
    pub fn line_bytes(&self) -> u64 {
        self.line_bytes
    }

    /// The page that an address is in.
    #[must_use]
    pub fn page(&self, address: u64) -> Page {
        self.pages.page(address)
    }

    /// Whether a workload executes the section, or may.
    fn is_known(&self, section: u32) -> bool {
        !self.of[section as usize].is_empty()
    }

    /// What fetching some sections costs that begin at these addresses, which rise.
    #[must_use]
    pub fn cost(&self, placed: impl Iterator<Item = (u32, u64)> + Clone) -> f64 {
        let of_pages = |group| {
            let mut pages = Gathered::default();
            self.fetch(placed.clone(), |number, first, last| {
                let costs = self.costs_of(number, group);
                let [small, large] = [costs(1), costs(2)];
                pages.fetch_pages(&self.pages, first, last, small, large);
            });
            pages.sum()
        };
        self.line_cost(placed.clone()) + (0..self.width).map(of_pages).sum::<f64>()
    }

    /// The same, of lines alone.
    #[must_use]
    pub fn line_cost(&self, placed: impl Iterator<Item = (u32, u64)> + Clone) -> f64 {
        let shift = self.line_bytes.trailing_zeros();
        let of_lines = |group| {
            let mut lines = Gathered::default();
            self.fetch(placed.clone(), |number, first, last| {
                lines.fetch_lines(shift, first, last, self.costs_of(number, group)(0));
            });
            lines.sum()
        };
        (0..self.width).map(of_lines).sum()
    }

    /// Calls back with the number and the first and last address of each span of some sections that
    /// begin at these addresses.
    #[inline(always)]
    fn fetch(
        &self,
        placed: impl Iterator<Item = (u32, u64)>,
        mut fetch: impl FnMut(usize, u64, u64),
    ) {
        for (section, start) in placed {
            for number in self.of[section as usize].clone() {
                let span = self.spans[number];
                let (first, end) = (start + u64::from(span.start), start + u64::from(span.end));
                fetch(number, first, end - 1);
            }
        }
    }

    /// What fetching a span costs, in a group of lanes, by unit.
    #[inline(always)]
    fn costs_of<'a>(&'a self, span: usize, group: usize) -> impl Fn(usize) -> &'a Lanes {
        let first = UNITS * self.width * span + group;
        move |unit| &self.costs[first + unit * self.width]
    }

    /// What fetching costs the average workload, the untraced one included, when the sections begin
    /// at these addresses: parts of its cycles.
    #[must_use]
    pub fn mean_cost(&self, starts: &[u64]) -> f64 {
        let known = (0..starts.len()).filter(|section| self.is_known(*section as u32));
        let mut placed: Vec<_> = known
            .map(|section| (section as u32, starts[section]))
            .collect();
        placed.sort_unstable_by_key(|(_, start)| *start);
        // The untraced one weighs as much as all others.
        self.cost(placed.iter().copied()) / (2 * self.workloads) as f64
    }
}

/// What is supposed of functions that no workload executes.
struct Unknown {
    /// By section: how probable it is that another workload executes it, times how many traced
    /// workloads there are.
    weights: Vec<f32>,
    /// What fetching a function costs that a single workload executes, by line, small and large page.
    costs: [f32; UNITS],
    /// By part of a function: how much of it is executed when the function is.
    parts: [f32; PARTS.len()],
}

impl Unknown {
    fn new(text: &Text, fetched: &[HashMap<u32, Vec<Fetched>>]) -> Self {
        let mut users = vec![0_u32; text.sections().len()];
        for section in fetched.iter().flat_map(HashMap::keys) {
            users[*section as usize] += 1;
        }
        let mut weights = vec![0.0; text.sections().len()];
        for group in text.groups() {
            let used_by = |count| {
                group
                    .iter()
                    .filter(|one| users[**one as usize] == count)
                    .count()
            };
            let (alone, unused) = (used_by(1) as f32, used_by(0) as f32);
            // What the average workload executes alone, of what the others do not execute.
            let unknown = unused + alone / fetched.len().max(1) as f32;
            for section in group {
                weights[*section as usize] = alone / unknown.max(1.0);
            }
        }
        let mut costs = [0.0; UNITS];
        let mut alone = 0;
        let mut parts = [(0.0, 0_u32); PARTS.len()];
        let mut all: Vec<_> = fetched.iter().flatten().collect();
        all.sort_by_key(|(section, _)| **section); // sums depend on the order
        for (section, blocks) in all {
            let most: [f32; UNITS] = std::array::from_fn(|unit| {
                let costs = blocks.iter().map(|block| block.costs[unit]);
                costs.fold(0.0, f32::max)
            });
            if users[*section as usize] == 1 {
                alone += 1;
                for (sum, most) in costs.iter_mut().zip(most) {
                    *sum += most;
                }
            }
            let size = text.sections()[*section as usize].size;
            let mut start = 0;
            for (sum, end) in parts.iter_mut().zip(PARTS) {
                while start < end.min(size) {
                    let next = (start + PIECE).min(end).min(size);
                    let inside = blocks.iter().filter(|block| {
                        u64::from(block.start) < next && start < u64::from(block.end)
                    });
                    let part = inside.map(|block| block.costs[0]).fold(0.0, f32::max);
                    sum.0 += part / most[0].max(f32::MIN_POSITIVE);
                    sum.1 += 1;
                    start = next;
                }
            }
        }
        Self {
            weights,
            costs: costs.map(|sum| sum / alone.max(1) as f32),
            parts: parts.map(|(sum, count)| sum / count.max(1) as f32),
        }
    }

    fn costs(&self, section: usize, part: usize) -> [f32; UNITS] {
        self.costs
            .map(|cost| cost * self.weights[section] * self.parts[part])
    }
}
