// SPDX-License-Identifier: GPL-2.0-or-later
//! Repairs counts, so that as much flows out of every block as into it.
//!
//! The counts change as little as possible: the changes are a circulation of least cost (Levin,
//! Newman and Haber, "Complementing missing and inaccurate profiling using a minimum cost
//! circulation algorithm", `HiPEAC` 2008). Exact counts are nearly a flow: tasks that are switched
//! away from, killed or begun inside of a function, and the ends of the measurement, break it.

use super::control_flow::Graph;
use super::network::Network;

/// Costs of raising a count by one. What only follows from other counts is the cheapest; what was
/// never seen stays so, and functions are neither entered nor left in the middle, without need.
const FALL: i64 = 1;
const BRANCH: i64 = 2;
const NEVER_SEEN: i64 = 8;
const ORDINARY_END: i64 = 2;
const MIDDLE_END: i64 = 16;
/// Cost of lowering one: what was seen has happened.
const LOWERING: i64 = 64;

/// More than any count.
const ENDLESS: u64 = 1 << 62;

/// A count, and the arcs that raise and lower it.
struct Changes {
    raising: usize,
    lowering: usize,
}

impl Changes {
    /// from, to: the nodes that the count's flow goes from and to. cost: of raising it.
    fn new(network: &mut Network, from: usize, to: usize, count: u64, cost: i64) -> Self {
        Self {
            raising: network.add(from, to, ENDLESS, cost),
            lowering: network.add(to, from, count, LOWERING),
        }
    }

    fn apply(&self, network: &Network, count: &mut u64) {
        *count = *count + network.flow(self.raising) - network.flow(self.lowering);
    }
}

/// Makes a graph's counts a flow. The counts of blocks become what flows through them.
pub fn repair(graph: &mut Graph) {
    let (inflow, outflow) = (graph.inflow(), graph.outflow());
    if inflow != outflow {
        balance(graph, &inflow, &outflow);
    }
    graph.counts = graph.inflow();
}

fn balance(graph: &mut Graph, inflow: &[u64], outflow: &[u64]) {
    let blocks = inflow.len();
    let (outside, source, sink) = (blocks, blocks + 1, blocks + 2);
    let mut network = Network::new(blocks + 3);
    let mut edges = Vec::new();
    for edge in &graph.edges {
        let cost = match (edge.count, edge.falls) {
            (0, _) => NEVER_SEEN,
            (_, true) => FALL,
            (_, false) => BRANCH,
        };
        edges.push(Changes::new(
            &mut network,
            edge.from,
            edge.to,
            edge.count,
            cost,
        ));
    }
    let (mut entering, mut leaving) = (Vec::new(), Vec::new());
    for block in 0..blocks {
        let cost = |ordinary| if ordinary { ORDINARY_END } else { MIDDLE_END };
        let (enter, leave) = (cost(block == 0), cost(graph.may_leave[block]));
        let (entered, left) = (graph.entered[block], graph.left[block]);
        entering.push(Changes::new(&mut network, outside, block, entered, enter));
        leaving.push(Changes::new(&mut network, block, outside, left, leave));
    }
    let total = |ends: &[u64]| ends.iter().sum::<u64>();
    // What flows to elsewhere comes from there.
    let ends = (total(&graph.left), total(&graph.entered));
    let flows = inflow.iter().copied().zip(outflow.iter().copied());
    for (node, (inflow, outflow)) in flows.chain([ends]).enumerate() {
        network.add(source, node, inflow.saturating_sub(outflow), 0);
        network.add(node, sink, outflow.saturating_sub(inflow), 0);
    }
    network.send(source, sink);
    for (edge, changes) in graph.edges.iter_mut().zip(&edges) {
        changes.apply(&network, &mut edge.count);
    }
    for (block, (enters, leaves)) in entering.iter().zip(&leaving).enumerate() {
        enters.apply(&network, &mut graph.entered[block]);
        leaves.apply(&network, &mut graph.left[block]);
    }
}
