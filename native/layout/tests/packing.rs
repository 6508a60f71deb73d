// SPDX-License-Identifier: GPL-2.0-or-later
//! Footprints, and orders in which executed code takes up few lines and pages.

mod invented;

use invented::random::Random;
use invented::{MODELS, fetching, long_ring};
use kernsmith_frontend::CpuModel;
use kernsmith_layout::{Footprints, Replay, Zone, pack};

#[test]
fn where_nothing_is_fetched_twice_a_footprint_tells_what_fetching_costs() {
    let models = MODELS.map(|model| CpuModel::parse(model).expect("a shipped model"));
    // Where prediction runs ahead of fetch, most of it costs nothing: a footprint is no time there.
    for model in models.iter().filter(|model| model.decoupled.is_none()) {
        let (text, trace) = long_ring(&mut Random::new(9), model);
        let replay = Replay::new(trace, &text).expect("as Linux maps it");
        let footprints = Footprints::new(&text, &[&replay], model, 1);
        let cycles = replay.cost(&text, &[text.place(&[])], model, 1)[0][1].cycles(model);
        for run in [1, 2, 5] {
            // Runs of functions turned round: they begin elsewhere in a line, but not far away.
            let numbers: Vec<u32> = (0..text.sections().len() as u32).collect();
            let order = numbers
                .chunks(run)
                .flat_map(|run| run.iter().rev().copied());
            let order: Vec<u32> = order.collect();
            let starts = text.place(&order);
            let mut placed: Vec<_> = (0..).zip(starts.iter().copied()).collect();
            placed.sort_unstable_by_key(|(_, start)| *start);
            // The untraced workload is the only traced one again.
            let told = footprints.cost(placed.into_iter()) / 2.0 * cycles;
            let counted = replay.cost(&text, &[starts], model, 1)[0][1];
            let ratio = told / fetching(counted, model);
            assert!((ratio - 1.0).abs() < 0.03, "{}: {ratio}", model.name);
        }
    }
}

#[test]
fn packing_keeps_the_zones_and_fetches_less() {
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let (text, trace) = long_ring(&mut Random::new(10), &model);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let footprints = Footprints::new(&text, &[&replay], &model, 1);
    let count = text.sections().len() as u32;
    let zone = |sections| Zone {
        sections,
        reach: 8,
        tries: 30,
    };
    let zones = [
        zone((count / 2 + 100..count).rev().collect()),
        zone((0..count / 2).collect()),
    ];
    let order = pack(&text, &footprints, &zones, 1, &mut |_| true);
    assert_eq!(order, pack(&text, &footprints, &zones, 1, &mut |_| true));
    let mut found = Vec::new();
    for (zone, begin) in zones.iter().zip([0, zones[0].sections.len()]) {
        let mut members = order[begin..begin + zone.sections.len()].to_vec();
        let first = zone.sections[0];
        for (place, section) in members.iter().enumerate() {
            // Moves of up to eight places, again and again.
            assert!((section.abs_diff(first) as usize).abs_diff(place) < 200);
        }
        members.sort_unstable();
        found.push(members);
    }
    let sorted = |zone: &Zone| {
        let mut sections = zone.sections.clone();
        sections.sort_unstable();
        sections
    };
    assert_eq!(found, zones.each_ref().map(sorted));
    let costs = [zones.map(|zone| zone.sections).concat(), order].map(|order| {
        let starts = text.place(&order);
        fetching(replay.cost(&text, &[starts], &model, 1)[0][1], &model)
    });
    assert!(costs[1] < 0.97 * costs[0], "{costs:?}");
}

#[test]
fn packing_ends_when_it_is_told_to() {
    let model = CpuModel::parse(MODELS[2]).expect("a shipped model");
    let (text, trace) = long_ring(&mut Random::new(11), &model);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let footprints = Footprints::new(&text, &[&replay], &model, 1);
    let zone = Zone {
        sections: (0..text.sections().len() as u32).collect(),
        reach: 4,
        tries: 1_000_000,
    };
    let mut told = 0;
    let order = pack(
        &text,
        &footprints,
        std::slice::from_ref(&zone),
        1,
        &mut |_| {
            told += 1;
            told < 3
        },
    );
    assert_eq!(told, 3);
    assert_eq!(order.len(), zone.sections.len());
}
