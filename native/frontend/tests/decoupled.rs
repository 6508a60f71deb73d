// SPDX-License-Identifier: GPL-2.0-or-later
//! A front end in time: what overlaps, what does not, and what the predictors learn.

mod random;
mod walk;

use kernsmith_frontend::{AheadGeometry, Branch, DecoupledGeometry, LoopGeometry, Replacement};
use random::Random;
use walk::{Walk, ring};

#[test]
fn what_fits_everywhere_costs_its_width() {
    let mut walk = Walk::new(|_| ());
    ring(&mut walk, 16, 64, 100);
    walk.since();
    ring(&mut walk, 16, 64, 1000);
    let (counted, cycles) = walk.since();
    assert_eq!((counted.l1i_misses, counted.btb_misses), (0, 0));
    let per_cycle = counted.instructions as f64 / cycles;
    assert!((3.9..=4.0).contains(&per_cycle), "{per_cycle}");
}

#[test]
fn a_misprediction_costs_the_way_from_prediction_to_resolution() {
    let mut random = Random::new(3);
    let mut walk = Walk::new(|_| ());
    let mut rounds = |walk: &mut Walk, count: u64| {
        for _ in 0..count {
            let taken = random.once_in(2);
            walk.block(0x40_0000, 8);
            walk.conditional(0x40_001c, 0x40_0040, taken);
            let next = if taken { 0x40_0040 } else { 0x40_0020 };
            walk.block(next, 8);
            walk.jump(next + 28, 0x40_0000);
        }
    };
    rounds(&mut walk, 20_000);
    walk.since();
    rounds(&mut walk, 20_000);
    let (counted, cycles) = walk.since();
    let rate = counted.branch_mispredictions as f64 / 20_000.0;
    assert!((0.4..0.6).contains(&rate), "{rate}");
    let plain = counted.instructions as f64 / 4.0;
    let each = (cycles - plain) / counted.branch_mispredictions as f64;
    // 10 cycles until it is known, 1 to predict, 8 through the pipe; a little of it is hidden.
    assert!((15.0..22.0).contains(&each), "{each}");
}

#[test]
fn prediction_that_runs_ahead_hides_misses() {
    // 2,000 lines: more than L1i holds, and fewer than the target buffers know.
    let cost = |blocks: usize| {
        let mut walk = Walk::new(|geometry| {
            geometry.fetch.next_line = false;
            geometry.fetch.queue_blocks = blocks;
        });
        ring(&mut walk, 2000, 64, 3);
        walk.since();
        ring(&mut walk, 2000, 64, 5);
        let (counted, cycles) = walk.since();
        assert_eq!(counted.l1i_accesses, 10_000);
        cycles / 10_000.0
    };
    let (ahead, not_ahead) = (cost(64), cost(1));
    assert!(ahead < 6.0, "{ahead}");
    assert!(not_ahead > 12.0, "{not_ahead}");
}

#[test]
fn lines_come_no_faster_than_fill_buffers_allow() {
    // As above; each waits for 12 cycles.
    let cost = |lines: usize| {
        let mut walk = Walk::new(|geometry| {
            geometry.fetch.next_line = false;
            geometry.fetch.fill_buffers = lines;
        });
        ring(&mut walk, 2000, 64, 3);
        walk.since();
        ring(&mut walk, 2000, 64, 5);
        walk.since().1 / 10_000.0
    };
    let way = cost(1);
    assert!((way / 2.0 - cost(2)).abs() < 0.1, "{way} {}", cost(2));
    assert!(cost(64) < cost(2));
    assert_eq!(cost(64), cost(0));
}

#[test]
fn directions_that_repeat_are_learnt_by_their_path() {
    let mut walk = Walk::new(|_| ());
    let pattern = [
        true, true, false, true, false, false, true, false, true, true, false,
    ];
    let rounds = |walk: &mut Walk, count: usize| {
        for step in 0..count {
            let taken = pattern[step % pattern.len()];
            walk.conditional(0x40_001c, 0x40_0040, taken);
            walk.jump(0x40_005c, 0x40_0000);
        }
    };
    rounds(&mut walk, 20_000);
    walk.since();
    rounds(&mut walk, 11_000);
    let (counted, _) = walk.since();
    assert!(counted.branch_mispredictions < 22, "{counted:?}");
}

/// Mispredictions of a loop with so many iterations in each of some rounds, the first half of which
/// is not counted; without and with a table of loops.
fn mispredicted(iterations: impl Fn(usize) -> u64) -> [u64; 2] {
    const ROUNDS: usize = 400;
    [None, Some(64)].map(|entries| {
        let mut walk = Walk::new(|geometry| {
            let table = |entries| LoopGeometry { entries, ways: 4 };
            geometry.predictor.loops = entries.map(table);
        });
        for round in 0..ROUNDS {
            if round == ROUNDS / 2 {
                walk.since();
            }
            let iterations = iterations(round);
            for iteration in 1..=iterations {
                walk.conditional(0x40_001c, 0x40_0000, iteration < iterations);
            }
            walk.jump(0x40_005c, 0x40_0000);
        }
        walk.since().0.branch_mispredictions
    })
}

#[test]
fn a_loop_that_is_longer_than_all_histories_is_known_by_its_iterations() {
    let [without, with] = mispredicted(|_| 300);
    assert!(without >= 200, "{without}");
    assert_eq!(with, 0);
}

#[test]
fn an_irregular_loop_is_not_made_worse() {
    let mut random = Random::new(4);
    let drawn: Vec<u64> = (0..400).map(|_| 200 + random.below(200)).collect();
    let [without, with] = mispredicted(|round| drawn[round]);
    assert!(without >= 200, "{without}");
    assert_eq!(with, without);
    // Regular for so long that it is believed, then not: each change costs two at most.
    let [without, with] = mispredicted(|round| 200 + 100 * (round as u64 / 10 % 2));
    assert!(with < without / 2, "{with} {without}");
}

/// Mispredicted ones of 1,000 indirect jumps: a target that is another one once in ten times, behind so
/// many conditional branches that go either way.
fn mispredicted_targets(branches: u64, sets: usize) -> u64 {
    let mut random = Random::new(7);
    let mut walk = Walk::new(|geometry| geometry.predictor.target_sets = sets);
    for round in 0..60_000 {
        if round == 20_000 {
            walk.since();
        }
        for branch in 0..branches {
            let pc = 0x40_0000 + branch * 64;
            walk.conditional(pc, pc + 32, random.once_in(2));
        }
        let target = if random.once_in(10) {
            0x40_2000
        } else {
            0x40_3000
        };
        walk.branch(Branch::IndirectJump {
            pc: 0x40_1000,
            target,
        });
        walk.jump(target + 12, 0x40_0000);
    }
    walk.since().0.indirect_mispredictions / 40
}

#[test]
fn a_target_is_not_believed_before_it_has_proved_itself() {
    // 100 is the least that can be, and 180 are those whose last target was another one.
    for branches in [1, 4, 8] {
        let [few, many] = [512, 32_768].map(|sets| mispredicted_targets(branches, sets));
        assert!(few < 172 && many < 145, "{branches}: {few} {many}");
    }
}

#[test]
fn so_are_targets() {
    let mut walk = Walk::new(|_| ());
    let rounds = |walk: &mut Walk, count: u64| {
        for step in 0..count {
            let target = 0x40_1000 + [0, 3, 1, 1, 2][step as usize % 5] * 256;
            walk.branch(Branch::IndirectJump {
                pc: 0x40_0010,
                target,
            });
            walk.jump(target + 12, 0x40_0000);
        }
    };
    rounds(&mut walk, 20_000);
    walk.since();
    rounds(&mut walk, 5_000);
    let (counted, _) = walk.since();
    assert_eq!(counted.indirect_mispredictions, 0);
}

#[test]
fn histories_of_directions_know_targets_by_those_before_where_a_branch_has_its_own() {
    // One place in each of five lines, or of one line.
    let mispredicted = |own: usize, apart: u64| {
        let mut walk = Walk::new(|geometry| {
            geometry.predictor.by_direction = true;
            geometry.predictor.by_function = false;
            geometry.predictor.own_targets = own;
        });
        for step in 0..25_000 {
            if step == 20_000 {
                walk.since();
            }
            let place = [0, 3, 1, 1, 2][step as usize % 5];
            walk.branch(Branch::IndirectJump {
                pc: 0x40_0010,
                target: 0x40_1000 + place * apart,
            });
            walk.jump(0x40_2000, 0x40_0000);
        }
        walk.since().0.indirect_mispredictions
    };
    assert!(mispredicted(0, 256) > 2000);
    // Behind 1 comes 1 or 2; the two before tell which.
    assert!((500..2500).contains(&mispredicted(1, 256)));
    assert_eq!(mispredicted(2, 256), 0);
    // Which place of a line it was is not in it.
    assert!(mispredicted(2, 8) > 2000);
}

#[test]
fn a_direction_that_a_faster_predictor_got_otherwise_takes_longer() {
    // A branch that goes as a pattern says, and one that always goes the same way.
    let cost = |pattern: &[bool], cycles: f64| {
        let mut walk = Walk::new(|geometry| {
            geometry.core.width = 8.0;
            geometry.predictor.override_cycles = cycles;
        });
        for round in 0..40_000 {
            if round == 20_000 {
                walk.since();
            }
            let taken = pattern[round % pattern.len()];
            walk.block(0x40_0000, 2);
            walk.conditional(0x40_0004, 0x40_0040, taken);
            let next = if taken { 0x40_0040 } else { 0x40_0008 };
            walk.block(next, 2);
            walk.jump(next + 4, 0x40_0000);
        }
        let (counted, cycles) = walk.since();
        assert!(counted.branch_mispredictions < 20);
        cycles / 20_000.0
    };
    let steady = [true];
    assert_eq!(cost(&steady, 0.0), cost(&steady, 6.0));
    // By a counter of two bits, of this pattern three of four are wrong.
    let mixed = [true, true, false, false];
    let more = cost(&mixed, 6.0) - cost(&mixed, 0.0);
    assert!((more - 4.5).abs() < 0.1, "{more}");
}

#[test]
fn a_branch_that_no_buffer_knows_waits_for_the_decoder() {
    // More branches than all buffers have entries, in code that fits into L2.
    let cost = |levels: usize| {
        let mut walk = Walk::new(|geometry| geometry.buffers.truncate(levels));
        ring(&mut walk, 400, 64, 3);
        walk.since();
        ring(&mut walk, 400, 64, 5);
        let (counted, cycles) = walk.since();
        (counted.btb_misses, cycles / 2000.0)
    };
    let (missed, known) = cost(3);
    assert_eq!(missed, 0);
    let (missed, unknown) = cost(1);
    assert_eq!(missed, 2000);
    assert!(unknown > known + 7.0, "{unknown} {known}");
}

#[test]
fn a_branch_to_another_page_takes_more_room() {
    let missed = |apart: u64, places: f64| {
        let mut walk = Walk::new(|geometry| {
            geometry.buffers.truncate(1);
            geometry.buffers[0].to_other_page = places;
        });
        let known = 160; // of 256 places
        ring(&mut walk, known, apart, 3);
        walk.since();
        ring(&mut walk, known, apart, 5);
        walk.since().0.btb_misses
    };
    // Every 64th leads to another page, or each of them.
    assert_eq!(missed(64, 2.0), 0);
    assert_eq!(missed(4096 + 64, 1.0), 0);
    assert_eq!(missed(4096 + 64, 2.0), 5 * 160);
}

#[test]
fn a_buffer_that_forgets_by_chance_keeps_some_of_a_loop_that_it_has_no_room_for() {
    // Of m keys in turn, n places keep each of them with (1 - 1 / n)^(x m) when a share x of all misses: so
    // 1 - x = exp(-x m / n), which is 0.58 here.
    let missed = |replacement: Replacement, branches: u64| {
        let mut walk = Walk::new(|geometry| {
            geometry.buffers.truncate(1);
            geometry.buffers[0].replacement = replacement;
        });
        ring(&mut walk, branches, 64, 40);
        walk.since();
        ring(&mut walk, branches, 64, 40);
        walk.since().0.btb_misses as f64 / (40 * branches) as f64
    };
    assert_eq!(missed(Replacement::Lru, 384), 1.0);
    let drawn = missed(Replacement::Random, 384); // of 256 places
    assert!((drawn - 0.58).abs() < 0.05, "{drawn}");
    assert!(missed(Replacement::Random, 4096) > 0.99);
}

/// Cycles a round of these jumps, from one entry to the next.
fn round_of(entries: [u64; 4], ahead: Option<AheadGeometry>) -> f64 {
    let mut walk = Walk::new(|geometry| geometry.ahead = ahead);
    for round in 0..8 {
        if round == 3 {
            walk.since();
        }
        for (number, entry) in entries.into_iter().enumerate() {
            walk.block(entry, 1);
            walk.jump(entry, entries[(number + 1) % 4]);
        }
    }
    walk.since().1 / 5.0
}

#[test]
fn buffers_that_are_asked_ahead_may_take_a_block_for_another_one() {
    let ahead = Some(AheadGeometry {
        false_hit_cycles: 40.0,
    });
    // Lines of one set go in front of entries with one tag: bits 7 and 8 of a line fall on 16 and 17,
    // and those of an entry on those twelve above.
    let [one, entry] = [0x40_1000, 0x40_2040];
    let (same_set, same_tag) = (one ^ 0x3_0180, entry ^ 0x3_0030);
    let known = round_of([one, entry, same_set, same_tag ^ 0x80], ahead);
    let taken_for_another = round_of([one, entry, same_set, same_tag], ahead);
    assert!(
        (taken_for_another - known - 40.0).abs() < 2.0,
        "{taken_for_another} {known}"
    );
    for others in [
        [one, entry, same_set ^ 0x40, same_tag],
        [one, entry, same_tag, same_set],
    ] {
        assert_eq!(round_of(others, ahead), known);
    }
    assert_eq!(round_of([one, entry, same_set, same_tag], None), known);
}

#[test]
fn a_conditional_branch_that_no_buffer_knows_may_wait_until_it_is_executed() {
    let cost = |falls_through: bool, conditional: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.buffers.truncate(1);
            geometry.fetch.unknown_falls_through = falls_through;
        });
        for round in 0..8 {
            if round == 3 {
                walk.since();
            }
            for number in 0..400 {
                let pc = 0x40_0000 + 64 * number;
                let target = 0x40_0000 + 64 * ((number + 1) % 400);
                walk.block(pc, 1);
                match conditional {
                    true => walk.branch(Branch::Conditional {
                        pc,
                        target,
                        taken: true,
                    }),
                    false => walk.jump(pc, target),
                }
            }
        }
        walk.since().1 / 2000.0
    };
    let (decoded, executed) = (cost(false, true), cost(true, true));
    assert!((decoded - cost(false, false)).abs() < 0.1);
    assert_eq!(cost(true, false), cost(false, false));
    // Ten cycles behind dispatch, which is eight behind fetch, in place of eight behind that.
    assert!(
        (executed - decoded - 10.0).abs() < 1.0,
        "{executed} {decoded}"
    );
}

#[test]
fn where_code_lies_in_its_windows_counts() {
    // Twelve micro-ops that one window holds, or two share, without anything in the way behind.
    let cost = |start: u64| {
        let mut walk = Walk::new(|geometry| geometry.core.width = 8.0);
        for round in 0..2000 {
            if round == 1000 {
                walk.since();
            }
            walk.block(start, 6);
            walk.jump(start + 20, start);
        }
        walk.since().1 / 1000.0
    };
    let (inside, across) = (cost(0x40_0000), cost(0x40_0030));
    assert!(across > inside + 0.9, "{inside} {across}");
}

#[test]
fn what_data_cost_is_hidden_by_nothing() {
    let cost = |stall: f64| {
        let mut walk = Walk::new(|geometry| geometry.core.stall_cycles = stall);
        ring(&mut walk, 2000, 64, 8);
        let (counted, cycles) = walk.since();
        (counted.instructions as f64, cycles)
    };
    let ((instructions, plain), (_, stalled)) = (cost(0.0), cost(0.25));
    assert!(
        (stalled - plain - instructions / 4.0).abs() < 1.0,
        "{plain} {stalled}"
    );
}

#[test]
fn a_predictor_that_does_not_fetch_ahead_hides_no_misses() {
    let cost = |prefetch: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.fetch.next_line = false;
            geometry.fetch.prefetch = prefetch;
        });
        ring(&mut walk, 2000, 64, 3);
        walk.since();
        ring(&mut walk, 2000, 64, 5);
        let (counted, cycles) = walk.since();
        (counted.l1i_misses, cycles / 10_000.0)
    };
    let ((missed, ahead), (as_many, not_ahead)) = (cost(true), cost(false));
    assert_eq!(missed, as_many);
    assert!(ahead < 6.0, "{ahead}");
    // An L2 hit takes 16 cycles.
    assert!(not_ahead > 16.0, "{not_ahead}");
}

#[test]
fn pages_that_are_not_translated_ahead_are_waited_for_with_their_lines() {
    // A line in each page: more pages than the TLB has entries, and as many lines as L1i holds, or
    // more of them.
    let cost = |lines: u64, walk_ahead: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.fetch.next_line = false;
            geometry.fetch.walk_ahead = walk_ahead;
        });
        ring(&mut walk, lines, 4096 + 64, 3);
        walk.since();
        ring(&mut walk, lines, 4096 + 64, 5);
        let (counted, cycles) = walk.since();
        let blocks = 5 * lines;
        let missed = (counted.itlb_misses / blocks, counted.l1i_misses / blocks);
        (missed, cycles / blocks as f64)
    };
    let ((missed, ahead), (as_many, not_ahead)) = (cost(512, true), cost(512, false));
    assert_eq!((missed, as_many), ((1, 0), (1, 0)));
    assert!(ahead < 6.0, "{ahead}");
    // The second-level TLB takes 13 cycles.
    assert!((13.0..15.0).contains(&not_ahead), "{not_ahead}");
    let ((missed, ahead), (as_many, not_ahead)) = (cost(1024, true), cost(1024, false));
    assert_eq!((missed, as_many), ((1, 1), (1, 1)));
    assert!(ahead < 6.0, "{ahead}");
    // An L2 hit takes 16 cycles, and begins when the page is known.
    assert!((29.0..31.0).contains(&not_ahead), "{not_ahead}");
}

#[test]
fn what_is_behind_a_page_that_is_not_known_is_not_asked_for() {
    // Two lines that are not there in each page: the second comes when the first does.
    let cost = |walk_ahead: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.fetch.next_line = false;
            geometry.fetch.walk_ahead = walk_ahead;
        });
        let mut count = 0;
        for round in 0..8 {
            if round == 3 {
                walk.since();
                count = 0;
            }
            for page in 0..600 {
                let start = 0x40_0000 + page * (4096 + 128);
                walk.block(start, 8);
                walk.jump(start + 28, start + 64);
                walk.block(start + 64, 8);
                let next = (page + 1) % 600;
                walk.jump(start + 92, 0x40_0000 + next * (4096 + 128));
                count += 1;
            }
        }
        let (counted, cycles) = walk.since();
        assert_eq!(counted.l1i_misses, 2 * count);
        assert_eq!(counted.itlb_misses, count);
        cycles / count as f64
    };
    let (ahead, not_ahead) = (cost(true), cost(false));
    assert!(ahead < 8.0, "{ahead}");
    assert!((27.0..32.0).contains(&not_ahead), "{not_ahead}");
}

/// Cycles of a jump to itself behind so many instructions.
fn round(start: u64, instructions: u64, change: impl Fn(&mut DecoupledGeometry)) -> f64 {
    let mut walk = Walk::new(|geometry| {
        geometry.core.width = 16.0;
        change(geometry);
    });
    for round in 0..2000 {
        if round == 1000 {
            walk.since();
        }
        walk.block(start, instructions);
        walk.jump(start + 4 * instructions - 4, start);
    }
    walk.since().1 / 1000.0
}

#[test]
fn without_a_micro_op_cache_the_decoders_deliver() {
    let cost = |start: u64, (bytes, width): (usize, f64)| {
        round(start, 8, |geometry| {
            geometry.op_cache = None;
            geometry.fetch.decode_bytes = bytes;
            geometry.fetch.decode_width = width;
        })
    };
    // Thirty-two bytes, eight instructions.
    assert!((cost(0x40_0000, (32, 8.0)) - 1.0).abs() < 0.01);
    assert!((cost(0x40_0000, (16, 8.0)) - 2.0).abs() < 0.01);
    assert!((cost(0x40_0008, (16, 8.0)) - 3.0).abs() < 0.01);
    assert!((cost(0x40_0000, (16, 4.0)) - 2.0).abs() < 0.01);
    assert!((cost(0x40_0000, (32, 4.0)) - 2.0).abs() < 0.01);
}

#[test]
fn bytes_that_were_fetched_are_not_fetched_again() {
    // Eight instructions in one window, in one block or in four that go on.
    let cost = |pieces: u64| {
        let mut walk = Walk::new(|geometry| {
            geometry.core.width = 16.0;
            geometry.op_cache = None;
            geometry.fetch.decode_bytes = 32;
            geometry.fetch.decode_width = 8.0;
        });
        for round in 0..2000 {
            if round == 1000 {
                walk.since();
            }
            let each = 8 / pieces;
            for piece in 0..pieces {
                walk.block(0x40_0000 + piece * each * 4, each);
            }
            walk.jump(0x40_001c, 0x40_0000);
        }
        walk.since().1 / 1000.0
    };
    let (one, four) = (cost(1), cost(4));
    assert!((one - 1.0).abs() < 0.01, "{one}");
    // The first piece takes its cycle, the others what their instructions take.
    assert!((four - 1.75).abs() < 0.01, "{four}");
}

#[test]
fn two_windows_a_cycle_take_half_of_the_time() {
    let cost = |windows: usize| {
        round(0x40_0020, 16, |geometry| {
            geometry.fetch.taken_cycles = 0.5;
            geometry.op_cache.as_mut().expect("it has one").windows = windows;
            geometry.buffers[0].cycles = 0.0;
        })
    };
    let (one, two) = (cost(1), cost(2));
    assert!((one - 2.0).abs() < 0.01, "{one}");
    assert!(two < 1.6, "{two}");
}

/// Cycles of a round of so many runs of instructions of 4 bytes, each in a line of its own, at one
/// place of it or at two by turns. By a micro-op cache of 16 sets of four lines.
fn runs(by_run: bool, lines: u64, instructions: u64, places: u64) -> f64 {
    let mut walk = Walk::new(|geometry| {
        geometry.core.width = 8.0;
        geometry.fetch.decode_width = 4.0;
        geometry.fetch.decode_bytes = 16;
        geometry.fetch.switch_cycles = 0.0;
        geometry.fetch.taken_cycles = 0.0;
        geometry.buffers[0].cycles = 0.0;
        let op_cache = geometry.op_cache.as_mut().expect("it has one");
        (op_cache.sets, op_cache.ways, op_cache.ops) = (16, 4, 6);
        (op_cache.window_bytes, op_cache.windows, op_cache.by_run) = (64, 2, by_run);
    });
    for round in 0..400 {
        if round == 200 {
            walk.since();
        }
        for line in 0..lines {
            let start = 0x40_0000 + line * 64 + 4 * (round % places);
            walk.block(start, instructions);
            let next = 0x40_0000 + (line + 1) % lines * 64;
            let entered = if line + 1 == lines { round + 1 } else { round };
            walk.jump(start + 4 * instructions - 4, next + 4 * (entered % places));
        }
    }
    walk.since().1 / 200.0
}

#[test]
fn code_that_is_entered_at_two_places_is_in_a_micro_op_cache_of_runs_twice() {
    // 24 windows of twelve instructions are 48 lines, of 64; at two places they are 96.
    let cost = |by_run, places| runs(by_run, 24, 12, places) / 24.0;
    let plain = cost(false, 1);
    for (by_run, places) in [(true, 1), (false, 2)] {
        let other = cost(by_run, places);
        assert!((plain - other).abs() < 0.1, "{plain} {other}");
    }
    // Decoding takes three cycles, or four where they begin between two blocks of bytes.
    let twice = cost(true, 2);
    assert!(twice > plain + 0.9, "{plain} {twice}");
}

#[test]
fn a_line_of_a_run_is_full_or_ends_with_its_window_in_whatever_blocks_it_comes() {
    let cost = |pieces: u64| {
        let mut walk = Walk::new(|geometry| {
            let op_cache = geometry.op_cache.as_mut().expect("it has one");
            // One set of two lines: twelve micro-ops of a window, not thirteen.
            (op_cache.sets, op_cache.ways, op_cache.ops) = (1, 2, 6);
            (op_cache.window_bytes, op_cache.by_run) = (64, true);
            geometry.fetch.decode_width = 1.0;
        });
        for round in 0..200 {
            if round == 100 {
                walk.since();
            }
            for piece in 0..pieces {
                walk.block(0x40_0000 + piece * 48 / pieces, 12 / pieces);
            }
            walk.jump(0x40_002c, 0x40_0000);
        }
        walk.since().1 / 100.0
    };
    for pieces in [1, 2, 3, 4] {
        assert!(cost(pieces) < 4.0, "{pieces}: {}", cost(pieces));
    }
}

#[test]
fn a_call_takes_the_predictor_longer_than_a_jump() {
    let cost = |cycles: f64, call: bool| {
        let mut walk = Walk::new(|geometry| {
            geometry.core.width = 8.0;
            geometry.fetch.call_cycles = cycles;
        });
        for round in 0..400 {
            if round == 200 {
                walk.since();
            }
            for number in 0..8_u64 {
                let (pc, function) = (0x40_0000 + 16 * number, 0x41_0000 + 64 * number);
                let (next, back) = (pc + 16, function + 4);
                walk.block(pc, 1);
                if call {
                    walk.branch(Branch::Call {
                        pc,
                        target: function,
                        next,
                    });
                } else {
                    walk.jump(pc, function);
                }
                walk.block(function, 2);
                let next = if number == 7 { 0x40_0000 } else { next };
                walk.jump(back, next);
            }
        }
        walk.since().1 / (200.0 * 8.0)
    };
    assert!((cost(3.0, true) - cost(0.0, true) - 3.0).abs() < 0.05);
    assert!((cost(3.0, false) - cost(0.0, true)).abs() < 0.05);
}

/// Mispredicted ones of 1,000 branches that go the way that one before them was drawn to go.
///
/// drawn: a conditional branch or an indirect jump. jumps: taken ones in between. asked: the branch
/// that follows.
fn follows(by_direction: bool, drawn: Kind, jumps: u64, asked: Kind) -> u64 {
    let mut walk = Walk::new(|geometry| {
        geometry.predictor.by_direction = by_direction;
        geometry.predictor.history = vec![2, 16, 100];
    });
    let mut random = Random::new(3);
    let (first, line, mut wrong) = (0x40_0000_u64, 0x1000, 0);
    let go = |walk: &mut Walk, kind: Kind, pc: u64, way: bool| match kind {
        Kind::Conditional => {
            walk.conditional(pc, pc + 0x20, way);
            if way { pc + 0x20 } else { pc + 4 }
        }
        Kind::Indirect => {
            let target = pc + if way { 0x140 } else { 0x180 };
            walk.branch(Branch::IndirectJump { pc, target });
            target
        }
    };
    for round in 0..4000 {
        let way = random.below(2) == 1;
        let mut pc = go(&mut walk, drawn, first, way);
        walk.block(pc, 1);
        for number in 1..=jumps + 1 {
            walk.jump(pc, first + number * line);
            pc = first + number * line;
            walk.block(pc, 1);
        }
        walk.since();
        pc = go(&mut walk, asked, pc, way);
        let counted = walk.since().0;
        if round >= 3000 {
            wrong += counted.branch_mispredictions + counted.indirect_mispredictions;
        }
        walk.jump(pc, first);
    }
    wrong
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Conditional,
    Indirect,
}

#[test]
fn a_history_of_directions_forgets_what_an_indirect_jump_chose() {
    for asked in [Kind::Conditional, Kind::Indirect] {
        for jumps in [0, 1, 5] {
            let wrong = [false, true]
                .map(|by_direction| follows(by_direction, Kind::Indirect, jumps, asked));
            assert!(wrong[0] < 50, "paths have it: {asked:?} {jumps} {wrong:?}");
            let known = jumps == 0;
            assert_eq!(
                wrong[1] < 50,
                known,
                "the jump before is known: {asked:?} {wrong:?}"
            );
            let wrong = follows(true, Kind::Conditional, jumps, asked);
            assert!(wrong < 50, "directions have it: {asked:?} {jumps} {wrong}");
        }
    }
}
