// SPDX-License-Identifier: GPL-2.0-or-later
//! Fetches: lines and pages are counted as they are entered, however the stream is cut.

mod random;

use kernsmith_arch::{PageMap, Run};
use kernsmith_frontend::{Counters, CpuModel, FrontEnd};
use random::Random;

const PENALTIES: &str = include_str!("../../../tests/data/penalties.toml");
const KERNEL: u64 = 0xffff_ffff_8100_0000;

fn model() -> CpuModel {
    CpuModel::parse(PENALTIES).expect("the shipped model is valid")
}

fn fetch(stretches: &[(u64, u64)]) -> Counters {
    let mut counters = Counters::default();
    let mut front_end = FrontEnd::new(&model());
    for (start, last) in stretches {
        front_end.fetch(*start, *last, &mut counters);
    }
    counters
}

#[test]
fn code_within_one_line_is_one_access() {
    let counters = fetch(&[
        (KERNEL, KERNEL + 3),
        (KERNEL + 4, KERNEL + 63),
        (KERNEL, KERNEL),
    ]);
    assert_eq!((counters.l1i_accesses, counters.l1i_misses), (1, 1));
    assert_eq!((counters.itlb_misses, counters.stlb_misses), (1, 1));
}

#[test]
fn a_stretch_over_a_page_end_enters_two_lines_and_two_pages() {
    let counters = fetch(&[(KERNEL + 4090, KERNEL + 4100)]);
    assert_eq!((counters.l1i_accesses, counters.l2i_misses), (2, 2));
    assert_eq!(counters.itlb_misses, 2);
}

/// Pages of 2 MiB from [`KERNEL`] on, and what is behind them in pages of 4 KiB.
fn with_large_pages(large: u64) -> FrontEnd {
    let mut front_end = FrontEnd::new(&model());
    let run = |start, bytes, shift| Run {
        start,
        last: start + bytes - 1,
        shift,
    };
    let end = KERNEL + (large << 21);
    let runs = [run(KERNEL, large << 21, 21), run(end, 16 << 12, 12)];
    front_end.map(PageMap::new(runs).expect("whole pages that rise"));
    front_end
}

fn itlb_misses(front_end: &mut FrontEnd, addresses: &[u64]) -> u64 {
    let mut counters = Counters::default();
    for address in addresses {
        front_end.fetch(*address, *address, &mut counters);
    }
    counters.itlb_misses
}

#[test]
fn a_large_page_is_translated_once() {
    let mut front_end = with_large_pages(1);
    let all: Vec<u64> = (0..512).map(|page| KERNEL + page * 4096).collect();
    assert_eq!(itlb_misses(&mut front_end, &all), 1);
    assert_eq!(itlb_misses(&mut front_end, &all), 0);
}

#[test]
fn a_stretch_from_a_large_page_into_a_small_one_enters_both() {
    let mut counters = Counters::default();
    let end = KERNEL + (1 << 21);
    with_large_pages(1).fetch(end - 10, end + 10, &mut counters);
    assert_eq!((counters.itlb_misses, counters.stlb_misses), (2, 2));
}

#[test]
fn large_pages_have_eight_entries_of_their_own() {
    let rounds = |pages: u64| -> Vec<u64> {
        let of = |page: u64| KERNEL + (page << 21);
        (0..3).flat_map(|_| 0..pages).map(of).collect()
    };
    assert_eq!(itlb_misses(&mut with_large_pages(8), &rounds(8)), 8);
    assert_eq!(itlb_misses(&mut with_large_pages(9), &rounds(9)), 27);
    // Whatever programs do to the entries for small pages.
    let mut front_end = with_large_pages(8);
    assert_eq!(itlb_misses(&mut front_end, &rounds(8)), 8);
    let program: Vec<u64> = (1..=1000).map(|page| page * 4096).collect();
    assert_eq!(itlb_misses(&mut front_end, &program), 1000);
    assert_eq!(itlb_misses(&mut front_end, &rounds(8)), 0);
}

#[test]
fn pages_of_two_sizes_are_never_one_entry() {
    // A shared store of two pages of the same number: one of 4 KiB, one of 2 MiB.
    let shared = PENALTIES
        .replace(
            "small = { entries = 128, ways = 8 }",
            "shared = { entries = 8, ways = 8 }",
        )
        .replace("large = { entries = 8, ways = 8 }", "");
    let model = CpuModel::parse(&shared).expect("it is valid");
    let mut front_end = FrontEnd::new(&model);
    let large = Run {
        start: 5 << 21,
        last: (6 << 21) - 1,
        shift: 21,
    };
    front_end.map(PageMap::new([large]).expect("a whole page"));
    assert_eq!(itlb_misses(&mut front_end, &[5 << 12, 5 << 21, 5 << 12]), 2);
}

#[test]
fn eight_ways_hold_eight_lines_of_a_set_and_no_ninth() {
    let of_one_set = |lines: u64| -> Vec<_> {
        let round = (0..lines).map(|n| (KERNEL + n * 4096, KERNEL + n * 4096));
        round.clone().chain(round).collect()
    };
    assert_eq!(fetch(&of_one_set(8)).l1i_misses, 8);
    assert_eq!(fetch(&of_one_set(9)).l1i_misses, 18);
}

#[test]
fn it_does_not_matter_how_the_stream_is_cut() {
    let mut random = Random::new(2);
    let mut whole = Vec::new();
    let mut pieces = Vec::new();
    for _ in 0..20_000 {
        let start = KERNEL + random.below(1 << 20);
        let last = start + random.below(300);
        whole.push((start, last));
        let mut from = start;
        while from <= last {
            let to = last.min(from + random.below(80));
            pieces.push((from, to));
            from = to + 1;
        }
    }
    assert_eq!(fetch(&whole), fetch(&pieces));
}

#[test]
fn misses_are_those_of_a_list_of_recent_lines() {
    let mut random = Random::new(3);
    let mut sets: Vec<Vec<u64>> = vec![Vec::new(); 64];
    let mut current = 0;
    let (mut accesses, mut misses) = (0, 0);
    let mut stretches = Vec::new();
    for _ in 0..50_000 {
        let start = KERNEL + random.below(1 << 17) / (1 + random.below(8));
        let last = start + random.below(100);
        stretches.push((start, last));
        for line in start / 64..=last / 64 {
            if line == current {
                continue;
            }
            current = line;
            accesses += 1;
            let set = &mut sets[line as usize % 64];
            match set.iter().position(|known| *known == line) {
                Some(at) => drop(set.remove(at)),
                None => misses += 1,
            }
            set.insert(0, line);
            set.truncate(8);
        }
    }
    let counters = fetch(&stretches);
    assert_eq!(
        (counters.l1i_accesses, counters.l1i_misses),
        (accesses, misses)
    );
}

#[test]
fn cycles_are_the_documented_sum() {
    let counters = Counters {
        instructions: 4000,
        taken_branches: 100,
        branch_mispredictions: 10,
        indirect_mispredictions: 2,
        btb_misses: 5,
        l1i_misses: 7,
        l2i_misses: 3,
        itlb_misses: 4,
        stlb_misses: 1,
        rep_instructions: 2,
        rep_iterations: 640,
        rep_bytes: 5120,
        ..Counters::default()
    };
    let expected = 1000.0
        + 50.0
        + 12.0 * 16.5
        + 5.0 * 8.0
        + 7.0 * 12.0
        + 3.0 * 32.0
        + 4.0 * 9.0
        + 17.0
        + 2.0 * 30.0
        + 160.0;
    assert!((counters.cycles(&model()) - expected).abs() < 1e-9);
}
