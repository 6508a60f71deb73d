// SPDX-License-Identifier: GPL-2.0-or-later
//! Branch prediction: what each structure can and cannot learn.

mod random;

use std::collections::HashMap;

use kernsmith_frontend::{Branch, Counters, CpuModel, Predictor};
use random::Random;

const PENALTIES: &str = include_str!("../../../tests/data/penalties.toml");
const SMALL_PENALTIES: &str = include_str!("../../../tests/data/penalties-small.toml");

fn resolve(model: &str, branches: &[Branch]) -> Counters {
    let model = CpuModel::parse(model).expect("the shipped model is valid");
    let mut predictor = Predictor::new(&model.predictor);
    let mut counters = Counters::default();
    for branch in branches {
        predictor.resolve(*branch, &mut counters);
    }
    counters
}

fn conditional(pc: u64, taken: bool) -> Branch {
    Branch::Conditional {
        pc,
        target: pc + 100,
        taken,
    }
}

#[test]
fn a_steady_branch_is_mispredicted_only_at_first() {
    let branches: Vec<_> = (0..1000).map(|_| conditional(0x1000, true)).collect();
    let counters = resolve(PENALTIES, &branches);
    assert_eq!(
        (counters.conditional_branches, counters.taken_branches),
        (1000, 1000)
    );
    assert!(counters.branch_mispredictions <= 2, "{counters:?}");
}

#[test]
fn a_short_pattern_is_learnt_from_history() {
    let branches: Vec<_> = (0..4000).map(|n| conditional(0x1000, n % 5 == 0)).collect();
    for model in [PENALTIES, SMALL_PENALTIES] {
        let counters = resolve(model, &branches);
        assert!(counters.branch_mispredictions < 100, "{counters:?}");
    }
}

#[test]
fn gshare_is_mcfarlings() {
    let mut random = Random::new(4);
    let branches: Vec<_> = (0..50_000)
        .map(|_| (0x8000 + 2 * random.below(3000), random.below(3) > 0))
        .collect();
    // The Cortex-A9's figures: 4096 counters, 8 branches of history, 2-byte instructions.
    let mut counters = HashMap::new();
    let (mut history, mut wrong) = (0_u64, 0);
    for (pc, taken) in &branches {
        let counter = counters
            .entry(((pc >> 1) ^ history) % 4096)
            .or_insert(1_i32);
        wrong += u64::from((*counter >= 2) != *taken);
        *counter = (*counter + if *taken { 1 } else { -1 }).clamp(0, 3);
        history = (history * 2 + u64::from(*taken)) % 256;
    }
    let branches: Vec<_> = branches
        .iter()
        .map(|(pc, taken)| conditional(*pc, *taken))
        .collect();
    assert_eq!(
        resolve(SMALL_PENALTIES, &branches).branch_mispredictions,
        wrong
    );
}

#[test]
fn the_return_stack_is_as_deep_as_the_model_says() {
    let nested = |depth: u64| -> Vec<Branch> {
        let calls = (0..depth).map(|n| Branch::Call {
            pc: n * 64,
            target: n * 64 + 64,
            next: n * 64 + 5,
        });
        let returns = (0..depth).rev().map(|n| Branch::Return {
            pc: 9,
            target: n * 64 + 5,
        });
        calls.chain(returns).collect()
    };
    assert_eq!(resolve(PENALTIES, &nested(16)).indirect_mispredictions, 0);
    assert_eq!(resolve(PENALTIES, &nested(20)).indirect_mispredictions, 4);
    assert_eq!(
        resolve(SMALL_PENALTIES, &nested(9)).indirect_mispredictions,
        1
    );
}

#[test]
fn a_return_elsewhere_is_mispredicted() {
    let branches = [
        Branch::Call {
            pc: 0,
            target: 64,
            next: 5,
        },
        Branch::Return { pc: 9, target: 6 },
    ];
    assert_eq!(resolve(PENALTIES, &branches).indirect_mispredictions, 1);
}

#[test]
fn alternating_indirect_targets_need_a_table_by_path() {
    let branches: Vec<_> = (0..1000)
        .map(|n| Branch::IndirectCall {
            pc: 64,
            target: 1024 * (1 + n % 2),
            next: 66,
        })
        .collect();
    assert!(resolve(PENALTIES, &branches).indirect_mispredictions < 20);
    assert_eq!(
        resolve(SMALL_PENALTIES, &branches).indirect_mispredictions,
        1000
    );
}

#[test]
fn a_direct_branch_is_unknown_once() {
    let jump = Branch::Jump {
        pc: 64,
        target: 4096,
    };
    let counters = resolve(PENALTIES, &[jump, jump, jump]);
    assert_eq!((counters.btb_misses, counters.taken_branches), (1, 3));
}
