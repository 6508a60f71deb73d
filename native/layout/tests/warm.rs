// SPDX-License-Identifier: GPL-2.0-or-later
//! Windows that are come to as by a core that went through all: with models of other times.

mod invented;

use invented::random::Random;
use invented::{MODELS, NEAR, text, trace};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{AsTraced, Sample, Warmed, timed};
use kernsmith_trace::Trace;

fn in_time() -> impl Iterator<Item = CpuModel> {
    let models = MODELS
        .iter()
        .map(|toml| CpuModel::parse(toml).expect("a model"));
    let shipped = models.filter(|model| model.decoupled.is_some());
    shipped.flat_map(|model| [with_a_window(&model), model])
}

/// The same whose instructions wait for each other, as no shipped model's do.
fn with_a_window(model: &CpuModel) -> CpuModel {
    let mut model = model.clone();
    let core = &mut model.decoupled.as_mut().expect("a model in time").core;
    (core.window, core.load_cycles) = (Some(100), 5.0);
    model
}

/// All its times are others; one buffer tells nothing in it, or does so only now.
fn other_times(model: &CpuModel) -> CpuModel {
    let mut other = model.clone();
    other.name = "other".into();
    let geometry = other.decoupled.as_mut().expect("a model in time");
    geometry.core.resolve_cycles += 9.0;
    geometry.core.stall_cycles += 0.25;
    geometry.core.depth_cycles += 2.0;
    geometry.fetch.taken_cycles += 1.0;
    geometry.fetch.call_cycles += 2.0;
    geometry.fetch.decode_steer_cycles += 3.0;
    if geometry.op_cache.is_some() {
        geometry.fetch.switch_cycles += 1.5;
    }
    if let [near, far, ..] = geometry.buffers.as_mut_slice() {
        near.cycles = match near.cycles == far.cycles {
            true => near.cycles + 1.0,
            false => far.cycles,
        };
    }
    other
}

fn walk(words: usize) -> Trace {
    let mut random = Random::new(23);
    let text = text(&mut random, 60);
    trace(&mut random, &text, words, NEAR)
}

fn all_of(trace: &Trace, model: &CpuModel) -> [Counters; 2] {
    let pages = trace.facts.pages.clone();
    timed(
        trace,
        &AsTraced(&trace.blocks),
        pages,
        model,
        &Sample::whole(trace),
    )
}

/// What no time decides.
fn events(costs: [Counters; 2]) -> [Counters; 2] {
    costs.map(|mode| Counters { ticks: 0, ..mode })
}

#[test]
fn of_all_windows_other_times_cost_what_another_core_would_have_counted() {
    let trace = walk(30_000);
    for model in in_time() {
        let other = other_times(&model);
        let whole = all_of(&trace, &model);
        let warmed = Warmed::new(trace.clone(), model, 1).expect("a model in time");
        assert_eq!(warmed.whole, whole);
        assert_eq!(warmed.costs(&other), Ok(all_of(&trace, &other)));
        assert_ne!(warmed.costs(&other), Ok(whole));
    }
}

#[test]
fn windows_know_what_was_before_them() {
    let trace = walk(600_000);
    for model in in_time() {
        let other = other_times(&model);
        let warmed = Warmed::new(trace.clone(), model.clone(), 4).expect("a model in time");
        let windows = warmed.costs(&model).expect("the same model");
        assert_eq!(
            events(windows),
            events(warmed.costs(&other).expect("other times"))
        );
        let share = |count: fn(&Counters) -> u64| {
            count(&(windows[0] + windows[1])) as f64
                / count(&(warmed.whole[0] + warmed.whole[1])) as f64
        };
        let of_instructions = share(|costs| costs.instructions);
        assert!((0.2..0.5).contains(&of_instructions), "{of_instructions}");
        let wrong = share(|costs| costs.branch_mispredictions) / of_instructions;
        assert!((0.9..1.1).contains(&wrong), "{}: {wrong}", model.name);
    }
}

#[test]
fn models_that_differ_otherwise_are_refused() {
    let trace = walk(1_000);
    let model = in_time().next().expect("a model in time");
    let mut wider = model.clone();
    wider.l1i.bytes *= 2;
    let warmed = Warmed::new(trace.clone(), model, 1).expect("a model in time");
    let refused = warmed.costs(&wider).expect_err("another cache");
    assert!(refused.contains("differ in more than times"), "{refused}");
    let sum = CpuModel::parse(MODELS[0]).expect("a model");
    let refused = Warmed::new(trace, sum, 1).expect_err("no times");
    assert!(refused.contains("is a sum of penalties"), "{refused}");
}
