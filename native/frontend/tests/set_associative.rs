// SPDX-License-Identifier: GPL-2.0-or-later
//! The store of caches, TLBs and target buffers, against the textbook's definition.

mod random;

use kernsmith_frontend::{Filter, Latest, Replacement, SetAssociative};
use random::Random;

/// Each set is a list: first comes what is replaced next.
struct Reference {
    sets: Vec<Vec<(u64, u64)>>,
    ways: usize,
    replacement: Replacement,
}

impl Reference {
    fn new(entries: usize, ways: usize, replacement: Replacement) -> Self {
        Self {
            sets: vec![Vec::new(); entries / ways],
            ways,
            replacement,
        }
    }

    fn lookup(&mut self, key: u64) -> Option<u64> {
        let number = key as usize % self.sets.len();
        let set = &mut self.sets[number];
        let at = set.iter().position(|entry| entry.0 == key)?;
        let found = set[at];
        if self.replacement == Replacement::Lru {
            set.remove(at);
            set.push(found);
        }
        Some(found.1)
    }

    fn insert(&mut self, key: u64, value: u64) {
        let number = key as usize % self.sets.len();
        let set = &mut self.sets[number];
        if set.len() == self.ways {
            set.remove(0);
        }
        set.push((key, value));
    }
}

/// Keys as code has them: often the same, often near, sometimes far, from both halves.
fn next_key(random: &mut Random, recent: &[u64]) -> u64 {
    match random.below(10) {
        0..=4 if !recent.is_empty() => random.pick(recent),
        5..=7 => random.below(64),
        8 => 0xffff_ffff_8100_0000 / 64 + random.below(4096),
        _ => random.next() >> 6,
    }
}

#[test]
fn hits_and_values_are_those_of_the_definition() {
    let mut random = Random::new(1);
    for round in 0..200 {
        let ways = random.pick(&[1, 2, 3, 4, 8, 12, 13, 16, 64]);
        let sets = 1 << random.below(6);
        let replacement = random.pick(&[Replacement::Lru, Replacement::RoundRobin]);
        let mut store = SetAssociative::<u64>::new(sets * ways, ways, replacement);
        let mut reference = Reference::new(sets * ways, ways, replacement);
        let mut recent = Vec::new();
        for step in 0..3000 {
            let key = next_key(&mut random, &recent);
            let found = store.lookup(key).copied();
            assert_eq!(
                found,
                reference.lookup(key),
                "round {round}, step {step}, key {key:x}"
            );
            if found.is_none() {
                store.insert(key, step);
                reference.insert(key, step);
            }
            recent.push(key);
            if recent.len() > 100 {
                recent.remove(0);
            }
        }
    }
}

/// The store that lies in the order of use, by looking up and putting in, and both in one.
#[test]
fn the_latest_first_hit_as_the_definition_says() {
    let mut random = Random::new(3);
    for round in 0..200 {
        let ways = random.pick(&[1, 2, 3, 4, 8, 12, 16]);
        let sets = 1 << random.below(6);
        let mut values = Latest::<u64>::new(sets * ways, ways);
        let mut keys = Latest::new(sets * ways, ways);
        let mut reference = Reference::new(sets * ways, ways, Replacement::Lru);
        let mut recent = Vec::new();
        for step in 0..3000 {
            let key = next_key(&mut random, &recent);
            let expected = reference.lookup(key);
            assert_eq!(values.lookup(key), expected, "round {round}, step {step}");
            assert_eq!(keys.access(key), expected.is_some());
            if expected.is_none() {
                values.insert(key, step);
                reference.insert(key, step);
            }
            recent.push(key);
            if recent.len() > 100 {
                recent.remove(0);
            }
        }
    }
}

/// Many keys in a row, 32 bits wide and 64.
#[test]
fn many_at_once_hit_as_one_by_one() {
    let mut random = Random::new(2);
    for round in 0..200 {
        let ways = random.pick(&[1, 2, 3, 4, 7, 8, 12, 13, 16, 64]);
        let sets = 1 << random.below(6);
        let replacement = random.pick(&[Replacement::Lru, Replacement::RoundRobin]);
        let mut narrow = Filter::<u32>::new(sets * ways, ways, replacement);
        let mut wide = Filter::<u64>::new(sets * ways, ways, replacement);
        let mut reference = Reference::new(sets * ways, ways, replacement);
        for step in 0..100 {
            let count = random.below(40);
            let keys: Vec<u32> = (0..count)
                .map(|_| random.below(3 * (sets * ways) as u64) as u32)
                .collect();
            let missing = |key: &&u32| {
                let missing = reference.lookup(u64::from(**key)).is_none();
                if missing {
                    reference.insert(u64::from(**key), 0);
                }
                missing
            };
            let expected: Vec<u32> = keys.iter().filter(missing).copied().collect();
            let mut filtered = keys.clone();
            let kept = narrow.filter(&mut filtered);
            assert_eq!(filtered[..kept], expected, "round {round}, step {step}");
            let mut filtered: Vec<u64> = keys.into_iter().map(u64::from).collect();
            let kept = wide.filter(&mut filtered);
            assert!(
                filtered[..kept]
                    .iter()
                    .copied()
                    .eq(expected.into_iter().map(u64::from))
            );
        }
    }
}

#[test]
fn a_loop_one_line_too_long_always_misses_with_lru() {
    let mut cache = SetAssociative::<()>::new(8, 8, Replacement::Lru);
    for _ in 0..10 {
        for key in 0..9 {
            assert!(!cache.access(key));
        }
    }
    for key in 1..9 {
        assert!(cache.access(key));
    }
}

#[test]
#[should_panic(expected = "12 entries in 4 ways")]
fn three_sets_are_refused() {
    let _ = SetAssociative::<()>::new(12, 4, Replacement::Lru);
}
