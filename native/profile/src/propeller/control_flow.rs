// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts on the blocks of functions, and on the ways between them.

use std::collections::BTreeMap;

use super::counts::{Counts, Executions, bounded};
use super::image::{Function, Image};

/// A way from one block to another of the same function: branches, and falling through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub count: u64,
    /// Whether execution gets there without a branch, too.
    pub falls: bool,
}

/// A function's blocks with how often they were executed.
///
/// What flows into a block by edges and from elsewhere (`entered`) should be what flows out of it
/// by edges and to elsewhere (`left`); after [`super::repair`] it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// By block.
    pub counts: Vec<u64>,
    /// By ends, each pair once. Every way to fall through is there, executed or not.
    pub edges: Vec<Edge>,
    /// By block: by a call of the function, or by an exception's landing in it.
    pub entered: Vec<u64>,
    /// By block: by returning, by a tail call, or for good.
    pub left: Vec<u64>,
    /// By block: whether a function is ordinarily left there.
    pub may_leave: Vec<bool>,
}

impl Graph {
    /// Whether anything of it was executed.
    #[must_use]
    pub fn is_executed(&self) -> bool {
        self.counts.iter().any(|count| *count > 0)
    }

    /// By block: what flows in.
    #[must_use]
    pub fn inflow(&self) -> Vec<u64> {
        let mut flow = self.entered.clone();
        for edge in &self.edges {
            flow[edge.to] += edge.count;
        }
        flow
    }

    /// By block: what flows out.
    #[must_use]
    pub fn outflow(&self) -> Vec<u64> {
        let mut flow = self.left.clone();
        for edge in &self.edges {
            flow[edge.from] += edge.count;
        }
        flow
    }

    /// jumps: how often branches were taken, by the blocks that they go from and to.
    fn measured(function: &Function, executed: &Executions, jumps: &Jumps) -> Self {
        let count = |block: &super::address_map::Block| executed.at(block.start);
        let counts: Vec<u64> = function.blocks.iter().map(count).collect();
        let edge = |(ends, count): (&(usize, usize), &u64)| (*ends, (*count, false));
        let mut edges: BTreeMap<(usize, usize), (u64, bool)> = jumps.iter().map(edge).collect();
        let mut rest = counts.clone();
        for ((_, to), (count, _)) in &edges {
            rest[*to] = rest[*to].saturating_sub(*count);
        }
        // Who did not come by a branch has fallen through, or returned from a call that stands at
        // the end of the block before.
        for block in 0..counts.len() {
            if let Some(next) = function.falls_into(block) {
                let edge = edges.entry((block, next)).or_default();
                edge.0 += std::mem::take(&mut rest[next]);
                edge.1 = true;
            }
        }
        let edge = |((from, to), (count, falls))| Edge {
            from,
            to,
            count,
            falls,
        };
        let mut graph = Self {
            counts,
            edges: edges.into_iter().map(edge).collect(),
            entered: rest,
            left: vec![0; function.blocks.len()],
            may_leave: (0..function.blocks.len())
                .map(|block| may_leave(function, block))
                .collect(),
        };
        let out = graph.outflow();
        for (block, out) in out.into_iter().enumerate() {
            if graph.may_leave[block] {
                graph.left[block] = graph.counts[block].saturating_sub(out);
            }
        }
        graph
    }
}

fn may_leave(function: &Function, block: usize) -> bool {
    let own = &function.blocks[block];
    own.has_return() || own.has_tail_call() || function.falls_into(block).is_none()
}

/// A call of a function, or a jump to its first byte from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Number of the calling function.
    pub from: usize,
    /// The block of it that the call stands in, and where in that, in bytes.
    pub block: usize,
    pub offset: u64,
    /// Number of the called function.
    pub to: usize,
    pub count: u64,
}

type Jumps = BTreeMap<(usize, usize), u64>;

/// All functions of an image with counts.
#[derive(Debug, Clone, Default)]
pub struct Graphs {
    /// By function.
    pub graphs: Vec<Graph>,
    pub calls: Vec<Call>,
}

impl Graphs {
    /// As measured; not repaired.
    #[must_use]
    pub fn new(image: &Image, counts: &Counts) -> Self {
        let places = Places::new(image);
        let mut jumps = vec![Jumps::new(); image.functions.len()];
        let mut calls = Vec::new();
        for &(source, target, count) in &counts.branches {
            let Some((from, block)) = places.at(source) else {
                continue;
            };
            let Some((to, goal)) = places.at(target) else {
                continue;
            };
            if image.functions[to].blocks[goal].start != target {
                continue; // a return to behind a call
            }
            if goal == 0 {
                calls.push(Call {
                    from,
                    block,
                    offset: source - image.functions[from].blocks[block].start,
                    to,
                    count: bounded(count),
                });
            } else if from == to {
                *jumps[from].entry((block, goal)).or_default() += bounded(count);
            }
        }
        let executed = Executions::new(&counts.ranges);
        let graphs = image.functions.iter().zip(&jumps);
        Self {
            graphs: graphs
                .map(|(function, jumps)| Graph::measured(function, &executed, jumps))
                .collect(),
            calls,
        }
    }
}

/// Blocks by address: start, end, function, block.
pub(super) struct Places(Vec<(u64, u64, usize, usize)>);

impl Places {
    pub(super) fn new(image: &Image) -> Self {
        let mut places = Vec::new();
        for (number, function) in image.functions.iter().enumerate() {
            let blocks = function.blocks.iter().enumerate();
            // An empty block begins where the next one does, and nothing is executed in it.
            let filled = blocks.filter(|(_, block)| block.size > 0);
            places.extend(filled.map(|(at, block)| (block.start, block.end(), number, at)));
        }
        places.sort_unstable();
        Self(places)
    }

    /// Function and block that an address lies in.
    pub(super) fn at(&self, address: u64) -> Option<(usize, usize)> {
        let at = self.0.partition_point(|place| place.0 <= address);
        let (_, end, function, block) = *self.0.get(at.checked_sub(1)?)?;
        (address < end).then_some((function, block))
    }
}
