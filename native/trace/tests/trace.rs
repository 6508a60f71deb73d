// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces on disk: what is written is read, and nothing else is.

#[path = "../../frontend/tests/random/mod.rs"]
mod random;

use std::io::Cursor;
use std::path::PathBuf;

use kernsmith_arch::{PageMap, Run};
use kernsmith_frontend::Counters;
use kernsmith_trace::{Block, Event, Facts, Instructions, Kind, Trace, TraceWriter};
use random::Random;

const BLOCK: Block = Block {
    start: 0xffff_ffff_8100_0000,
    target: 0xffff_ffff_8100_0040,
    bytes: 9,
    last_offset: 7,
    kind: Kind::Conditional,
    kernel: true,
    name: 0x1234_5670,
};

/// Offsets of the instructions of [`BLOCK`].
const OFFSETS: [u16; 3] = [0, 3, 7];

/// Their machine code: `add rax, rcx; add rax, 8; jne`.
const CODE: [u8; 9] = [0x48, 0x01, 0xc8, 0x48, 0x83, 0xc0, 0x08, 0x75, 0x37];

const RUNS: [Run; 2] = [
    Run {
        start: 0xffff_ffff_8100_0000,
        last: 0xffff_ffff_813f_ffff,
        shift: 21,
    },
    Run {
        start: 0xffff_ffff_8140_0000,
        last: 0xffff_ffff_8140_8fff,
        shift: 12,
    },
];

fn facts() -> Facts {
    let figures = std::array::from_fn(|number| number as u64 * 1_000_000_007);
    Facts {
        tag: "3f/pipe".to_owned(),
        cpu: "skylake".to_owned(),
        architecture: "x86_64".to_owned(),
        pages: PageMap::new(RUNS).expect("whole pages that rise"),
        counters: [Counters::default(), Counters::from_figures(figures)],
    }
}

/// A file of its own for each test.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("kernsmith-{name}-{}", std::process::id()))
}

fn written(name: &str) -> Vec<u8> {
    let path = path(name);
    let mut writer = TraceWriter::create(&path).expect("a temporary file");
    writer.cut();
    writer.block(1);
    writer.begin();
    writer.block(0);
    writer.led(0xffff_ffff_8100_1234, 77);
    writer.block(1);
    assert!(
        !path.exists(),
        "a trace that is not finished must not be there"
    );
    let blocks = [
        BLOCK,
        Block {
            kernel: false,
            ..BLOCK
        },
    ];
    writer
        .finish(
            blocks
                .into_iter()
                .map(|block| (block, &OFFSETS[..], &CODE[..])),
            &facts(),
        )
        .expect("it is written");
    let bytes = std::fs::read(&path).expect("it is there");
    std::fs::remove_file(path).expect("it can be removed");
    bytes
}

fn read(bytes: &[u8]) -> Result<Trace, String> {
    Trace::read(&mut Cursor::new(bytes), bytes.len() as u64)
}

#[test]
fn what_is_written_is_read() {
    let trace = read(&written("round-trip")).expect("a whole trace");
    let cut = 1 << 31;
    let words = [cut, 1, cut + 2, 0, cut + 1, 0x8100_1234, 0xffff_ffff, 77, 1];
    assert!(trace.words.iter().eq(words));
    assert_eq!(
        trace.blocks,
        [
            BLOCK,
            Block {
                kernel: false,
                ..BLOCK
            }
        ]
    );
    assert_eq!(trace.facts, facts());
    assert_eq!(trace.instructions.sizes(1), [3, 4, 2]);
    assert!(trace.instructions.offsets(1).eq(OFFSETS));
    assert!(
        trace
            .instructions
            .each(1)
            .eq([&CODE[..3], &CODE[3..7], &CODE[7..]])
    );
    assert_eq!(trace.instructions.code(2), [], "there is no such block");
    assert_eq!(trace.instructions.sizes(2), [], "there is no such block");
}

#[test]
fn what_stays_in_its_file_is_the_same() {
    let path = path("in-file");
    let bytes = written("in-file-of");
    std::fs::write(&path, &bytes).expect("a temporary file");
    let in_file = Trace::load(&path).expect("a whole trace");
    // Who prunes traces does not end a replay.
    std::fs::remove_file(&path).expect("it can be removed");
    let here = read(&bytes).expect("a whole trace");
    assert!(in_file.words.iter().eq(here.words.iter()));
    assert!(in_file.events().eq(here.events()));
    assert_eq!(in_file.blocks, here.blocks);
    assert_eq!(in_file.facts, here.facts);
}

#[test]
fn facts_are_read_without_the_sequence() {
    let path = path("facts");
    std::fs::write(&path, written("facts-of")).expect("a temporary file");
    let found = Trace::load_facts(&path);
    std::fs::remove_file(&path).expect("it can be removed");
    assert_eq!(found, Ok(facts()));
}

#[test]
fn traces_of_versions_before_are_refused() {
    for (version, reason) in [
        (
            1,
            "is of version 1, which has no map of the kernel's pages: take the trace anew",
        ),
        (
            2,
            "is of version 2, whose words are not packed: take the trace anew",
        ),
        (
            3,
            "is of version 3, in which code has no names: take the trace anew",
        ),
    ] {
        let mut old = format!("KSTRACE{version}").into_bytes();
        old.extend([0; 2 * 8 * Counters::FIGURES + 7 * 8]);
        old.extend(format!("KSTREND{version}").into_bytes());
        assert_eq!(read(&old).expect_err("it is old"), reason);
    }
}

/// Blocks, and what an interrupted one has led to so often that many an address lies in two frames.
fn long_sequence(length: usize) -> Vec<Event> {
    let mut random = Random::new(3);
    let mut event = || match random.below(4) {
        0 => Event::Led(random.next(), random.next() as u32),
        number => Event::Block(number as u32 - 1),
    };
    (0..length).map(|_| event()).collect()
}

#[test]
fn a_trace_of_many_frames_is_the_same_from_any_place() {
    let sequence = long_sequence(700_000);
    let path = path("frames");
    let mut writer = TraceWriter::create(&path).expect("a temporary file");
    // Of each event, how many words lie before it.
    let mut places = Vec::new();
    let mut words = 0;
    for event in &sequence {
        places.push(words);
        match *event {
            Event::Block(number) => writer.block(number as usize),
            Event::Led(address, name) => writer.led(address, name),
            Event::Cut | Event::Begin => unreachable!(),
        }
        words += if matches!(event, Event::Led(..)) {
            4
        } else {
            1
        };
    }
    let blocks = [BLOCK; 3].map(|block| (block, &OFFSETS[..], &CODE[..]));
    writer
        .finish(blocks.into_iter(), &facts())
        .expect("it is written");
    let bytes = std::fs::read(&path).expect("it is there");
    let trace = Trace::load(&path).expect("a whole trace");
    let found = Trace::load_facts(&path);
    std::fs::remove_file(&path).expect("it can be removed");
    assert_eq!(found, Ok(facts()));
    assert_eq!(trace.words.len(), words);
    assert!(trace.events().eq(sequence.iter().copied()));
    let here = read(&bytes).expect("a whole trace");
    assert!(here.events().eq(sequence.iter().copied()));
    for (number, place) in places.iter().enumerate().step_by(69_999) {
        let until = (number + 30_000).min(sequence.len());
        let range = *place..places.get(until).copied().unwrap_or(words);
        let part = sequence[number..until].iter().copied();
        assert!(trace.events_in(range.clone()).eq(part.clone()));
        assert!(here.events_in(range).eq(part));
    }
    let mut end = trace.words.cursor(words);
    assert_eq!((end.place(), end.peek(), end.next()), (words, None, None));

    // Frames that another trace has written, or nobody.
    let second = bytes.len() / 3;
    for damage in [&[0xff; 40][..], &[]] {
        let mut other = bytes.clone();
        other.splice(second..second + 40, damage.iter().copied());
        assert!(read(&other).is_err());
    }
}

#[test]
fn a_sequence_that_repeats_takes_up_hardly_anything() {
    let path = path("repeats");
    let mut writer = TraceWriter::create(&path).expect("a temporary file");
    for step in 0..1_000_000 {
        writer.block(step % 97);
    }
    let blocks = [BLOCK; 97].map(|block| (block, &OFFSETS[..], &CODE[..]));
    writer
        .finish(blocks.into_iter(), &facts())
        .expect("it is written");
    let size = std::fs::metadata(&path).expect("it is there").len();
    std::fs::remove_file(&path).expect("it can be removed");
    assert!(size < 20_000, "{size}");
}

#[test]
fn a_trace_with_an_empty_or_impossible_map_is_refused() {
    let whole = written("map");
    let footer = whole.len() - 80;
    let run = footer - 48;
    let mut empty = whole.clone();
    empty.drain(run..footer);
    let count = empty.len() - 16;
    empty[count] = 0;
    let reason = read(&empty).expect_err("it has no map");
    assert_eq!(
        reason,
        "has no map of the kernel's pages: take the trace anew"
    );
    let mut odd = whole;
    odd[run] = 1;
    let reason = read(&odd).expect_err("no page begins there");
    assert!(reason.contains("0xffffffff81000001"), "{reason}");
}

#[test]
fn instructions_that_do_not_make_up_their_block_are_refused() {
    let whole = written("instructions");
    let sizes = [3, 4, 2, 3, 4, 2];
    let place = whole.windows(6).position(|six| six == sizes);
    let mut other = whole.clone();
    other[place.expect("it is there")] = 4;
    let reason = read(&other).expect_err("ten bytes are not nine");
    assert!(reason.contains("other instructions"), "{reason}");
}

#[test]
fn a_trace_that_was_cut_off_anywhere_is_refused() {
    let whole = written("cut-off");
    for length in 0..whole.len() {
        let reason = read(&whole[..length]).expect_err("it is not whole");
        assert!(!reason.is_empty());
    }
}

#[test]
fn damaged_traces_are_refused_or_harmless() {
    let whole = written("damaged");
    let mut random = Random::new(11);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = random.next() as u8;
        }
        if let Ok(trace) = read(&bytes) {
            // Whatever was read can be relied on.
            let numbers = trace.words.iter().filter(|word| *word < 1 << 31);
            assert!(numbers.count() <= trace.words.len());
            assert!(
                trace
                    .blocks
                    .iter()
                    .all(|block| block.last_offset < block.bytes)
            );
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = Trace::load(&path("nowhere")).expect_err("there is none");
    assert!(error.to_string().contains("kernsmith-nowhere"), "{error}");
}

#[test]
fn sorted_blocks_are_the_same_sequence() {
    let block = |number: u64| Block {
        start: BLOCK.start + 16 * number,
        ..BLOCK
    };
    let (cut, led) = (1 << 31, (1 << 31) + 1);
    // The words of an address and its name look like numbers of blocks here.
    let mut trace = Trace {
        words: vec![cut, 0, 2, 1, led, 0, 0, 0, 2, 1, 2].into(),
        blocks: (0..4).map(block).collect(),
        instructions: Instructions::new((1..=4).collect(), [1; 4].into_iter()).expect("four"),
        facts: Facts::default(),
    };
    trace.sort_blocks();
    let [b0, b1, b2] = [0, 1, 2].map(Event::Block);
    let sequence = [Event::Cut, b2, b0, b1, Event::Led(0, 0), b0, b1, b0];
    assert!(trace.events().eq(sequence));
    assert_eq!(trace.blocks, [2, 1, 0, 3].map(block));
    let sizes = [0, 1, 2, 3].map(|number| trace.instructions.sizes(number)[0]);
    assert_eq!(sizes, [3, 2, 1, 4]);
    trace.sort_blocks();
    assert!(trace.events().eq(sequence), "they are sorted already");
}
