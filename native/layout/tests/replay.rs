// SPDX-License-Identifier: GPL-2.0-or-later
//! A replayed layout costs what executing it there would cost.

mod invented;

use invented::random::Random;
use invented::{FAR, LARGE, MODELS, NEAR, START, facts, pages, shuffled, text, trace};
use kernsmith_arch::{Architecture, X86_64};
use kernsmith_frontend::{
    AheadGeometry, Branch, BranchNames, Counters, CpuModel, FrontEnd, LoopGeometry, Replacement,
    TlbArrays, TlbEntries,
};
use kernsmith_layout::{Replay, Section, Step, Text};
use kernsmith_trace::{Block, Instructions, Kind, Trace};

/// The same walk with every address moved, through the front end as the tracer uses it.
fn executed(trace: &Trace, text: &Text, starts: &[u64], model: &CpuModel) -> [Counters; 2] {
    let moved = |address: u64| match text.section_of(address) {
        Some(number) => address - text.sections()[number].start + starts[number],
        None => address,
    };
    let mut front_end = FrontEnd::new(model);
    front_end.map(pages(text, starts));
    let mut counters = [Counters::default(); 2];
    let mut before: Option<Block> = None;
    let mut words = trace.words.iter();
    let resolve = |front_end: &mut FrontEnd,
                   block: Block,
                   (to, name): (u64, u32),
                   counters: &mut Counters| {
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
            Kind::Return => Branch::Return { pc, target },
            Kind::IndirectJump => Branch::IndirectJump { pc, target },
            Kind::IndirectCall => Branch::IndirectCall { pc, target, next },
            Kind::None | Kind::Far | Kind::Repeat => return,
        };
        let pc = block.name.wrapping_add(block.last_offset.into());
        front_end.branch(branch, BranchNames { pc, target: name }, counters);
    };
    while let Some(word) = words.next() {
        match word {
            0x8000_0000 => {
                before = None;
                front_end.interrupt();
            }
            0x8000_0002 => counters = Default::default(),
            0x8000_0001 => {
                let low = words.next().expect("an address");
                let high = words.next().expect("an address");
                let name = words.next().expect("its name");
                if let Some(block) = before.take() {
                    let to = u64::from(low) | u64::from(high) << 32;
                    let counters = &mut counters[usize::from(block.kernel)];
                    resolve(&mut front_end, block, (to, name), counters);
                }
                front_end.interrupt();
            }
            number => {
                let block = trace.blocks[number as usize];
                if let Some(before) = before {
                    let counters = &mut counters[usize::from(before.kernel)];
                    resolve(&mut front_end, before, (block.start, block.name), counters);
                }
                let start = moved(block.start);
                let last = start + u64::from(block.bytes) - 1;
                let counters = &mut counters[usize::from(block.kernel)];
                let number = number as usize;
                if front_end.wants(number) {
                    let sizes = trace.instructions.sizes(number).iter().copied();
                    let each = trace.instructions.each(number);
                    let operations = || each.map(|code| X86_64.operation(code)).collect();
                    let conditional = block.kind == Kind::Conditional;
                    front_end.describe(number, start, sizes, conditional, operations);
                }
                front_end.enter(number, start, last, counters);
                before = Some(block);
            }
        }
    }
    counters
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

/// What the low 32 bits of an address tell apart.
const LOW: u64 = 1 << 32;

#[test]
fn so_it_does_where_kernel_code_lies_4_gib_apart() {
    let start = START - LOW;
    takes_turns(start, start + LOW, &[0, 1]);
}

#[test]
fn so_it_does_where_a_function_moves_into_other_4_gib() {
    // Its last page; behind the other function it begins in the next 4 GiB.
    let start = START / LOW * LOW - 4096;
    takes_turns(start, start + 8192 - LOW, &[1, 0]);
}

/// A function that begins at `start`, and in `order` elsewhere, and code that never moves jump to
/// each other, so that the target buffer has to know them apart.
fn takes_turns(start: u64, fixed: u64, order: &[u32]) {
    let section = |start, size| Section {
        start,
        size,
        align: 16,
    };
    let sections = vec![section(start, 64), section(start + 64, 8192)];
    let text = Text::new(start, sections, vec![Step::Group(vec![0, 1])]).expect("it is consistent");
    let layout = text.place(order);
    let block = |start: u64, target| Block {
        start,
        target,
        bytes: 60,
        last_offset: 55,
        kind: Kind::Jump,
        kernel: true,
        name: start as u32,
    };
    let trace = Trace {
        words: (0..1000).map(|step| step % 2).collect::<Vec<_>>().into(),
        blocks: vec![block(start, fixed), block(fixed, start)],
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    let replay = Replay::new(trace.clone(), &text).expect("as Linux maps it");
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let executed = executed(&trace, &text, &layout, &model);
    assert_eq!(executed[1].btb_misses, 2);
    assert_eq!(replay.cost(&text, &[layout], &model, 1), [executed]);
}

fn replays_cost_what_executing_costs(user: &[u64]) {
    let mut random = Random::new(5);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 120_000, user);
    let replay = Replay::new(trace.clone(), &text).expect("as Linux maps it");
    let mut layouts = vec![text.place(&[])];
    for number in 0..9 {
        let shifts = [(0, 48), (2, 16 * random.below(256))];
        let shifts = &shifts[..number % 3];
        layouts.push(text.place_shifted(&shuffled(&mut random, 60), shifts));
    }
    let shipped = MODELS.map(|model| CpuModel::parse(model).expect("a shipped model"));
    let with_loops = shipped.iter().filter_map(with_loops);
    let waiting = shipped.iter().filter_map(without_walks_ahead);
    let by_run = shipped.iter().filter_map(with_lines_by_run);
    let by_direction = shipped.iter().filter_map(with_histories_of_directions);
    let changed = with_loops.chain(waiting).chain(by_run);
    let buffers = shipped.iter().filter_map(with_other_buffers);
    let forgetful = shipped.iter().filter_map(with_chance_and_few_fill_buffers);
    let changed = changed.chain(by_direction).chain(buffers).chain(forgetful);
    let named = shipped.iter().filter_map(with_names);
    let drawn = shipped.iter().filter_map(with_names_drawn);
    let chained = shipped.iter().filter_map(with_a_window);
    let changed = changed
        .chain(chained)
        .chain(named)
        .chain(drawn)
        .chain(shipped.iter().filter_map(with_names_and_directions));
    for model in shipped.iter().cloned().chain(changed) {
        let replayed = replay.cost(&text, &layouts, &model, 1);
        for (starts, replayed) in layouts.iter().zip(replayed) {
            let executed = executed(&trace, &text, starts, &model);
            assert_eq!(without_returns(replayed), without_returns(executed));
        }
        let identity = replay.cost(&text, &layouts[..1], &model, 1);
        assert_eq!(identity[0], executed(&trace, &text, &layouts[0], &model));
    }
}

/// A model in time whose instructions wait for each other.
fn with_a_window(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let core = &mut model.decoupled.as_mut()?.core;
    (core.window, core.load_cycles) = (Some(100), 5.0);
    Some(model)
}

/// A model in time with a loop predictor.
fn with_loops(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    model.decoupled.as_mut()?.predictor.loops = Some(LoopGeometry {
        entries: 16,
        ways: 4,
    });
    Some(model)
}

/// A model in time whose micro-op cache has lines that begin where code is entered, and that takes
/// longer for calls.
fn with_lines_by_run(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let geometry = model.decoupled.as_mut()?;
    geometry.fetch.call_cycles = 3.0;
    let op_cache = geometry.op_cache.as_mut()?;
    op_cache.by_run = true;
    // So few that the random code misses often, and goes on in lines that were missed.
    (op_cache.sets, op_cache.ways, op_cache.ops) = (8, 4, 3);
    Some(model)
}

/// A model in time with few places for branches, of which some to other pages take two; whose buffers
/// are asked in another way, two of them exclusive; and that finds conditional ones elsewhere when it does
/// not know them.
fn with_other_buffers(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let geometry = model.decoupled.as_mut()?;
    geometry.fetch.unknown_falls_through = !geometry.fetch.unknown_falls_through;
    for (buffer, places) in geometry.buffers.iter_mut().zip([1.0, 1.5, 2.0]) {
        buffer.entries = 32 * buffer.ways;
        buffer.to_other_page = places;
    }
    geometry.exclusive = geometry.buffers.len() == 2;
    geometry.ahead = match geometry.ahead {
        None => Some(AheadGeometry {
            false_hit_cycles: 44.0,
        }),
        Some(_) => None,
    };
    Some(model)
}

/// A model in time whose target buffers, TLB and L2 forget what is drawn, and whose L1i waits for two lines
/// at a time.
fn with_chance_and_few_fill_buffers(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let geometry = model.decoupled.as_mut()?;
    (geometry.fetch.fill_buffers, geometry.exclusive) = (2, false);
    geometry.predictor.own_targets = 2;
    if let Some(op_cache) = &mut geometry.op_cache {
        op_cache.replacement = Replacement::Random;
    }
    for buffer in &mut geometry.buffers {
        buffer.entries = 8 * buffer.ways;
        buffer.replacement = Replacement::Random;
    }
    model.l2.replacement = Replacement::Random;
    model.itlb.arrays = TlbArrays::Shared(TlbEntries {
        entries: 4,
        ways: 4,
        replacement: Replacement::Random,
    });
    Some(model)
}

/// A model in time whose predictors know nothing of the path.
fn with_histories_of_directions(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let predictor = &mut model.decoupled.as_mut()?.predictor;
    predictor.by_direction = !predictor.by_direction;
    Some(model)
}

/// A model in time that knows branches by what no layout changes.
fn with_names(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    let predictor = &mut model.decoupled.as_mut()?.predictor;
    predictor.by_function = true;
    Some(model)
}

#[test]
fn by_names_directions_are_predicted_the_same_in_all_layouts() {
    let mut random = Random::new(29);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 60_000, NEAR);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let layouts: Vec<_> = (0..4)
        .map(|_| text.place(&shuffled(&mut random, 60)))
        .collect();
    let wrong = |model: &CpuModel| -> Vec<[u64; 2]> {
        let costs = replay.cost(&text, &layouts, model, 1);
        let wrong = |one: &[Counters; 2]| one.map(|mode| mode.branch_mispredictions);
        costs.iter().map(wrong).collect()
    };
    let mut lucky = 0;
    for toml in MODELS {
        let model = CpuModel::parse(toml).expect("a shipped model");
        let Some(mut model) = with_names(&model) else {
            continue;
        };
        let predictor = &mut model.decoupled.as_mut().expect("in time").predictor;
        predictor.by_direction = false;
        let named = wrong(&model);
        assert!(named.iter().all(|one| *one == named[0]), "{named:?}");
        let predictor = &mut model.decoupled.as_mut().expect("in time").predictor;
        predictor.by_function = false;
        let by_address = wrong(&model);
        lucky += u32::from(by_address.iter().any(|one| *one != by_address[0]));
    }
    assert!(lucky > 0, "by address, some have luck with a layout");
}

/// The same by another draw of names.
fn with_names_drawn(model: &CpuModel) -> Option<CpuModel> {
    let mut model = with_names(model)?;
    model.decoupled.as_mut()?.predictor.draw = 7;
    Some(model)
}

#[test]
fn another_draw_of_names_is_other_luck() {
    let mut random = Random::new(31);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 60_000, NEAR);
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let layouts = [text.place(&[])];
    let mut others = 0;
    for toml in MODELS {
        let model = CpuModel::parse(toml).expect("a shipped model");
        let Some(named) = with_names(&model) else {
            continue;
        };
        let drawn = with_names_drawn(&model).expect("in time");
        let wrong = [named, drawn].map(|model| {
            let costs = replay.cost(&text, &layouts, &model, 1);
            costs[0].map(|mode| mode.branch_mispredictions)
        });
        others += u32::from(wrong[0] != wrong[1]);
        let share = wrong[1][1] as f64 / wrong[0][1] as f64;
        assert!((0.9..1.1).contains(&share), "{wrong:?}");
    }
    assert!(others > 0, "which branches meet is another matter");
}

/// The same with histories of directions, where what lies in one line is for the layout to say.
fn with_names_and_directions(model: &CpuModel) -> Option<CpuModel> {
    let mut model = with_names(model)?;
    let predictor = &mut model.decoupled.as_mut()?.predictor;
    predictor.by_direction = true;
    Some(model)
}

/// A model in time that translates a page when fetch comes to it.
fn without_walks_ahead(model: &CpuModel) -> Option<CpuModel> {
    let mut model = model.clone();
    model.decoupled.as_mut()?.fetch.walk_ahead = false;
    // So few pages that the random code misses often.
    model.itlb.arrays = TlbArrays::Shared(TlbEntries {
        entries: 4,
        ways: 4,
        replacement: Replacement::Lru,
    });
    Some(model)
}

/// Three functions, each of them a loop and a jump to the next one; the last one is user code.
#[test]
fn loops_are_the_same_ones_in_a_replay() {
    let section = |number: u64| Section {
        start: START + number * 64,
        size: 64,
        align: 16,
    };
    let steps = vec![Step::Group(vec![0, 1])];
    let text = Text::new(START, vec![section(0), section(1)], steps).expect("it is consistent");
    let function = |start: u64, next: u64, kernel: bool| {
        let block = |start: u64, target, kind| Block {
            start,
            target,
            bytes: 20,
            last_offset: 16,
            kind,
            kernel,
            name: start as u32,
        };
        let jump = block(start + 20, next, Kind::Jump);
        [block(start, start, Kind::Conditional), jump]
    };
    let starts = [START, START + 64, 0x40_0000];
    let functions = (0..3).map(|n| function(starts[n], starts[(n + 1) % 3], n < 2));
    let round = (0..3).flat_map(|number: u32| {
        // More of the kernel's first and of user code than any history has.
        let iterations = [300, 17, 290][number as usize];
        std::iter::repeat_n(2 * number, iterations).chain([2 * number + 1])
    });
    let round: Vec<u32> = round.collect();
    let trace = Trace {
        words: round.repeat(100).into(),
        blocks: functions.flatten().collect(),
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    let replay = Replay::new(trace.clone(), &text).expect("as Linux maps it");
    let layouts = [text.place(&[]), text.place(&[1, 0])];
    let mispredicted = |model: &CpuModel| {
        let replayed = replay.cost(&text, &layouts, model, 1);
        for (starts, replayed) in layouts.iter().zip(&replayed) {
            assert_eq!(*replayed, executed(&trace, &text, starts, model));
        }
        replayed[0].map(|counters| counters.branch_mispredictions)
    };
    let without = CpuModel::parse(MODELS[3]).expect("a shipped model");
    let with = with_loops(&without).expect("it is in time");
    let [user, kernel] = mispredicted(&without);
    assert!(user > 50 && kernel > 50, "{user} {kernel}");
    let [user, kernel] = mispredicted(&with);
    assert!(user < 10 && kernel < 20, "{user} {kernel}");
}

#[test]
fn a_sample_is_a_part_of_the_whole() {
    let mut random = Random::new(6);
    let text = text(&mut random, 60);
    let trace = trace(&mut random, &text, 4_000_000, NEAR);
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let layouts = [text.place(&[])];
    let whole = replay.cost(&text, &layouts, &model, 1)[0][1];
    let part = replay.cost(&text, &layouts, &model, 4)[0][1];
    let share = part.l1i_accesses as f64 / whole.l1i_accesses as f64;
    assert!((0.15..0.35).contains(&share), "{share}");
    let rate = |counters: Counters| counters.l1i_misses as f64 / counters.l1i_accesses as f64;
    assert!((rate(part) / rate(whole) - 1.0).abs() < 0.05);
}

#[test]
fn a_short_trace_is_not_left_to_one_window() {
    let mut random = Random::new(7);
    let text = text(&mut random, 60);
    let model = CpuModel::parse(MODELS[0]).expect("a shipped model");
    let layouts = [text.place(&[])];
    for (words, least, most) in [
        (100_000, 1.0, 1.0),
        (300_000, 0.2, 0.6),
        (2_000_000, 0.03, 0.2),
    ] {
        let trace = trace(&mut random, &text, words, NEAR);
        let replay = Replay::new(trace, &text).expect("as Linux maps it");
        let whole = replay.cost(&text, &layouts, &model, 1)[0][1].l1i_accesses;
        let part = replay.cost(&text, &layouts, &model, 16)[0][1].l1i_accesses;
        let share = part as f64 / whole as f64;
        assert!((least..=most).contains(&share), "{words} words: {share}");
    }
}

/// A function that fills a large page, and others before and behind it that call each other.
#[test]
fn what_an_order_puts_behind_the_last_large_page_is_in_small_ones() {
    let section = |start, size| Section {
        start,
        size,
        align: 4096,
    };
    let mut sections = vec![section(START, LARGE)];
    sections.extend((0..64).map(|number| section(START + LARGE + number * 4096, 64)));
    let steps = vec![Step::Group((0..65).collect())];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let block = |number: u64| Block {
        start: START + LARGE + number * 4096,
        target: 0,
        bytes: 60,
        last_offset: 55,
        kind: Kind::IndirectJump,
        kernel: true,
        name: number as u32,
    };
    let trace = Trace {
        words: (0..6400).map(|step| step % 64).collect::<Vec<_>>().into(),
        blocks: (0..64).map(block).collect(),
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let first: Vec<u32> = (1..65).collect();
    let layouts = [text.place(&[]), text.place(&first)];
    let found = layouts
        .each_ref()
        .map(|starts| pages(&text, starts).granule());
    assert_eq!(found, [Some(21), Some(21)]);
    // 32 entries for pages of all sizes, in turn: each of 64 small pages is missed each time.
    let model = CpuModel::parse(MODELS[2]).expect("a shipped model");
    let misses = replay.cost(&text, &layouts, &model, 1);
    let misses: Vec<u64> = misses.iter().map(|one| one[1].itlb_misses).collect();
    assert_eq!(misses, [6400, 1]);
}

#[test]
fn a_guest_that_maps_its_text_otherwise_is_refused() {
    let mut random = Random::new(13);
    let text = text(&mut random, 60);
    let mut trace = trace(&mut random, &text, 100, NEAR);
    trace.facts.pages = Default::default();
    let reason = Replay::new(trace.clone(), &text).expect_err("nothing is mapped");
    assert!(reason.contains("in other pages than Linux"), "{reason}");
    trace.facts.architecture = "alpha".to_owned();
    let reason = Replay::new(trace, &text).expect_err("there is no such architecture");
    assert!(reason.contains("alpha"), "{reason}");
}

/// Two large pages less one small one, or not: what an order makes of paddings decides.
#[test]
fn where_the_text_ends_decides_which_pages_are_large() {
    let section = |start, size, align| Section { start, size, align };
    let end = START + 2 * LARGE;
    let sections = vec![
        section(START, 2 * LARGE - 8192, 4096),
        section(end - 8192, 64, 64),
        section(end - 4096, 4000, 4096),
    ];
    let steps = vec![Step::Group(vec![0, 1, 2])];
    let text = Text::new(START, sections, steps).expect("it is consistent");
    let layouts = [text.place(&[]), text.place(&[0, 2, 1])];
    let ends = layouts.each_ref().map(|starts| text.end_of(starts));
    assert_eq!(ends, [end - 96, end - 4096]);
    let block = |number: u64| Block {
        start: START + LARGE + number * 4096,
        target: 0,
        bytes: 60,
        last_offset: 55,
        kind: Kind::IndirectJump,
        kernel: true,
        name: number as u32,
    };
    let trace = Trace {
        words: (0..6400).map(|step| step % 64).collect::<Vec<_>>().into(),
        blocks: (0..64).map(block).collect(),
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    let replay = Replay::new(trace, &text).expect("as Linux maps it");
    let model = CpuModel::parse(MODELS[2]).expect("a shipped model");
    let misses = replay.cost(&text, &layouts, &model, 1);
    let misses: Vec<u64> = misses.iter().map(|one| one[1].itlb_misses).collect();
    assert_eq!(misses, [1, 6400]);
}

#[test]
fn a_program_costs_in_user_mode_what_a_kernel_does_in_its_own() {
    let mut random = Random::new(11);
    let text = text(&mut random, 60);
    let kernel = trace(&mut random, &text, 5000, NEAR);
    // What the tracer would say if the same code were a program's.
    let mut program = kernel.clone();
    for block in &mut program.blocks {
        block.kernel = !block.kernel;
    }
    program.facts.counters.reverse();
    let of_kernel = Replay::new(kernel, &text).expect("a known architecture");
    let of_program = Replay::of_program(program, &text).expect("a known architecture");
    let default = [text.place(&[])];
    for model in MODELS {
        let model = CpuModel::parse(model).expect("a shipped model");
        let costs = [&of_kernel, &of_program].map(|one| one.cost(&text, &default, &model, 1));
        assert!(costs[0][0][1].taken_branches > 1000);
        assert_eq!(costs[0], costs[1]);
    }
    assert_eq!(of_kernel.touched(), of_program.touched());
    // Pages of a program are those of the guest, wherever its functions lie.
    let moved = text.place(&shuffled(&mut random, 60));
    let pages_of = |starts: &[u64]| of_program.pages_in(&text, starts);
    assert_eq!(pages_of(&moved), pages_of(&default[0]));
}
