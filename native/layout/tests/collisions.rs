// SPDX-License-Identifier: GPL-2.0-or-later
//! Who displaces whom: each miss is told once, and those who meet in a set are the ones named.

mod invented;

use invented::random::Random;
use invented::{MODELS, START, facts, text, trace};
use kernsmith_frontend::CpuModel;
use kernsmith_layout::{
    AsTraced, Collided, Collisions, Pair, Section, Step, Text, USER, timed_by_part,
};
use kernsmith_trace::{Block, Instructions, Kind, Trace};

/// What collides, and the counters of user mode and kernel mode.
fn collided(
    trace: &Trace,
    model: &CpuModel,
    owners: &[u32],
) -> (Collided, Vec<kernsmith_frontend::Counters>) {
    let placed = AsTraced(&trace.blocks);
    let mode = |block: &Block| usize::from(block.kernel);
    let modes: Vec<usize> = trace.blocks.iter().map(mode).collect();
    let mut watch = Collisions::new(&trace.blocks, &placed, model, owners);
    let pages = trace.facts.pages.clone();
    let counted = timed_by_part(trace, &placed, pages, model, &modes, &mut watch);
    (watch.finish(), counted)
}

#[test]
fn each_miss_is_told_once() {
    for toml in MODELS {
        let mut random = Random::new(11);
        let model = CpuModel::parse(toml).expect("a model");
        let text = text(&mut random, 40);
        let trace = trace(&mut random, &text, 40_000, &[0x40_0000]);
        let owner = |(number, block): (u32, &Block)| if block.kernel { number % 7 } else { USER };
        let owners: Vec<u32> = (0..).zip(&trace.blocks).map(owner).collect();
        let (found, counted) = collided(&trace, &model, &owners);
        let kernel = counted[1];
        let sum = |figure: fn(&kernsmith_layout::SetUse) -> u64| -> u64 {
            found.sets.iter().map(figure).sum()
        };
        // Lines that are entered; a micro-op cache may spare L1i some of them.
        let op_cache = model.decoupled.as_ref().and_then(|one| one.op_cache);
        match op_cache.is_some_and(|cache| cache.spares_lines) {
            false => assert_eq!(sum(|set| set.fetches), kernel.l1i_accesses),
            true => assert!(sum(|set| set.fetches) > kernel.l1i_accesses),
        }
        assert_eq!(sum(|set| set.misses), kernel.l1i_misses);
        let of_lines: u64 = found.lines.iter().map(|line| line.misses).sum();
        assert_eq!(of_lines, kernel.l1i_misses);
        let of_pairs: u64 = found.pairs.iter().map(|pair| pair.misses).sum();
        assert_eq!(found.first + of_pairs, kernel.l1i_misses);
        let conflicts: u64 = found.pairs.iter().map(|pair| pair.conflicts).sum();
        assert_eq!(sum(|set| set.conflicts), conflicts);
        assert!(found.pairs.iter().all(|pair| pair.evicted < 7));
        assert!(kernel.l1i_misses > 0);
    }
}

/// So many functions a way of the cache apart, executed one after the other.
fn in_one_set(count: u64, apart: u64) -> Trace {
    let section = |number: u64| Section {
        start: START + number * apart,
        size: 64,
        align: 64,
    };
    let sections = (0..count).map(section).collect();
    let steps = vec![Step::Group((0..count as u32).collect())];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let block = |number: u64| Block {
        start: START + number * apart,
        target: START + (number + 1) % count * apart,
        bytes: 32,
        last_offset: 27,
        kind: Kind::Jump,
        kernel: true,
        name: number as u32,
    };
    Trace {
        words: (0..100 * count)
            .map(|step| (step % count) as u32)
            .collect::<Vec<_>>()
            .into(),
        blocks: (0..count).map(block).collect(),
        instructions: Instructions::default(),
        facts: facts(&text),
    }
}

#[test]
fn one_function_more_than_a_set_has_ways() {
    let model = CpuModel::parse(MODELS[0]).expect("a model");
    let (ways, apart) = (
        model.l1i.ways as u64,
        (model.l1i.bytes / model.l1i.ways) as u64,
    );
    let owners: Vec<u32> = (0..=ways as u32).collect();
    let (found, counted) = collided(&in_one_set(ways + 1, apart), &model, &owners);
    // The one that was used least recently comes next, and each in its turn.
    let expected = |evicted: u32| Pair {
        evictor: (evicted + ways as u32) % (ways as u32 + 1),
        evicted,
        misses: 99,
        conflicts: 99,
    };
    let mut pairs = found.pairs.clone();
    pairs.sort_unstable_by_key(|pair| pair.evicted);
    assert_eq!(pairs, (0..=ways as u32).map(expected).collect::<Vec<_>>());
    assert_eq!(found.first, ways + 1);
    assert_eq!(counted[1].l1i_misses, 100 * (ways + 1));
    let used: Vec<_> = found.sets.iter().filter(|set| set.fetches > 0).collect();
    assert_eq!(used.len(), 1);
    assert_eq!(
        (used[0].lines, used[0].misses),
        (ways + 1, 100 * (ways + 1))
    );
    // As many as there are ways get on with each other.
    let (found, _) = collided(&in_one_set(ways, apart), &model, &owners);
    assert_eq!((found.pairs.len(), found.first), (0, ways));
}

#[test]
fn what_does_not_fit_is_no_conflict() {
    let model = CpuModel::parse(MODELS[0]).expect("a model");
    let lines = (model.l1i.bytes / model.line_bytes) as u64;
    let owners: Vec<u32> = (0..2 * lines as u32).collect();
    let (found, counted) = collided(
        &in_one_set(2 * lines, model.line_bytes as u64),
        &model,
        &owners,
    );
    assert_eq!(counted[1].l1i_misses, 200 * lines);
    assert!(found.pairs.iter().all(|pair| pair.conflicts == 0));
    assert_eq!(found.first, 2 * lines);
}
