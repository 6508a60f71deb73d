// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow of least cost through a network: successive shortest paths (Ahuja, Magnanti and Orlin,
//! "Network Flows", 1993, section 9.7), which are found by relaxing what has changed.

use std::collections::VecDeque;

/// What may flow from one node to another.
struct Arc {
    to: usize,
    room: u64,
    cost: i64,
}

/// Nodes and arcs; behind each arc stands the one that takes its flow back.
pub struct Network {
    arcs: Vec<Arc>,
    of: Vec<Vec<usize>>,
}

impl Network {
    /// A network without arcs.
    pub fn new(nodes: usize) -> Self {
        Self {
            arcs: Vec::new(),
            of: vec![Vec::new(); nodes],
        }
    }

    /// Adds an arc; costs are of a unit, and not negative. Returns its number.
    pub fn add(&mut self, from: usize, to: usize, room: u64, cost: i64) -> usize {
        let number = self.arcs.len();
        self.arcs.push(Arc { to, room, cost });
        self.of[from].push(number);
        self.arcs.push(Arc {
            to: from,
            room: 0,
            cost: -cost,
        });
        self.of[to].push(number + 1);
        number
    }

    /// What flows over an arc.
    pub fn flow(&self, number: usize) -> u64 {
        self.arcs[number + 1].room
    }

    /// Sends as much as possible from one node to another, as cheaply as possible.
    pub fn send(&mut self, source: usize, sink: usize) {
        while let Some(path) = self.cheapest(source, sink) {
            let room = path.iter().map(|arc| self.arcs[*arc].room).min();
            let amount = room.unwrap_or(0);
            for arc in path {
                self.arcs[arc].room -= amount;
                self.arcs[arc ^ 1].room += amount;
            }
        }
    }

    /// The arcs of the cheapest way, last to first.
    fn cheapest(&self, source: usize, sink: usize) -> Option<Vec<usize>> {
        let mut costs = vec![i64::MAX; self.of.len()];
        let mut by = vec![usize::MAX; self.of.len()];
        let mut waits = vec![false; self.of.len()];
        let mut queue = VecDeque::from([source]);
        costs[source] = 0;
        while let Some(node) = queue.pop_front() {
            waits[node] = false;
            for &number in &self.of[node] {
                let arc = &self.arcs[number];
                let cost = costs[node] + arc.cost;
                if arc.room > 0 && cost < costs[arc.to] {
                    costs[arc.to] = cost;
                    by[arc.to] = number;
                    if !std::mem::replace(&mut waits[arc.to], true) {
                        queue.push_back(arc.to);
                    }
                }
            }
        }
        if costs[sink] == i64::MAX {
            return None;
        }
        let mut path = Vec::new();
        let mut node = sink;
        while node != source {
            path.push(by[node]);
            node = self.arcs[by[node] ^ 1].to;
        }
        Some(path)
    }
}
