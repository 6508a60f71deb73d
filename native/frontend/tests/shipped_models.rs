// SPDX-License-Identifier: GPL-2.0-or-later
//! The shipped models of front ends in time: what must be so among them, whatever their figures.

mod random;
mod walk;

use std::path::Path;

use kernsmith_frontend::{Counters, CpuModel};
use random::Random;
use walk::{Walk, ring};

fn shipped(name: &str) -> CpuModel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cpus");
    CpuModel::load(&folder.join(name).with_extension("toml")).expect("a shipped model")
}

/// What a loop that fits everywhere takes, in cycles for each instruction.
fn fitting(name: &str) -> f64 {
    let mut walk = Walk::of(shipped(name));
    ring(&mut walk, 12, 64, 100);
    walk.since();
    ring(&mut walk, 12, 64, 1000);
    let (counted, cycles) = walk.since();
    assert_eq!((counted.l1i_misses, counted.btb_misses), (0, 0), "{name}");
    cycles / counted.instructions as f64
}

#[test]
fn a_wider_core_takes_fewer_cycles() {
    let names = ["zen5", "emeraldrapids", "neoverse-n1", "cortex-a72"];
    let cycles = names.map(fitting);
    assert!(cycles.is_sorted(), "{names:?} {cycles:?}");
    let widths = names.map(|name| shipped(name).width);
    assert!(widths.is_sorted_by(|one, other| one > other), "{widths:?}");
    for (each, width) in cycles.into_iter().zip(widths) {
        assert!(each >= 1.0 / width, "{each} {width}");
    }
}

/// 56 KiB of blocks, entered in an order that no next line foresees.
fn scattered(name: &str) -> (Counters, f64) {
    const BLOCKS: u64 = 896;
    let mut walk = Walk::of(shipped(name));
    let mut order: Vec<u64> = (0..BLOCKS).collect();
    let mut random = Random::new(7);
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    let start = |place: usize| 0x40_0000 + order[place % order.len()] * 64;
    for round in 0..8 {
        if round == 4 {
            walk.since();
        }
        for place in 0..order.len() {
            walk.block(start(place), 8);
            walk.jump(start(place) + 28, start(place + 1));
        }
    }
    walk.since()
}

#[test]
fn a_smaller_cache_misses_more_often_on_the_same_code() {
    let names = ["neoverse-n1", "cortex-a72", "skylake"];
    let misses = names.map(|name| scattered(name).0.l1i_misses);
    assert_eq!(misses[0], 0, "64 KiB hold it");
    assert!(
        misses.is_sorted_by(|one, other| one < other),
        "{names:?} {misses:?}"
    );
    assert_eq!(
        scattered("zen5").0.l1i_misses,
        misses[2],
        "caches of one size and associativity, both with the line behind"
    );
}

#[test]
fn what_the_predictor_does_not_fetch_ahead_is_waited_for() {
    let each = |name: &str| {
        let (counted, cycles) = scattered(name);
        cycles / counted.instructions as f64
    };
    let (behind, ahead) = (each("cortex-a72"), each("emeraldrapids"));
    // Half as many misses, at more than twice the price in all.
    assert!(behind > 2.0 * ahead, "{behind} {ahead}");
}
