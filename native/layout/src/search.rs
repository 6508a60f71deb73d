// SPDX-License-Identifier: GPL-2.0-or-later
//! A local search for a better order, driven by the replay itself.

use std::sync::Arc;

use kernsmith_frontend::CpuModel;

use super::parallel::in_parallel;
use super::random::SplitMix;
use super::{Footprints, Graph, Replay, Text};

/// Orders that are tried at once: a trace is decoded once for all of them.
const TRIED_AT_ONCE: usize = 8;

/// A move takes up to this many functions that follow each other.
const LONGEST_RUN: u64 = 24;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Orders to try.
    pub evaluations: usize,
    pub seed: u64,
    pub threads: usize,
    /// One of so many windows of each trace is replayed.
    pub every: usize,
}

/// Changes `order` as long as the traces get cheaper, and returns the best one. Only sections in
/// `movable` that the traces execute are moved, with what stands between them.
///
/// The cost is the geometric mean of the traces' kernel-mode cycles, and in addition what the
/// footprints tell, which is right wherever conflicts fall: without it a search trades lines for
/// conflicts that only these traces do not have. Each step tries some random moves of runs of
/// functions, and keeps the cheapest if it is cheaper than before. The same seed gives the same
/// result, whatever the number of threads. `progress` is called with the orders tried so far and
/// the cost relative to the beginning's; it may end the search by `false`.
pub fn search(
    text: &Text,
    replays: &[Arc<Replay>],
    model: &CpuModel,
    order: Vec<u32>,
    movable: &[u32],
    settings: Search,
    progress: &mut dyn FnMut(usize, f64) -> bool,
) -> Vec<u32> {
    let mut random = SplitMix::new(settings.seed);
    let executed = executed(text, replays, movable);
    let mut best = order;
    let borrowed: Vec<&Replay> = replays.iter().map(AsRef::as_ref).collect();
    let footprints = Footprints::new(text, &borrowed, model, settings.threads);
    let costs = |orders: &[Vec<u32>]| {
        let layouts: Vec<_> = orders.iter().map(|order| text.place(order)).collect();
        let by_trace = in_parallel(settings.threads, replays.len(), |number| {
            replays[number].cost(text, &layouts, model, settings.every)
        });
        let mean = |place: usize| {
            let costs = by_trace.iter().map(|costs| costs[place][1]);
            let logs = costs.map(|cost| cost.cycles(model).max(1.0).ln());
            let mean = logs.sum::<f64>() / by_trace.len().max(1) as f64;
            mean + footprints.mean_cost(&layouts[place])
        };
        (0..orders.len()).map(mean).collect::<Vec<f64>>()
    };
    let mut lowest = costs(std::slice::from_ref(&best))[0];
    let first = lowest;
    let mut tried = 1;
    while tried < settings.evaluations && executed.len() > 1 {
        let tries = (0..TRIED_AT_ONCE).map(|_| moved(&mut random, &best, &executed));
        let tries: Vec<_> = tries.collect();
        tried += tries.len();
        let found = costs(&tries).into_iter().zip(tries);
        if let Some((cost, order)) = found.min_by(|a, b| a.0.total_cmp(&b.0))
            && cost < lowest
        {
            lowest = cost;
            best = order;
        }
        if !progress(tried, (lowest - first).exp()) {
            break;
        }
    }
    best
}

/// A run of functions, the first of them an executed one, goes to another executed one, turned
/// round or not: short runs more often than long ones.
fn moved(random: &mut SplitMix, order: &[u32], executed: &[u32]) -> Vec<u32> {
    let [first, neighbour] = [(); 2].map(|()| executed[random.below(executed.len())]);
    let longest = random.next() % LONGEST_RUN + 1;
    let length = (random.next() % longest + 1) as usize;
    let place = |order: &[u32], section| order.iter().position(|one| *one == section);
    let from = place(order, first).unwrap_or(0);
    let mut rest = order.to_vec();
    let mut run: Vec<u32> = rest.drain(from..order.len().min(from + length)).collect();
    if random.next().is_multiple_of(4) {
        run.reverse();
    }
    let behind = random.below(2);
    let to = place(&rest, neighbour).map_or(from, |place| place + behind);
    rest.splice(to..to, run);
    rest
}

/// The sections of `movable` that the traces execute.
fn executed(text: &Text, replays: &[Arc<Replay>], movable: &[u32]) -> Vec<u32> {
    let replays: Vec<&Replay> = replays.iter().map(AsRef::as_ref).collect();
    let graph = Graph::new(text, &replays, movable);
    graph.sections(&(0..graph.nodes.len()).collect::<Vec<_>>())
}
