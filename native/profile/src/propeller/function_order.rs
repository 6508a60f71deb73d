// SPDX-License-Identifier: GPL-2.0-or-later
//! The order of functions, by the layout lab's algorithms over counted calls.

use std::collections::BTreeMap;

use kernsmith_layout::{Algorithm, Call, Graph, Node};

use super::files::Laid;

/// What a function takes up in the hot text.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub bytes: u64,
    /// Executed blocks.
    pub weight: u64,
}

/// Puts functions in an order: those come close to each other that call each other often.
///
/// The layout lab has measured what its algorithms are worth on kernels (docs/layout.md): chains of
/// at most a page, by Pettis and Hansen's closest-is-best, are the best that needs no trace.
pub fn function_order(
    laid: &[Laid],
    rooms: &[Room],
    calls: &[super::control_flow::Call],
) -> Vec<usize> {
    let mut node_of = BTreeMap::new();
    let mut graph = Graph::default();
    for (number, (function, room)) in laid.iter().zip(rooms).enumerate() {
        node_of.insert(function.function, number);
        graph.nodes.push(Node {
            section: number as u32,
            size: room.bytes.max(1),
            weight: room.weight as f64,
        });
    }
    let mut sums = BTreeMap::<(usize, usize), (f64, f64)>::new();
    for call in calls.iter().filter(|call| call.from != call.to) {
        let (Some(&from), Some(&to)) = (node_of.get(&call.from), node_of.get(&call.to)) else {
            continue;
        };
        let Some(begin) = laid[from].place(call.block) else {
            continue;
        };
        let sum = sums.entry((from, to)).or_default();
        sum.0 += call.count as f64;
        sum.1 += call.count as f64 * (begin + call.offset) as f64;
    }
    graph.calls = sums
        .into_iter()
        .map(|((from, to), (weight, offset))| Call {
            from,
            to,
            offset,
            weight,
        })
        .collect();
    let order = Algorithm::PettisHansen.order(&graph);
    order.into_iter().map(|node| node as usize).collect()
}
