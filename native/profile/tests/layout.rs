// SPDX-License-Identifier: GPL-2.0-or-later
//! Placement and replay: a replayed layout costs what executing it there would cost.

mod random;

use kernsmith_profile::frontend::{Branch, Counters, CpuModel, FrontEnd};
use kernsmith_profile::layout::{
    Algorithm, Footprints, Graph, Replay, Search, Section, Step, Text, Zone, pack, search,
};
use kernsmith_profile::trace::{Block, Facts, Kind, Trace};
use random::Random;

const START: u64 = 0xffff_ffff_8100_0000;
const MODELS: [&str; 3] = [
    include_str!("../../../cpus/skylake.toml"),
    include_str!("../../../cpus/zen3.toml"),
    include_str!("../../../cpus/cortex-a9.toml"),
];

/// Sections of 32 to 700 bytes in two groups with an alignment between them.
fn text(random: &mut Random, count: u32) -> Text {
    let (mut dot, mut sections) = (START, Vec::new());
    for number in 0..count {
        if number == count / 2 {
            dot = dot.next_multiple_of(4096);
        }
        let align = random.pick(&[16, 16, 32, 64]);
        dot = dot.next_multiple_of(align);
        let size = 32 + random.below(669);
        sections.push(Section {
            start: dot,
            size,
            align,
        });
        dot += size;
    }
    let steps = vec![
        Step::Group((0..count / 2).collect()),
        Step::Align(4096),
        Step::Group((count / 2..count).collect()),
    ];
    Text::new(START, sections, steps).expect("it is consistent")
}

#[test]
fn without_an_order_everything_stays_where_it_is() {
    let text = text(&mut Random::new(1), 300);
    let starts: Vec<_> = text.sections().iter().map(|one| one.start).collect();
    assert_eq!(text.place(&[]), starts);
}

#[test]
fn an_order_sorts_each_group_and_the_rest_follows() {
    let section = |start, size| Section {
        start,
        size,
        align: 16,
    };
    let sections = vec![
        section(START, 20),
        section(START + 32, 20),
        section(START + 64, 7),
        section(START + 4096, 5),
        section(START + 4112, 6),
    ];
    let steps = vec![
        Step::Group(vec![0, 1, 2]),
        Step::Align(4096),
        Step::Group(vec![3, 4]),
    ];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let placed = text.place(&[4, 2, 1, 2]);
    let offsets: Vec<_> = placed.iter().map(|start| start - START).collect();
    assert_eq!(offsets, [48, 16, 0, 4112, 4096]);
}

#[test]
fn impossible_texts_are_refused() {
    let section = |start, align| Section {
        start,
        size: 32,
        align,
    };
    let refused = |sections: &[Section], steps: Vec<Step>| {
        Text::new(START, sections.to_vec(), steps).expect_err("it is impossible")
    };
    let one = [section(START, 16)];
    assert!(refused(&one, vec![]).contains("in no group"));
    assert!(refused(&one, vec![Step::Group(vec![0, 0])]).contains("in two groups"));
    assert!(refused(&one, vec![Step::Group(vec![0, 7])]).contains("no section 7"));
    assert!(refused(&one, vec![Step::Align(24), Step::Group(vec![0])]).contains("24"));
    let odd = [section(START, 24)];
    assert!(refused(&odd, vec![Step::Group(vec![0])]).contains("24"));
    let both = [section(START, 16), section(START + 16, 16)];
    assert!(refused(&both, vec![Step::Group(vec![0, 1])]).contains("overlap"));
}

/// User code in its usual place.
const NEAR: &[u64] = &[0];

/// User code of which the low 32 bits of an address do not tell the place.
const FAR: &[u64] = &[0, 0x7f12 << 32];

/// A walk over random blocks, half of them in the text; every kind of end, interrupts as well.
fn trace(random: &mut Random, text: &Text, words: usize, user: &[u64]) -> Trace {
    let kinds = [
        Kind::None,
        Kind::Conditional,
        Kind::Conditional,
        Kind::Jump,
        Kind::Call,
        Kind::Return,
        Kind::IndirectJump,
        Kind::IndirectCall,
        Kind::Far,
        Kind::Repeat,
    ];
    let mut blocks: Vec<Block> = Vec::new();
    // Where the section of the block before ends.
    let mut room = 0;
    for number in 0..400 {
        let end = |block: &Block| block.start + u64::from(block.bytes);
        let before = blocks.last().copied();
        let follows = before.filter(|before| random.once_in(2) && end(before) < room);
        let kernel = follows.map_or(number % 4 != 0, |before| before.kernel);
        let (least, most) = match follows {
            Some(before) => (end(&before), room),
            None if kernel => {
                let sections = text.sections();
                let section = sections[random.below(sections.len() as u64) as usize];
                let place = section.start + random.below(section.size);
                (place, section.start + section.size)
            }
            None => {
                let place = random.pick(user) + 0x40_0000 + random.below(1 << 18);
                (place, place + 700)
            }
        };
        room = most;
        let longest = random.pick(&[20, 200]);
        let bytes = 1 + random.below((most - least).min(longest)) as u16;
        blocks.push(Block {
            start: least,
            target: 0,
            bytes,
            last_offset: random.below(u64::from(bytes)) as u16,
            kind: random.pick(&kinds),
            kernel,
        });
    }
    for number in 0..blocks.len() {
        blocks[number].target = blocks[random.below(400) as usize].start;
    }
    let mut sequence = vec![1 << 31];
    let (mut now, mut begun) = (0, false);
    while sequence.len() < words {
        if sequence.len() > words / 8 && !begun {
            begun = true;
            sequence.push((1 << 31) + 2);
        }
        sequence.push(now);
        let block = blocks[now as usize];
        let to = |address| blocks.iter().position(|one| one.start == address);
        let target = to(block.target).unwrap_or(0) as u32;
        let elsewhere = random.below(400) as u32;
        let behind = to(block.start + u64::from(block.bytes)).map(|number| number as u32);
        now = match block.kind {
            Kind::Jump | Kind::Call => target,
            Kind::Conditional if random.once_in(2) => target,
            Kind::Conditional | Kind::None => behind.unwrap_or(elsewhere),
            _ => elsewhere,
        };
        if random.once_in(50) {
            sequence.push(1 << 31);
        } else if random.once_in(50) {
            let resume = blocks[random.below(400) as usize].start;
            sequence.extend([(1 << 31) + 1, resume as u32, (resume >> 32) as u32]);
            now = elsewhere;
        }
    }
    Trace {
        words: sequence,
        blocks,
        facts: Facts::default(),
    }
}

/// The same walk with every address moved, through the front end as the tracer uses it.
fn executed(trace: &Trace, text: &Text, starts: &[u64], model: &CpuModel) -> [Counters; 2] {
    let moved = |address: u64| match text.section_of(address) {
        Some(number) => address - text.sections()[number].start + starts[number],
        None => address,
    };
    let mut front_end = FrontEnd::new(model);
    let mut counters = [Counters::default(); 2];
    let mut before: Option<Block> = None;
    let mut words = trace.words.iter().copied();
    let resolve = |front_end: &mut FrontEnd, block: Block, to: u64, counters: &mut Counters| {
        let pc = moved(block.start) + u64::from(block.last_offset);
        let next = moved(block.start) + u64::from(block.bytes);
        let target = moved(to);
        let branch = match block.kind {
            Kind::Conditional => Branch::Conditional {
                pc,
                target,
                taken: to == block.target,
            },
            Kind::Jump => Branch::Jump { pc, target },
            Kind::Call => Branch::Call { pc, target, next },
            Kind::Return => Branch::Return { target },
            Kind::IndirectJump => Branch::IndirectJump { pc, target },
            Kind::IndirectCall => Branch::IndirectCall { pc, target, next },
            Kind::None | Kind::Far | Kind::Repeat => return,
        };
        front_end.branch(branch, counters);
    };
    while let Some(word) = words.next() {
        match word {
            0x8000_0000 => before = None,
            0x8000_0002 => counters = Default::default(),
            0x8000_0001 => {
                let low = words.next().expect("an address");
                let high = words.next().expect("an address");
                if let Some(block) = before.take() {
                    let to = u64::from(low) | u64::from(high) << 32;
                    let counters = &mut counters[usize::from(block.kernel)];
                    resolve(&mut front_end, block, to, counters);
                }
            }
            number => {
                let block = trace.blocks[number as usize];
                if let Some(before) = before {
                    let counters = &mut counters[usize::from(before.kernel)];
                    resolve(&mut front_end, before, block.start, counters);
                }
                let start = moved(block.start);
                let last = start + u64::from(block.bytes) - 1;
                let counters = &mut counters[usize::from(block.kernel)];
                front_end.fetch(start, last, counters);
                before = Some(block);
            }
        }
    }
    counters
}

fn shuffled(random: &mut Random, count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    order
}

/// Return addresses may coincide with other code's in such walks, and the replay tells returns by
/// the traced addresses: this figure is compared on real kernels only.
fn without_returns(mut counters: [Counters; 2]) -> [Counters; 2] {
    for counters in &mut counters {
        counters.indirect_mispredictions = 0;
    }
    counters
}

#[test]
fn a_replayed_layout_costs_what_executing_it_costs() {
    replays_cost_what_executing_costs(NEAR);
}

#[test]
fn so_it_does_wherever_user_code_lies() {
    replays_cost_what_executing_costs(FAR);
}

fn replays_cost_what_executing_costs(user: &[u64]) {
    let mut random = Random::new(5);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 120_000, user);
    let replay = Replay::new(trace.clone(), &text);
    let mut layouts = vec![text.place(&[])];
    for _ in 0..9 {
        layouts.push(text.place(&shuffled(&mut random, 60)));
    }
    for model in MODELS {
        let model = CpuModel::parse(model).expect("a shipped model");
        let replayed = replay.cost(&text, &layouts, &model, 1);
        for (starts, replayed) in layouts.iter().zip(replayed) {
            let executed = executed(&trace, &text, starts, &model);
            assert_eq!(without_returns(replayed), without_returns(executed));
        }
        let identity = replay.cost(&text, &layouts[..1], &model, 1);
        assert_eq!(identity[0], executed(&trace, &text, &layouts[0], &model));
    }
}

#[test]
fn a_sample_is_a_part_of_the_whole() {
    let mut random = Random::new(6);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 4_000_000, NEAR);
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let replay = Replay::new(trace, &text);
    let layouts = [text.place(&[])];
    let whole = replay.cost(&text, &layouts, &model, 1)[0][1];
    let part = replay.cost(&text, &layouts, &model, 4)[0][1];
    let share = part.l1i_accesses as f64 / whole.l1i_accesses as f64;
    assert!((0.15..0.35).contains(&share), "{share}");
    let rate = |counters: Counters| counters.l1i_misses as f64 / counters.l1i_accesses as f64;
    assert!((rate(part) / rate(whole) - 1.0).abs() < 0.05);
}

/// Eight functions of which the even ones call each other in a ring, the odd ones never run.
fn ring() -> (Text, Trace) {
    let section = |number: u64| Section {
        start: START + number * 4096,
        size: 64,
        align: 4096,
    };
    let text = Text::new(
        START,
        (0..8).map(section).collect(),
        vec![Step::Group((0..8).collect())],
    )
    .expect("it is consistent");
    let block = |number: u64| Block {
        start: START + number * 2 * 4096,
        target: START + (number + 1) % 4 * 2 * 4096,
        bytes: 60,
        last_offset: 55,
        kind: Kind::Call,
        kernel: true,
    };
    let words = (0..4000).map(|step| step % 4).collect();
    let trace = Trace {
        words,
        blocks: (0..4).map(block).collect(),
        facts: Facts::default(),
    };
    (text, trace)
}

#[test]
fn every_algorithm_puts_each_executed_function_once() {
    let mut random = Random::new(7);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 50_000, NEAR);
    let replay = Replay::new(trace, &text);
    let movable: Vec<u32> = (0..60).collect();
    let graph = Graph::new(&text, &[&replay], &movable);
    for (name, algorithm) in Algorithm::ALL {
        let mut order = algorithm.order(&graph, 4096);
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
    let replay = Replay::new(trace, &text);
    let movable: Vec<u32> = (0..8).collect();
    let graph = Graph::new(&text, &[&replay], &movable);
    assert_eq!(graph.calls.len(), 4);
    for (name, algorithm) in Algorithm::ALL {
        let order = algorithm.order(&graph, 1 << 20);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 2, 4, 6], "{name}");
    }
    // A ring is cut open at one place: three of four calls lead to what lies next.
    let order = Algorithm::C3.order(&graph, 1 << 20);
    let followed = order.windows(2).filter(|pair| pair[1] == (pair[0] + 2) % 8);
    assert_eq!(followed.count(), 3, "{order:?}");
}

/// Functions of a few lines each, executed one after the other, round after round: more of them
/// than a cache or first-level TLB of the model holds, so every round fetches everything again.
fn long_ring(random: &mut Random, model: &CpuModel) -> (Text, Trace) {
    let (mut dot, mut sections, mut blocks) = (START, Vec::new(), Vec::new());
    let count = (2 * model.l2.bytes / model.line_bytes) as u32;
    for _ in 0..count {
        let size = 40 + random.below(200);
        sections.push(Section {
            start: dot,
            size,
            align: 16,
        });
        blocks.push(Block {
            start: dot,
            target: 0,
            bytes: 20 + random.below(size - 20) as u16,
            last_offset: 15,
            kind: Kind::IndirectJump,
            kernel: true,
        });
        dot = (dot + size).next_multiple_of(16);
    }
    let text = Text::new(START, sections, vec![Step::Group((0..count).collect())]);
    let trace = Trace {
        words: (0..3).flat_map(|_| 0..count).collect(),
        blocks,
        facts: Facts::default(),
    };
    (text.expect("it is consistent"), trace)
}

/// Cycles that fetching costs: what a replay's front end waits for caches and TLBs.
fn fetching(counters: Counters, model: &CpuModel) -> f64 {
    counters.l1i_misses as f64 * model.l1i.miss_cycles
        + counters.l2i_misses as f64 * model.l2.miss_cycles
        + counters.itlb_misses as f64 * model.itlb.miss_cycles
        + counters.stlb_misses as f64 * model.stlb.miss_cycles
}

#[test]
fn where_nothing_is_fetched_twice_a_footprint_tells_what_fetching_costs() {
    for model in MODELS {
        let model = CpuModel::parse(model).expect("a shipped model");
        let (text, trace) = long_ring(&mut Random::new(9), &model);
        let replay = Replay::new(trace, &text);
        let footprints = Footprints::new(&text, &[&replay], &model, 1);
        let cycles = replay.cost(&text, &[text.place(&[])], &model, 1)[0][1].cycles(&model);
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
            let counted = replay.cost(&text, &[starts], &model, 1)[0][1];
            let ratio = told / fetching(counted, &model);
            assert!((ratio - 1.0).abs() < 0.03, "{}: {ratio}", model.name);
        }
    }
}

#[test]
fn packing_keeps_the_zones_and_fetches_less() {
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let (text, trace) = long_ring(&mut Random::new(10), &model);
    let replay = Replay::new(trace, &text);
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
    let replay = Replay::new(trace, &text);
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

#[test]
fn displaced_sections_keep_their_order_and_their_place_in_a_line() {
    let text = text(&mut Random::new(12), 400);
    let placed = text.place(&[]);
    let ways = [1, 2, 1].map(|way| text.displaced(&[], 64, way));
    assert_eq!(ways[0], ways[2]);
    assert_ne!(ways[0], ways[1]);
    for way in ways {
        assert!(way.is_sorted());
        let shifts: Vec<_> = way
            .iter()
            .zip(&placed)
            .map(|(now, then)| now - then)
            .collect();
        assert!(shifts.iter().all(|shift| shift % 64 == 0));
        assert!(shifts.last() > shifts.first());
    }
}

#[test]
fn the_search_makes_it_cheaper_and_does_not_depend_on_threads() {
    let mut random = Random::new(8);
    let text = text(&mut random, 400);
    let traces = [1, 2].map(|_| trace(&mut random, &text, 30_000, NEAR));
    let replays = traces.map(|trace| Replay::new(trace, &text).into());
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
