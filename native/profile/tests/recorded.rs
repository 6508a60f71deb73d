// SPDX-License-Identifier: GPL-2.0-or-later
//! Traces as a processor's branch records would have shown them, and files of these.

mod invented;

use std::path::{Path, PathBuf};

use invented::*;
use kernsmith_arch::{PageMap, Run};
use kernsmith_profile::{EXTERNAL, Kernel, Sampler, Samples, Workload, convert, record};
use kernsmith_trace::{Block, Facts, Kind, Trace, TraceWriter};

/// A jump over nothing, a conditional branch, a call, a program's system call.
fn blocks() -> Vec<(Block, Vec<u16>)> {
    let block = |start: u64, bytes, last_offset, kind, kernel| Block {
        start,
        target: 0,
        bytes,
        last_offset,
        kind,
        kernel,
        name: start as u32,
    };
    vec![
        (block(TEXT, 4, 2, Kind::Conditional, true), vec![0, 1, 2]),
        (block(TEXT + AFTER, 5, 0, Kind::Call, true), vec![0]),
        (
            block(TEXT + FUNCTION + RET, 1, 0, Kind::Return, true),
            vec![0],
        ),
        (block(0x40_0000, 2, 0, Kind::Far, false), vec![0]),
        (block(TEXT + 4, 1, 0, Kind::None, true), vec![0]),
    ]
}

/// What lies there matters to nobody here.
const NOPS: [u8; 16] = [0x90; 16];

const CONDITIONAL: usize = 0;
const CALLS: usize = 1;
const RETURNS: usize = 2;
const PROGRAM: usize = 3;
const NOP: usize = 4;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("kernsmith-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn traced(name: &str, write: impl FnOnce(&mut TraceWriter)) -> PathBuf {
    let path = folder(name).join("made.trace");
    let mut writer = TraceWriter::create(&path).expect("a temporary file");
    write(&mut writer);
    let run = Run {
        start: TEXT,
        last: TEXT + 0xfff,
        shift: 12,
    };
    let facts = Facts {
        tag: "made".to_owned(),
        architecture: "x86_64".to_owned(),
        pages: PageMap::new([run]).expect("a page"),
        ..Facts::default()
    };
    let blocks = blocks();
    let blocks = blocks
        .iter()
        .map(|(block, offsets)| (*block, &offsets[..], &NOPS[..block.bytes.into()]));
    writer.finish(blocks, &facts).expect("a temporary file");
    path
}

/// The branches of every sample.
fn sampled(path: &Path, period: u64) -> Vec<(u64, Vec<(u64, u64)>)> {
    let trace = Trace::load(path).expect("a trace");
    let mut found = Vec::new();
    let mut sampler = Sampler::new(period, |sample| {
        found.push((sample.time, sample.branches().collect()));
    });
    sampler.follow(&trace);
    found
}

const TAKEN: (u64, u64) = (TEXT + JZ, TEXT + AFTER);
const CALLED: (u64, u64) = (TEXT + AFTER, TEXT + FUNCTION + RET);

#[test]
fn taken_branches_into_the_kernel_are_recorded() {
    let path = traced("taken", |trace| {
        trace.begin();
        for number in [
            PROGRAM,
            CONDITIONAL,
            NOP,
            CALLS,
            RETURNS,
            PROGRAM,
            CONDITIONAL,
            CALLS,
        ] {
            trace.block(number);
        }
    });
    // Not: the conditional branch that was not taken, the return to the program.
    let entry = (0x40_0000, TEXT);
    let all = sampled(&path, 1);
    let (times, stacks): (Vec<u64>, Vec<_>) = all.into_iter().unzip();
    assert_eq!(
        stacks.last().expect("samples"),
        &[TAKEN, entry, CALLED, entry]
    );
    assert_eq!(
        stacks.iter().map(Vec::len).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(times, [1, 6, 8, 11]);
}

#[test]
fn each_so_many_branches_there_is_a_sample_once_the_region_has_begun() {
    let path = traced("period", |trace| {
        for round in 0..50 {
            if round == 5 {
                trace.begin();
            }
            trace.block(CONDITIONAL);
            trace.block(CALLS);
            trace.cut();
        }
    });
    let all = sampled(&path, 10);
    // In each round a branch, and an interrupt of the call that begins the next round.
    assert_eq!(all.len(), (50 - 5) * 2 / 10);
    let lengths: Vec<usize> = all.iter().map(|(_, stack)| stack.len()).collect();
    assert_eq!(lengths[..4], [19, 29, 32, 32]);
}

#[test]
fn interrupts_are_branches_and_restarts_are_none() {
    let path = traced("interrupts", |trace| {
        trace.begin();
        trace.block(CONDITIONAL);
        trace.led(TEXT + AFTER, (TEXT + AFTER) as u32);
        trace.block(RETURNS);
        trace.cut();
        trace.block(CALLS);
        trace.cut();
        trace.block(CALLS);
    });
    let all = sampled(&path, 1);
    let interrupt = (TEXT + AFTER, TEXT + FUNCTION + RET);
    let exception = (TEXT + FUNCTION + RET, TEXT + AFTER);
    assert_eq!(
        all.last().expect("samples").1,
        [exception, interrupt, TAKEN]
    );
}

#[test]
fn a_recorded_file_has_what_was_executed() {
    let path = traced("file", |trace| {
        trace.begin();
        for _ in 0..100 {
            for number in [PROGRAM, CONDITIONAL, CALLS, RETURNS] {
                trace.block(number);
            }
        }
    });
    let file = path.with_extension("data");
    let kernel = Kernel {
        build_id: BUILD_ID.to_owned(),
        release: "7.3.4".to_owned(),
        text: (TEXT, TEXT + 0x1000),
    };
    let workload = Workload {
        name: "pipe".to_owned(),
        trace: path,
        tag: "made".to_owned(),
    };
    let command = ["kernsmith".to_owned()];
    let workloads = [workload.clone(), workload];
    let recorded = record(&file, &kernel, &workloads, 1, &command).expect("a temporary file");
    assert_eq!((recorded.samples, recorded.branches), (600, 600));
    let found = convert(&file, &image(), Samples::Branches).expect("a good file");
    assert_eq!(found.report.samples, 600);
    assert_eq!(found.report.build_id.as_deref(), Some(BUILD_ID));
    assert!(found.report.mapped && found.report.moved == 0);
    let entries: u64 = found.branches.iter().map(|branch| branch.2).sum();
    assert_eq!(entries, found.report.entries);
    // Three branches a round, one of them from the program.
    let entered = found.branches[0];
    assert_eq!((entered.0, entered.1), (EXTERNAL, TEXT));
    assert!(
        entered.2.abs_diff(entries / 3) < 32,
        "{entered:?} of {entries}"
    );

    let foreign = Workload {
        tag: "other".to_owned(),
        ..workloads[0].clone()
    };
    let refused = record(&file, &kernel, &[foreign], 1, &command).expect_err("another trace");
    assert!(refused.ends_with("is of made, not of other"), "{refused}");
}
