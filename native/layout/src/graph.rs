// SPDX-License-Identifier: GPL-2.0-or-later
//! How execution goes from function to function.

use std::collections::HashMap;

use kernsmith_trace::{Event, Kind};

use super::Text;
use super::replay::{FIXED, Replay};

/// One function: a section that may move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Its number in the text.
    pub section: u32,
    /// Bytes that it takes up, with padding.
    pub size: u64,
    /// Executed blocks; each trace weighs the same.
    pub weight: f64,
}

/// A call, or a jump from one function to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Nodes.
    pub from: usize,
    pub to: usize,
    /// Bytes from the caller's beginning to the call, summed over `weight`.
    pub offset: f64,
    pub weight: f64,
}

/// Executed functions, and what goes on between them.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// Calls, tail calls included, returns not.
    pub calls: Vec<Call>,
}

impl Graph {
    /// Of the regions of some traces, over the sections in `movable`.
    #[must_use]
    pub fn new(text: &Text, replays: &[&Replay], movable: &[u32]) -> Self {
        let mut nodes = vec![usize::MAX; text.sections().len()];
        let mut graph = Self::default();
        for section in movable {
            let Some(place) = nodes.get_mut(*section as usize) else {
                continue;
            };
            if *place == usize::MAX {
                *place = graph.nodes.len();
                let shape = text.sections()[*section as usize];
                graph.nodes.push(Node {
                    section: *section,
                    size: shape.size.max(1).next_multiple_of(shape.align),
                    weight: 0.0,
                });
            }
        }
        let mut calls = HashMap::new();
        for replay in replays {
            graph.count(replay, text, &nodes, &mut calls);
        }
        graph.calls = calls
            .into_iter()
            .map(|((from, to), (weight, offset))| Call {
                from,
                to,
                offset,
                weight,
            })
            .collect();
        // Sums of floating-point numbers and ties depend on the order: this one is always the same.
        graph.calls.sort_by_key(|call| (call.from, call.to));
        graph
    }

    fn count(
        &mut self,
        replay: &Replay,
        text: &Text,
        nodes: &[usize],
        calls: &mut HashMap<(usize, usize), (f64, f64)>,
    ) {
        let trace = replay.trace();
        let node = |block: u32| match replay.section(block) {
            FIXED => usize::MAX,
            section => nodes[section as usize],
        };
        let mut entered = vec![0_u64; trace.blocks.len()];
        let mut led = HashMap::<(u32, usize), u64>::new();
        let mut previous = None;
        for step in trace.events() {
            match step {
                Event::Block(number) => {
                    entered[number as usize] += 1;
                    if let Some(before) = previous.replace(number) {
                        let kind = trace.blocks[before as usize].kind;
                        let calls = matches!(
                            kind,
                            Kind::Call | Kind::IndirectCall | Kind::Jump | Kind::IndirectJump
                        );
                        if calls && replay.section(before) != replay.section(number) {
                            *led.entry((before, node(number))).or_default() += 1;
                        }
                    }
                }
                Event::Begin => {
                    entered.fill(0);
                    led.clear();
                }
                Event::Cut | Event::Led(..) => previous = None,
            }
        }
        let whole: u64 = entered.iter().sum();
        let share = 1.0 / whole.max(1) as f64;
        for (block, count) in entered.iter().enumerate() {
            if let Some(node) = self.nodes.get_mut(node(block as u32)) {
                node.weight += *count as f64 * share;
            }
        }
        let mut led: Vec<_> = led.into_iter().collect();
        led.sort_unstable();
        for ((block, to), count) in led {
            let from = node(block);
            if from == usize::MAX || to == usize::MAX {
                continue;
            }
            let place = &trace.blocks[block as usize];
            let section = text.sections()[replay.section(block) as usize];
            let offset = place.start - section.start + u64::from(place.last_offset);
            let weight = count as f64 * share;
            let call = calls.entry((from, to)).or_default();
            call.0 += weight;
            call.1 += weight * offset as f64;
        }
    }

    /// The nodes that were executed, as sections in the order of `nodes`.
    #[must_use]
    pub fn sections(&self, nodes: &[usize]) -> Vec<u32> {
        let executed = nodes.iter().map(|node| &self.nodes[*node]);
        executed
            .filter(|node| node.weight > 0.0)
            .map(|node| node.section)
            .collect()
    }

    /// Nodes by falling `key`; equal ones keep their order.
    #[must_use]
    pub fn by(&self, key: impl Fn(&Node) -> f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by(|a, b| key(&self.nodes[*b]).total_cmp(&key(&self.nodes[*a])));
        order
    }
}
