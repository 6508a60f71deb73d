// SPDX-License-Identifier: GPL-2.0-or-later
//! Invented kernels and what is executed of them: enough to compare with, in a moment.
#![allow(dead_code)]

#[path = "../../../frontend/tests/random/mod.rs"]
pub mod random;

use kernsmith_arch::{Architecture, PageMap, X86_64};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{Section, Step, Text};
use kernsmith_trace::{Block, Facts, Instructions, Kind, Trace};
use random::Random;

pub const START: u64 = 0xffff_ffff_8100_0000;

pub const MODELS: [&str; 10] = [
    include_str!("../../../../tests/data/penalties.toml"),
    include_str!("../../../../cpus/zen3.toml"),
    include_str!("../../../../tests/data/penalties-small.toml"),
    include_str!("../../../../cpus/emeraldrapids.toml"),
    include_str!("../../../../cpus/graniterapids.toml"),
    include_str!("../../../../cpus/zen5.toml"),
    include_str!("../../../../cpus/cortex-a72.toml"),
    include_str!("../../../../cpus/neoverse-n1.toml"),
    include_str!("../../../../cpus/cortex-a9.toml"),
    include_str!("../../../../cpus/zen4.toml"),
];

/// Bytes of a large page.
pub const LARGE: u64 = 2 << 20;

/// What the kernel's text is mapped in when the sections are at these addresses.
pub fn pages(text: &Text, starts: &[u64]) -> PageMap {
    X86_64.image_pages(text.start(), text.end_of(starts))
}

/// What the tracer says of a guest that boots this text.
pub fn facts(text: &Text) -> Facts {
    Facts {
        architecture: X86_64.qemu_target().to_owned(),
        pages: pages(text, &text.place(&[])),
        ..Facts::default()
    }
}

/// Sections of 32 to 700 bytes in two groups with an alignment between them; one is nearly a large
/// page, so that what lies behind it is in small ones.
pub fn text(random: &mut Random, count: u32) -> Text {
    let (mut dot, mut sections) = (START, Vec::new());
    for number in 0..count {
        if number == count / 2 {
            dot = dot.next_multiple_of(4096);
        }
        let align = random.pick(&[16, 16, 32, 64]);
        dot = dot.next_multiple_of(align);
        let size = match number == count / 3 {
            true => LARGE - 8192,
            false => 32 + random.below(669),
        };
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

/// User code in its usual place.
pub const NEAR: &[u64] = &[0];

/// User code of which the low 32 bits of an address do not tell the place.
pub const FAR: &[u64] = &[0, 0x7f12 << 32];

/// A walk over random blocks, half of them in the text; every kind of end, interrupts as well.
pub fn trace(random: &mut Random, text: &Text, words: usize, user: &[u64]) -> Trace {
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
            name: (blocks.len() as u32).wrapping_mul(0x9e37_79b9),
        });
    }
    for number in 0..blocks.len() {
        blocks[number].target = blocks[random.below(400) as usize].start;
    }
    let (mut begins, mut words) = (words / 8, words);
    let mut sequence = vec![1 << 31];
    let (mut now, mut begun) = (0, false);
    while sequence.len() < words {
        if sequence.len() > begins && !begun {
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
            let resume = blocks[random.below(400) as usize];
            let [low, high] = [resume.start as u32, (resume.start >> 32) as u32];
            sequence.extend([(1 << 31) + 1, low, high, resume.name]);
            // Names are not counted: sequences are as long in blocks as they were without.
            words += 1;
            begins += usize::from(!begun);
            now = elsewhere;
        }
    }
    // The last instruction, and all before it as one; sizes are told of no real code.
    let sizes = |block: &Block| {
        let last = block.bytes - block.last_offset;
        let all = [block.last_offset, last].map(|size| size.min(255) as u8);
        all.into_iter().filter(|size| *size > 0)
    };
    let counts: Vec<usize> = blocks.iter().map(|block| sizes(block).count()).collect();
    // Whatever it means, and some of it nothing.
    let byte = |place: u64| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    let code = |block: &Block| {
        let bytes: u16 = sizes(block).map(u16::from).sum();
        let start = block.start;
        (0..u64::from(bytes)).map(move |place| byte(start + place))
    };
    let instructions =
        Instructions::new(blocks.iter().flat_map(sizes).collect(), counts.into_iter());
    let instructions =
        instructions.and_then(|known| known.with_code(blocks.iter().flat_map(code).collect()));
    Trace {
        words: sequence.into(),
        blocks,
        instructions: instructions.expect("all of them"),
        facts: facts(text),
    }
}

/// Eight functions of which the even ones call each other in a ring, the odd ones never run.
pub fn ring() -> (Text, Trace) {
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
        name: number as u32,
    };
    let words = (0..4000).map(|step| step % 4).collect::<Vec<_>>();
    let trace = Trace {
        words: words.into(),
        blocks: (0..4).map(block).collect(),
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    (text, trace)
}

/// Functions of a few lines each, executed one after the other, round after round: more of them
/// than a cache or first-level TLB of the model holds, so every round fetches everything again.
pub fn long_ring(random: &mut Random, model: &CpuModel) -> (Text, Trace) {
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
            name: dot as u32,
        });
        dot = (dot + size).next_multiple_of(16);
    }
    let text = Text::new(START, sections, vec![Step::Group((0..count).collect())])
        .expect("it is consistent");
    let trace = Trace {
        words: (0..3).flat_map(|_| 0..count).collect::<Vec<_>>().into(),
        blocks,
        instructions: Instructions::default(),
        facts: facts(&text),
    };
    (text, trace)
}

pub fn shuffled(random: &mut Random, count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    order
}

/// Cycles that fetching costs: what a replay's front end waits for caches and TLBs.
pub fn fetching(counters: Counters, model: &CpuModel) -> f64 {
    counters.l1i_misses as f64 * model.l1i.miss_cycles
        + counters.l2i_misses as f64 * model.l2.miss_cycles
        + counters.itlb_misses as f64 * model.itlb.miss_cycles
        + counters.stlb_misses as f64 * model.stlb.miss_cycles
}
