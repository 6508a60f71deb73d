// SPDX-License-Identifier: GPL-2.0-or-later
//! Orders of blocks, against the best of all orders.

mod map;

use kernsmith_profile::propeller::{Jump, ext_tsp, score};
use map::random::Random;

struct Case {
    sizes: Vec<u64>,
    counts: Vec<u64>,
    jumps: Vec<Jump>,
}

/// Walks through a made-up function; what it takes becomes the counts.
fn walked(random: &mut Random, blocks: u64) -> Case {
    let ways: Vec<Vec<usize>> = (0..blocks)
        .map(|_| {
            (0..1 + random.below(2))
                .map(|_| 1 + random.below(blocks - 1) as usize)
                .collect()
        })
        .collect();
    let sizes = (0..blocks).map(|_| 1 + random.below(120)).collect();
    let mut counts = vec![0; blocks as usize];
    let mut jumps = std::collections::BTreeMap::new();
    for _ in 0..40 {
        let mut at = 0;
        counts[at] += 1;
        for _ in 0..random.below(12) {
            // The first way is the likelier one.
            let to = ways[at][if random.once_in(5) {
                ways[at].len() - 1
            } else {
                0
            }];
            *jumps.entry((at, to)).or_insert(0) += 1;
            counts[to] += 1;
            at = to;
        }
    }
    let jump = |((from, to), count)| Jump { from, to, count };
    Case {
        sizes,
        counts,
        jumps: jumps.into_iter().map(jump).collect(),
    }
}

/// The most that an order that begins with block 0 is worth, of all orders.
fn best(case: &Case, order: &mut Vec<usize>) -> f64 {
    if order.len() == case.sizes.len() {
        return score(order, &case.sizes, &case.jumps);
    }
    let mut most = 0.0_f64;
    for block in 1..case.sizes.len() {
        if !order.contains(&block) {
            order.push(block);
            most = most.max(best(case, order));
            order.pop();
        }
    }
    most
}

#[test]
fn orders_are_nearly_the_best_that_there_are() {
    let mut random = Random::new(5);
    let (mut sum, mut worst, mut kept, mut cases) = (0.0, 1.0_f64, 0.0, 0.0);
    for case in (0..300).map(|number| walked(&mut random, 4 + number % 5)) {
        let order = ext_tsp(&case.sizes, &case.counts, &case.jumps);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..case.sizes.len()).collect::<Vec<_>>());
        assert_eq!(order[0], 0);
        let most = best(&case, &mut vec![0]);
        if most > 0.0 {
            let share = score(&order, &case.sizes, &case.jumps) / most;
            assert!(share < 1.0 + 1e-9);
            let as_it_is: Vec<usize> = (0..case.sizes.len()).collect();
            kept += score(&as_it_is, &case.sizes, &case.jumps) / most;
            (sum, worst, cases) = (sum + share, worst.min(share), cases + 1.0);
        }
    }
    // The order as it is shows that the cases are not easy.
    assert!(kept / cases < 0.7, "{}", kept / cases);
    assert!(sum / cases > 0.98, "{}", sum / cases);
    assert!(worst > 0.75, "{worst}");
}

#[test]
fn a_loop_is_turned_so_that_its_hot_way_falls_through() {
    // 0 → 1 (test) → 2 (body) → 3 (rest of the body) → 1 …, and 1 → 4 once.
    let jump = |(from, to, count)| Jump { from, to, count };
    let jumps = [(0, 1, 1), (1, 2, 99), (2, 3, 99), (3, 1, 99), (1, 4, 1)].map(jump);
    let sizes = [10, 10, 10, 10, 10];
    let order = ext_tsp(&sizes, &[1, 100, 99, 99, 1], &jumps);
    let falls = |(from, to)| order.windows(2).any(|pair| pair == [from, to]);
    assert!(
        [(2, 3), (3, 1)]
            .iter()
            .chain(&[(1, 2)])
            .filter(|way| falls(**way))
            .count()
            == 2
    );
    assert_eq!(order[0], 0);
}

#[test]
fn worth_is_what_the_paper_says() {
    let one = |from, to| {
        [Jump {
            from,
            to,
            count: 10,
        }]
    };
    // Falling through, 100 bytes forward, 300 bytes backward (over both blocks), too far.
    assert_eq!(score(&[0, 1], &[50, 50], &one(0, 1)), 10.0);
    let forward = score(&[0, 1, 2], &[50, 100, 50], &one(0, 2));
    assert!((forward - 10.0 * 0.1 * (1.0 - 100.0 / 1024.0)).abs() < 1e-12);
    let backward = score(&[0, 1], &[100, 200], &one(1, 0));
    assert!((backward - 10.0 * 0.1 * (1.0 - 300.0 / 640.0)).abs() < 1e-12);
    assert_eq!(score(&[0, 1, 2], &[50, 2000, 50], &one(0, 2)), 0.0);
}

#[test]
fn large_functions_take_no_long_time() {
    let mut random = Random::new(6);
    let blocks = 1500;
    let sizes: Vec<u64> = (0..blocks).map(|_| 4 + random.below(60)).collect();
    let mut jumps = Vec::new();
    for from in 0..blocks {
        let near = |random: &mut Random| (from + random.below(20)) % blocks;
        for _ in 0..2 {
            let (to, count) = (near(&mut random) as usize, random.below(10_000));
            jumps.push(Jump {
                from: from as usize,
                to,
                count,
            });
        }
    }
    let begun = std::time::Instant::now();
    let order = ext_tsp(&sizes, &vec![1; blocks as usize], &jumps);
    assert_eq!(order.len(), blocks as usize);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
