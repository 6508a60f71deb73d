// SPDX-License-Identifier: GPL-2.0-or-later
//! Orders that algorithms make of the calls between functions, and the search behind them.

mod invented;

use invented::random::Random;
use invented::{MODELS, NEAR, ring, shuffled, text, trace};
use kernsmith_frontend::CpuModel;
use kernsmith_layout::{Algorithm, Graph, Replay, Search, search};

#[test]
fn every_algorithm_puts_each_executed_function_once() {
    let mut random = Random::new(7);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 50_000, NEAR);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let movable: Vec<u32> = (0..60).collect();
    let graph = Graph::new(&text, &[&replay], &movable);
    for (name, algorithm) in Algorithm::ALL {
        let mut order = algorithm.order(&graph);
        assert!(!order.is_empty(), "{name}");
        order.sort_unstable();
        let found = order.len();
        order.dedup();
        assert_eq!(order.len(), found, "{name}");
        let executed = graph.nodes.iter().filter(|node| node.weight > 0.0).count();
        assert_eq!(found, executed, "{name}");
    }
}

#[test]
fn callees_follow_their_callers() {
    let (text, trace) = ring();
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let movable: Vec<u32> = (0..8).collect();
    let graph = Graph::new(&text, &[&replay], &movable);
    assert_eq!(graph.calls.len(), 4);
    for (name, algorithm) in Algorithm::ALL {
        let order = algorithm.order(&graph);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 2, 4, 6], "{name}");
    }
    // A ring is cut open at one place: three of four calls lead to what lies next.
    let order = Algorithm::C3.order(&graph);
    let followed = order.windows(2).filter(|pair| pair[1] == (pair[0] + 2) % 8);
    assert_eq!(followed.count(), 3, "{order:?}");
}

#[test]
fn the_search_makes_it_cheaper_and_does_not_depend_on_threads() {
    let mut random = Random::new(8);
    let text = text(&mut random, 400);
    let traces = [1, 2].map(|_| trace(&mut random, &text, 30_000, NEAR));
    let replays = traces.map(|trace| Replay::new(trace, &text).expect("as Linux maps it").into());
    let model = CpuModel::parse(MODELS[2]).expect("a shipped model");
    let start = shuffled(&mut random, 400);
    let cycles = |order: &[u32]| -> f64 {
        let layout = [text.place(order)];
        let cost = |replay: &std::sync::Arc<Replay>| replay.cost(&text, &layout, &model, 1)[0][1];
        replays
            .iter()
            .map(|one| cost(one).cycles(&model).ln())
            .sum()
    };
    let found = [1, 3].map(|threads| {
        let settings = Search {
            evaluations: 200,
            seed: 3,
            threads,
            every: 1,
        };
        let mut told = Vec::new();
        let mut listen = |tried, cost| {
            told.push((tried, cost));
            true
        };
        let order = search(
            &text,
            &replays,
            &model,
            start.clone(),
            &start,
            settings,
            &mut listen,
        );
        assert!(told.windows(2).all(|pair| pair[1].1 <= pair[0].1));
        order
    });
    assert_eq!(found[0], found[1]);
    assert!(cycles(&found[0]) < cycles(&start));
}
