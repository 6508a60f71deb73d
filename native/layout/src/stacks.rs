// SPDX-License-Identifier: GPL-2.0-or-later
//! What each stack of functions costs: the figures of a flame graph (B. Gregg, "The Flame Graph",
//! Communications of the ACM 59 (6), 2016), of all that was executed, without sampling.

use std::collections::HashMap;

use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_trace::Trace;

use super::call_stack::CallStack;
use super::contexts::{Numbers, ROOT, pair};
use super::watch::Watch;

/// No function, or nothing below it.
pub const NONE: u32 = u32::MAX;

/// Costs that are kept apart at most; of more stacks than this, the cost is that of a stack of the
/// function alone.
const MOST: usize = 1 << 18;

/// Functions of the source, with those that are inlined in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    /// Of each frame the one that it is inlined in, or [`NONE`], and its function's number.
    pub all: Vec<(u32, u32)>,
    /// The innermost frame of each part of the code.
    pub of_part: Vec<u32>,
}

/// A function in a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackNode {
    /// The place of the one that it was called or inlined in, which comes before it; or [`NONE`].
    pub parent: u32,
    /// The function's number.
    pub function: u32,
    /// What was spent in it, but not below it.
    pub own: Counters,
}

/// What the stacks of a region cost in kernel mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    pub nodes: Vec<StackNode>,
    /// The same by part of the code.
    pub parts: Vec<Counters>,
    /// Stacks that were apart.
    pub stacks: usize,
    /// How many returns there were, and how many of them led to no call that was known to be open.
    pub returns: [u64; 2],
    /// How many switches of threads there were, and after how many of them more than one thread may
    /// have gone on.
    pub switches: [u64; 2],
}

/// Watches a run: counters are those of stacks. The part 0 is user mode, which has none.
#[derive(Debug)]
pub struct Stacks<'a> {
    stack: CallStack<'a>,
    known: Numbers,
    /// By slot: context and part. The first is that of user mode.
    slots: Vec<(u32, u32)>,
    /// The slot that was asked for last.
    last: (u32, u32, u32),
}

impl<'a> Stacks<'a> {
    /// switches: addresses of the code that changes from one thread's stack to another's.
    #[must_use]
    pub fn new(trace: &'a Trace, switches: &[u64]) -> Self {
        Self {
            stack: CallStack::new(trace, switches),
            known: Numbers::new(),
            slots: vec![(ROOT, 0)],
            last: (ROOT, 0, 0),
        }
    }

    #[inline(never)]
    fn slot_of(&mut self, context: u32, part: u32) -> u32 {
        let key = pair(context, part);
        if let Some(known) = self.known.get(key) {
            return known;
        }
        if self.slots.len() >= MOST && context != ROOT {
            return self.slot_of(ROOT, part);
        }
        let number = self.slots.len() as u32;
        self.slots.push((context, part));
        self.known.put(key, number);
        number
    }

    /// The figures by stack.
    ///
    /// counters: by slot. callers: of each block the part that its last instruction is in.
    #[must_use]
    pub fn fold(&self, counters: &[Counters], callers: &[usize], frames: &Frames) -> Folded {
        let mut tree = Tree::default();
        let mut bases = vec![NONE];
        for (parent, caller) in self.stack.contexts.callers() {
            let base = caller.map_or(NONE, |block| {
                let frame = frames.of_part[callers[block as usize]];
                tree.below(bases[parent as usize], frame, frames)
            });
            bases.push(base);
        }
        let mut parts = vec![Counters::default(); frames.of_part.len()];
        for ((context, part), own) in self.slots.iter().zip(counters).skip(1) {
            let part = *part as usize;
            parts[part] = parts[part] + *own;
            let node = tree.below(bases[*context as usize], frames.of_part[part], frames);
            if let Some(node) = tree.nodes.get_mut(node as usize) {
                node.own = node.own + *own;
            }
        }
        parts[0] = counters.first().copied().unwrap_or_default();
        Folded {
            nodes: tree.nodes,
            parts,
            stacks: self.slots.len() - 1,
            returns: self.stack.returns,
            switches: self.stack.switched,
        }
    }
}

impl Watch for Stacks<'_> {
    fn begin(&mut self) {
        self.stack.begin();
    }

    fn interrupted(&mut self, led: Option<u64>) {
        self.stack.interrupted(led);
    }

    #[inline(always)]
    fn slot(&mut self, number: u32, part: u32) -> u32 {
        self.stack.enter(number);
        if part == 0 {
            return 0;
        }
        let context = self.stack.current;
        if (self.last.0, self.last.1) != (context, part) {
            self.last = (context, part, self.slot_of(context, part));
        }
        self.last.2
    }
}

/// Functions below each other, each once.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<StackNode>,
    known: HashMap<(u32, u32), u32>,
}

impl Tree {
    /// The node of a frame below a node, with all that the frame is inlined in between.
    fn below(&mut self, node: u32, frame: u32, frames: &Frames) -> u32 {
        let Some((outer, function)) = frames.all.get(frame as usize).copied() else {
            return node;
        };
        let parent = self.below(node, outer, frames);
        let next = self.nodes.len() as u32;
        let found = *self.known.entry((parent, function)).or_insert(next);
        if found == next {
            self.nodes.push(StackNode {
                parent,
                function,
                own: Counters::default(),
            });
        }
        found
    }
}

impl Folded {
    /// Only nodes that take a share of all cycles together with what is below them; what the others
    /// cost is that of the nodes that they are below.
    #[must_use]
    pub fn pruned(&self, model: &CpuModel, share: f64) -> Self {
        let mut cycles: Vec<f64> = self.nodes.iter().map(|one| one.own.cycles(model)).collect();
        let least = cycles.iter().sum::<f64>() * share;
        for (number, node) in self.nodes.iter().enumerate().rev() {
            if node.parent != NONE {
                cycles[node.parent as usize] += cycles[number];
            }
        }
        let mut places = vec![NONE; self.nodes.len()];
        let mut nodes: Vec<StackNode> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let parent = places.get(node.parent as usize).copied().unwrap_or(NONE);
            if node.parent == NONE || cycles[number] >= least {
                places[number] = nodes.len() as u32;
                nodes.push(StackNode { parent, ..*node });
            } else {
                places[number] = parent;
                let kept = &mut nodes[parent as usize];
                kept.own = kept.own + node.own;
            }
        }
        Self {
            nodes,
            parts: self.parts.clone(),
            ..*self
        }
    }
}
