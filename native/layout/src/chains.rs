// SPDX-License-Identifier: GPL-2.0-or-later
//! Algorithms that join functions to chains, and sort the chains by their density.

use super::graph::{Call, Graph};

/// Largest cluster of C3: a huge page, as in hfsort.
const C3_LARGEST: u64 = 2 << 20;

/// C3 joins no cluster to another that gets this many times less dense by it.
const C3_THINNEST: f64 = 8.0;

/// Parameters of CDSort, with LLVM's values: functions in a chain, entries and bytes of the
/// cache that it supposes, and the weights of distance and frequency.
const CD_LONGEST: usize = 128;
const CD_ENTRIES: f64 = 16.0;
const CD_BYTES: f64 = 2048.0;
const CD_DISTANCE_POWER: f64 = 0.25;
const CD_FREQUENCY_SCALE: f64 = 0.25;

/// Functions that stay together.
#[derive(Debug, Clone, Default)]
struct Chain {
    nodes: Vec<usize>,
    size: u64,
    weight: f64,
}

impl Chain {
    fn density(&self) -> f64 {
        self.weight / self.size.max(1) as f64
    }
}

/// Chains, at first of one function each.
struct Chains<'a> {
    graph: &'a Graph,
    all: Vec<Chain>,
    of: Vec<usize>,
}

impl<'a> Chains<'a> {
    fn new(graph: &'a Graph) -> Self {
        let nodes = graph.nodes.iter().enumerate();
        let chain = |(number, node): (usize, &super::graph::Node)| Chain {
            nodes: vec![number],
            size: node.size,
            weight: node.weight,
        };
        Self {
            graph,
            all: nodes.map(chain).collect(),
            of: (0..graph.nodes.len()).collect(),
        }
    }

    /// Puts the chain `second` behind the chain `first`, with their functions in this order.
    fn join(&mut self, first: usize, second: usize, nodes: Vec<usize>) {
        let joined = std::mem::take(&mut self.all[second]);
        for node in &joined.nodes {
            self.of[*node] = first;
        }
        let chain = &mut self.all[first];
        chain.size += joined.size;
        chain.weight += joined.weight;
        chain.nodes = nodes;
    }

    fn concatenated(&self, first: usize, second: usize) -> Vec<usize> {
        [&self.all[first].nodes[..], &self.all[second].nodes[..]].concat()
    }

    /// The densest chain first.
    fn sorted(mut self) -> Vec<usize> {
        self.all.sort_by(|a, b| b.density().total_cmp(&a.density()));
        self.all.into_iter().flat_map(|chain| chain.nodes).collect()
    }

    /// Where each function of `nodes` begins, from the beginning of the first.
    fn offsets(&self, nodes: &[usize]) -> std::collections::HashMap<usize, f64> {
        let mut offset = 0.0;
        let place = |node: &usize| {
            let place = (*node, offset);
            offset += self.graph.nodes[*node].size as f64;
            place
        };
        nodes.iter().map(place).collect()
    }
}

/// Joins chains over the heaviest edges, none longer than `largest` bytes.
pub fn pettis_hansen(graph: &Graph, largest: u64) -> Vec<usize> {
    let mut edges = std::collections::BTreeMap::new();
    for call in graph.calls.iter().filter(|call| call.from != call.to) {
        let ends = (call.from.min(call.to), call.from.max(call.to));
        *edges.entry(ends).or_insert(0.0) += call.weight;
    }
    let mut edges: Vec<_> = edges.into_iter().collect();
    edges.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut chains = Chains::new(graph);
    for ((one, other), _) in edges {
        let (first, second) = (chains.of[one], chains.of[other]);
        if first == second || chains.all[first].size + chains.all[second].size > largest {
            continue;
        }
        let nodes = closest(&chains, (first, one), (second, other));
        chains.join(first, second, nodes);
    }
    chains.sorted()
}

/// Of the four ways to put two chains together, the one with the two functions closest.
fn closest(chains: &Chains, one: (usize, usize), other: (usize, usize)) -> Vec<usize> {
    let turned = |chain: usize, turn: bool| {
        let mut nodes = chains.all[chain].nodes.clone();
        if turn {
            nodes.reverse();
        }
        nodes
    };
    let ways = [(false, false), (false, true), (true, false), (true, true)];
    let joined = ways.map(|(turn_one, turn_other)| {
        let nodes = [turned(one.0, turn_one), turned(other.0, turn_other)].concat();
        let offsets = chains.offsets(&nodes);
        let between = (offsets[&one.1] - offsets[&other.1]).abs();
        (between, nodes)
    });
    let best = joined.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, nodes)| nodes).unwrap_or_default()
}

/// C3: each function, the hottest first, goes behind the cluster of its likeliest caller.
pub fn call_chain_clustering(graph: &Graph) -> Vec<usize> {
    let mut callers: Vec<Option<&Call>> = vec![None; graph.nodes.len()];
    for call in graph.calls.iter().filter(|call| call.from != call.to) {
        let known = &mut callers[call.to];
        if known.is_none_or(|known| call.weight > known.weight) {
            *known = Some(call);
        }
    }
    let mut chains = Chains::new(graph);
    for node in graph.by(|node| node.weight) {
        let Some(call) = callers[node] else {
            continue;
        };
        let (first, second) = (chains.of[call.from], chains.of[node]);
        if first == second {
            continue;
        }
        let (caller, callee) = (&chains.all[first], &chains.all[second]);
        let size = caller.size + callee.size;
        let density = (caller.weight + callee.weight) / size.max(1) as f64;
        if size > C3_LARGEST || caller.density() > C3_THINNEST * density {
            continue;
        }
        let nodes = chains.concatenated(first, second);
        chains.join(first, second, nodes);
    }
    chains.sorted()
}

/// CDSort: joins the two chains that gain most by it, until none gain.
pub fn cache_directed(graph: &Graph) -> Vec<usize> {
    let mut chains = Chains::new(graph);
    let total: f64 = graph.nodes.iter().map(|node| node.weight).sum();
    let mut between = calls_between(graph);
    let mut gains: std::collections::BTreeMap<(usize, usize), (f64, bool)> = between
        .keys()
        .map(|pair| (*pair, gain(&chains, *pair, &between, total)))
        .collect();
    loop {
        let best = gains.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let Some((&(one, other), &(best, turned))) = best else {
            break;
        };
        if best <= 0.0 {
            break;
        }
        let (front, back) = if turned { (other, one) } else { (one, other) };
        let nodes = chains.concatenated(front, back);
        chains.join(one, other, nodes);
        gains.remove(&(one, other));
        between.remove(&(one, other));
        // The neighbours of both chains are the joined one's.
        let touched: Vec<_> = between
            .keys()
            .filter(|(a, b)| [one, other].iter().any(|chain| chain == a || chain == b))
            .copied()
            .collect();
        for pair in touched {
            let calls = between.remove(&pair).unwrap_or_default();
            gains.remove(&pair);
            let neighbour = if pair.0 == one || pair.0 == other {
                pair.1
            } else {
                pair.0
            };
            let key = (one.min(neighbour), one.max(neighbour));
            between.entry(key).or_default().extend(calls);
        }
        let renewed: Vec<_> = between
            .keys()
            .filter(|(a, b)| *a == one || *b == one)
            .copied()
            .collect();
        for pair in renewed {
            gains.insert(pair, gain(&chains, pair, &between, total));
        }
    }
    chains.sorted()
}

/// Calls by the pair of functions, the lower number first.
fn calls_between(graph: &Graph) -> std::collections::BTreeMap<(usize, usize), Vec<Call>> {
    let mut between = std::collections::BTreeMap::<_, Vec<Call>>::new();
    for call in graph.calls.iter().filter(|call| call.from != call.to) {
        let pair = (call.from.min(call.to), call.from.max(call.to));
        between.entry(pair).or_default().push(*call);
    }
    between
}

/// What joining two chains gains, and whether the second should come first.
fn gain(
    chains: &Chains,
    pair: (usize, usize),
    between: &std::collections::BTreeMap<(usize, usize), Vec<Call>>,
    total: f64,
) -> (f64, bool) {
    let (one, other) = (&chains.all[pair.0], &chains.all[pair.1]);
    if one.nodes.len() + other.nodes.len() > CD_LONGEST {
        return (0.0, false);
    }
    let Some(calls) = between.get(&pair) else {
        return (0.0, false);
    };
    // Code of this density misses the supposed cache with this probability.
    let missed = |density: f64| {
        let share = density * CD_BYTES / total.max(f64::MIN_POSITIVE);
        (1.0 - share.min(1.0)).powf(CD_ENTRIES)
    };
    let together = (one.weight + other.weight) / (one.size + other.size).max(1) as f64;
    let before = one.weight * missed(one.density()) + other.weight * missed(other.density());
    let frequency = before - (one.weight + other.weight) * missed(together);
    let distance = |nodes: &[usize]| -> f64 {
        let offsets = chains.offsets(nodes);
        let near = |call: &Call| {
            let site = offsets[&call.from] + call.offset / call.weight;
            let between = (site - offsets[&call.to]).abs().max(1.0);
            call.weight * between.powf(-CD_DISTANCE_POWER)
        };
        calls.iter().map(near).sum()
    };
    let straight = distance(&chains.concatenated(pair.0, pair.1));
    let turned = distance(&chains.concatenated(pair.1, pair.0));
    let scaled = straight.max(turned) + CD_FREQUENCY_SCALE * frequency;
    // Weighed by the size, so that small chains are joined first.
    let sizes = (one.size.min(other.size)).max(1) as f64;
    (scaled / sizes, turned > straight)
}
