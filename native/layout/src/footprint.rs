// SPDX-License-Identifier: GPL-2.0-or-later
//! What workloads fetch of each section, and what that costs by where the section begins.
//!
//! How often a part of a section is fetched anew (`epochs.rs`) hardly depends on the layout. How
//! many lines it takes up does: on where it begins, and on what it shares its lines with.

use std::collections::HashMap;
use std::ops::Range;

use kernsmith_frontend::CpuModel;

use super::epochs::{Fetched, by_section};
use super::parallel::in_parallel;
use super::{Replay, Text};

/// Costs of this many workloads lie together.
const LANES: usize = 16;

/// One cost a workload.
type Lanes = [f32; LANES];

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
    page_bytes: u64,
    /// Those that were traced.
    workloads: usize,
    /// Groups of lanes that hold one cost for each workload, and one for the untraced one.
    width: usize,
    /// By section: its spans.
    of: Vec<Range<usize>>,
    spans: Vec<Span>,
    /// By span: `width` groups of lanes, what fetching its line costs; and as many, its page.
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
            page_bytes: model.page_bytes as u64,
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
            let mut costs = vec![[0.0_f32; LANES]; 2 * self.width];
            for (lane, block) in blocks {
                if block.start <= pair[0] && pair[1] <= block.end {
                    for (level, cost) in block.costs.iter().enumerate() {
                        let place = level * self.width + lane / LANES;
                        let known = &mut costs[place][lane % LANES];
                        *known = known.max(*cost);
                    }
                }
            }
            for level in 0..2 {
                let groups = &mut costs[level * self.width..(level + 1) * self.width];
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
                let mut costs = vec![[0.0_f32; LANES]; 2 * self.width];
                for (level, cost) in unknown.costs(section, part).into_iter().enumerate() {
                    costs[level * self.width + untraced / LANES][untraced % LANES] = cost;
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

    /// Bytes of a page, which is the largest thing of which parts are fetched together.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Whether a workload executes the section, or may.
    fn is_known(&self, section: u32) -> bool {
        !self.of[section as usize].is_empty()
    }

    /// What fetching some sections costs that begin at these addresses, which rise.
    #[must_use]
    pub fn cost(&self, placed: impl Iterator<Item = (u32, u64)> + Clone) -> f64 {
        let groups = 0..self.width;
        groups
            .map(|group| self.cost_in(group, placed.clone()))
            .sum()
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

    /// The same, of one group of lanes.
    fn cost_in(&self, group: usize, placed: impl Iterator<Item = (u32, u64)>) -> f64 {
        let mut lines = Gathered::new(self.line_bytes);
        let mut pages = Gathered::new(self.page_bytes);
        for (section, start) in placed {
            for number in self.of[section as usize].clone() {
                let span = self.spans[number];
                let (first, end) = (start + u64::from(span.start), start + u64::from(span.end));
                let costs = 2 * self.width * number + group;
                lines.fetch(first, end - 1, &self.costs[costs]);
                pages.fetch(first, end - 1, &self.costs[costs + self.width]);
            }
        }
        lines.sum() + pages.sum()
    }
}

/// Lines or pages that are fetched, in the order of their addresses.
struct Gathered {
    shift: u32,
    current: u64,
    /// Of the current one, by workload: the dearest of what lies in it.
    dearest: Lanes,
    whole: Lanes,
}

impl Gathered {
    fn new(bytes: u64) -> Self {
        Self {
            shift: bytes.trailing_zeros(),
            current: 0,
            dearest: [0.0; LANES],
            whole: [0.0; LANES],
        }
    }

    #[inline(always)]
    fn fetch(&mut self, first: u64, last: u64, costs: &Lanes) {
        let (first, last) = (first >> self.shift, last >> self.shift);
        if first != self.current {
            self.leave(first);
        }
        self.raise(costs);
        if last != first {
            self.leave(last);
            let between = (last - first - 1) as f32;
            for (sum, cost) in self.whole.iter_mut().zip(costs) {
                *sum += between * cost;
            }
            self.raise(costs);
        }
    }

    #[inline(always)]
    fn raise(&mut self, costs: &Lanes) {
        for (most, cost) in self.dearest.iter_mut().zip(costs) {
            *most = if *cost > *most { *cost } else { *most };
        }
    }

    #[inline(always)]
    fn leave(&mut self, next: u64) {
        for (sum, most) in self.whole.iter_mut().zip(&mut self.dearest) {
            *sum += *most;
            *most = 0.0;
        }
        self.current = next;
    }

    fn sum(mut self) -> f64 {
        self.leave(0);
        self.whole.iter().map(|sum| f64::from(*sum)).sum()
    }
}

/// What is supposed of functions that no workload executes.
struct Unknown {
    /// By section: how probable it is that another workload executes it, times how many traced
    /// workloads there are.
    weights: Vec<f32>,
    /// What fetching a function costs that a single workload executes, by line and by page.
    costs: [f32; 2],
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
        let mut costs = [0.0; 2];
        let mut alone = 0;
        let mut parts = [(0.0, 0_u32); PARTS.len()];
        let mut all: Vec<_> = fetched.iter().flatten().collect();
        all.sort_by_key(|(section, _)| **section); // sums depend on the order
        for (section, blocks) in all {
            let most = [0, 1].map(|level| {
                let costs = blocks.iter().map(|block| block.costs[level]);
                costs.fold(0.0, f32::max)
            });
            if users[*section as usize] == 1 {
                alone += 1;
                costs[0] += most[0];
                costs[1] += most[1];
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

    fn costs(&self, section: usize, part: usize) -> [f32; 2] {
        self.costs
            .map(|cost| cost * self.weights[section] * self.parts[part])
    }
}
