// SPDX-License-Identifier: GPL-2.0-or-later
//! A front end in time whose queue has a place for each line: what it asks for, and what that waits for.

mod walk;

use kernsmith_frontend::{Counters, DecoupledGeometry};
use walk::{Walk, ring};

/// Of a ring of blocks of one line each, so many bytes apart: counters of five rounds, and cycles of a
/// block.
fn each(lines: u64, apart: u64, change: impl Fn(&mut DecoupledGeometry)) -> (Counters, f64) {
    let mut walk = Walk::new(|geometry| {
        geometry.core.width = 8.0;
        geometry.fetch.next_line = false;
        geometry.fetch.switch_cycles = 0.0;
        geometry.fetch.queue_of_lines = true;
        change(geometry);
    });
    ring(&mut walk, lines, apart, 20);
    walk.since();
    ring(&mut walk, lines, apart, 5);
    let (counted, cycles) = walk.since();
    (counted, cycles / (5 * lines) as f64)
}

#[test]
fn what_the_micro_op_cache_has_is_not_asked_of_l1i() {
    // More lines than L1i has, and fewer than the other.
    let cost = |spares: bool| {
        each(700, 64, |geometry| {
            let op_cache = geometry.op_cache.as_mut().expect("it has one");
            (op_cache.ways, op_cache.spares_lines) = (16, spares);
            geometry.fetch.queue_blocks = 4;
        })
    };
    let ((asked, way), (spared, none)) = (cost(false), cost(true));
    assert_eq!((asked.l1i_accesses, asked.l1i_misses), (3500, 3500));
    assert_eq!((spared.l1i_accesses, spared.l1i_misses), (0, 0));
    assert!(way > none + 1.0, "{way} {none}");
}

#[test]
fn what_is_decoded_needs_its_line() {
    // Of 1,400 lines nothing is in the micro-op cache when it comes again.
    let (counted, _) = each(1400, 64, |geometry| {
        let op_cache = geometry.op_cache.as_mut().expect("it has one");
        (op_cache.ways, op_cache.spares_lines) = (8, true);
    });
    assert_eq!(counted.l1i_accesses, 5 * 1400);
}

#[test]
fn all_micro_ops_are_delivered_whatever_windows_there_are() {
    // Straight code of two lines, four bytes an instruction; more than three cycles are the decoders'.
    let cost = |windows: Option<usize>, of_lines: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.core.width = 32.0;
            geometry.fetch.next_line = false;
            geometry.fetch.queue_of_lines = of_lines;
            (geometry.fetch.decode_bytes, geometry.fetch.decode_width) = (16, 4.0);
            match windows {
                Some(bytes) => {
                    let op_cache = geometry.op_cache.as_mut().expect("it has one");
                    // A block has more lines than there are.
                    (op_cache.window_bytes, op_cache.sets, op_cache.ways) = (bytes, 1, 1);
                }
                None => geometry.op_cache = None,
            }
        });
        for round in 0..2000 {
            if round == 1000 {
                walk.since();
            }
            walk.block(0x40_0000, 32);
            walk.jump(0x40_007c, 0x40_0000);
        }
        walk.since().1 / 1000.0
    };
    for windows in [None, Some(16), Some(32), Some(64)] {
        let (blocks, lines) = (cost(windows, false), cost(windows, true));
        assert!(lines >= 8.0, "{windows:?}: {lines}");
        assert!(
            (lines - blocks).abs() < 0.1,
            "{windows:?}: {lines} {blocks}"
        );
    }
}

#[test]
fn a_set_of_l1i_may_wait_for_one_line_at_a_time() {
    // Sixteen lines of one set, which has eight ways; of four sets.
    let cost = |apart: u64, one: bool| {
        let change = |geometry: &mut DecoupledGeometry| geometry.fetch.one_fill_a_set = one;
        each(16 * 4096 / apart, apart, change).1
    };
    let (many, one) = (cost(4096, false), cost(4096, true));
    // An L2 hit takes 16 cycles.
    assert!((16.0..17.0).contains(&one), "{one}");
    assert!(many < 6.0, "{many}");
    assert!(cost(1024, true) < 6.0, "{}", cost(1024, true));
}

#[test]
fn a_block_that_goes_on_in_its_line_takes_no_place_in_the_queue() {
    // More lines than L1i has, each of eight blocks.
    let cost = |of_lines: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.core.width = 16.0;
            geometry.fetch.next_line = false;
            geometry.fetch.queue_of_lines = of_lines;
            geometry.fetch.queue_blocks = 8;
        });
        for round in 0..8 {
            if round == 3 {
                walk.since();
            }
            for line in 0..1000 {
                let start = 0x40_0000 + line * 64;
                (0..8).for_each(|piece| walk.block(start + 4 * piece, 1));
                walk.jump(start + 28, 0x40_0000 + (line + 1) % 1000 * 64);
            }
        }
        walk.since().1 / 5000.0
    };
    let (blocks, lines) = (cost(false), cost(true));
    assert!(lines < 4.0, "{lines}");
    assert!(blocks > 8.0, "{blocks}");
}

#[test]
fn pages_that_a_tlb_does_not_have_hold_prediction_up() {
    // More pages than the first TLB has entries.
    let cost = |page: f64, walk: f64, pages: u64| {
        each(pages, 4096 + 64, |geometry| {
            geometry.fetch.walk_ahead = true;
            (geometry.fetch.page_cycles, geometry.fetch.walk_cycles) = (page, walk);
        })
    };
    let (counted, nothing) = cost(0.0, 0.0, 400);
    assert_eq!((counted.itlb_misses, counted.stlb_misses), (2000, 0));
    let (_, held_up) = cost(5.0, 40.0, 400);
    assert!((held_up - nothing - 5.0).abs() < 0.1, "{held_up} {nothing}");
    // And than the second has.
    let (counted, walked) = cost(5.0, 40.0, 3000);
    assert_eq!(counted.stlb_misses, 15_000);
    assert!(walked >= 46.0, "{walked}");
}
