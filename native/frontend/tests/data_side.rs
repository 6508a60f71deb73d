// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads and stores: each mechanism against its definition, and what of it all dispatch waits for.

mod random;
mod walk;

use std::collections::{HashMap, VecDeque};

use kernsmith_frontend::{
    Access, CpuModel, DataCaches, DataCounters, DataGeometry, DataTlb, InstructionTlbs, Reorder,
    Replacement, SetAssociative, StrideGeometry, Strides, Walked,
};
use random::Random;
use walk::Walk;

/// Parts of a cycle.
const TICKS: u64 = 5040;

fn model() -> CpuModel {
    CpuModel::parse(include_str!("../../../cpus/emeraldrapids.toml")).expect("valid")
}

fn geometry(model: &CpuModel) -> DataGeometry {
    model.data.expect("it has a data side")
}

/// Figure 2 of Baer and Chen, word by word: the next state, and whether the stride is learnt.
fn next_state(state: &str, right: bool) -> (&'static str, bool) {
    match (state, right) {
        ("initial" | "transient", true) => ("steady", false),
        ("steady", true) => ("steady", false),
        ("none", true) => ("transient", false),
        ("initial", false) => ("transient", true),
        ("transient" | "none", false) => ("none", true),
        ("steady", false) => ("initial", false),
        other => panic!("{other:?}"),
    }
}

#[test]
fn strides_are_learnt_as_the_paper_says() {
    let mut random = Random::new(11);
    let mut strides = Strides::new(&StrideGeometry {
        entries: 16,
        ahead: 8,
    });
    let mut reference = HashMap::<u64, (u64, u64, i64, &str)>::new();
    let mut addresses = [0_u64; 40];
    let mut prefetched = 0;
    for step in 0..200_000 {
        let place = random.below(40);
        let address = &mut addresses[place as usize];
        *address = match random.below(8) {
            0 => random.below(1 << 20),
            1 => *address,
            _ => address.wrapping_add(8 * place).wrapping_sub(64),
        };
        let address = *address;
        let held = reference.get(&(place % 16)).copied();
        let (entry, wanted) = match held {
            Some((owner, last, stride, state)) if owner == place => {
                let met = address.wrapping_sub(last) as i64;
                let (state, learnt) = next_state(state, met == stride);
                let stride = if learnt { met } else { stride };
                let target = address.wrapping_add_signed(8 * stride);
                let asked = state == "steady" && stride != 0 && target / 4096 == address / 4096;
                ((place, address, stride, state), asked.then_some(target))
            }
            _ => ((place, address, 0, "initial"), None),
        };
        reference.insert(place % 16, entry);
        assert_eq!(strides.meet(place, address), wanted, "step {step}");
        prefetched += u64::from(wanted.is_some());
    }
    assert!(prefetched > 10_000, "{prefetched}");
}

#[test]
fn dispatch_waits_for_every_load_that_left_no_room() {
    let mut random = Random::new(12);
    for size in [1, 7, 64, 512] {
        let mut reorder = Reorder::new(size);
        let mut loads = Vec::new();
        let (mut ops, mut now, mut waited) = (0, 0, 0);
        for step in 0..5000 {
            ops += random.below(12);
            now = now.max(reorder.room(ops));
            let left = |load: &&(u64, u64)| load.0 + (size as u64) < ops;
            let expected = loads.iter().filter(left).map(|load| load.1).max();
            waited = waited.max(expected.unwrap_or(0));
            assert_eq!(now.max(waited), now, "size {size}, step {step}");
            now = now.max(waited) + random.below(5);
            for _ in 0..random.below(3) {
                let ready = now + random.pick(&[1, 14, 70, 300]);
                reorder.wait(ops, ready);
                loads.push((ops, ready));
            }
            // Nothing is waited for that could stay.
            let most = loads.iter().filter(|load| load.0 + (size as u64) < ops);
            assert!(most.map(|load| load.1).max().unwrap_or(0) <= now);
        }
    }
}

/// The time at which dispatch has room is the exact maximum, not more.
#[test]
fn a_load_is_waited_for_only_when_the_window_is_full() {
    let mut reorder = Reorder::new(10);
    reorder.wait(5, 100);
    reorder.wait(6, 90);
    reorder.wait(8, 140);
    assert_eq!(reorder.room(15), 0);
    assert_eq!(reorder.room(16), 100);
    assert_eq!(reorder.room(18), 0);
    assert_eq!(reorder.room(19), 140);
    assert_eq!(reorder.room(1000), 0);
}

/// L1d with its lines' arrivals as lists, the least recently used first.
struct Caches {
    l1d: Vec<Vec<(u64, u64)>>,
    l2: Vec<Vec<u64>>,
    l3: Vec<Vec<u64>>,
    buffers: VecDeque<u64>,
    counters: DataCounters,
}

impl Caches {
    fn has(sets: &mut [Vec<u64>], ways: usize, line: u64) -> bool {
        let number = line as usize % sets.len();
        let set = &mut sets[number];
        let at = set.iter().position(|one| *one == line);
        if let Some(at) = at {
            set.remove(at);
        } else if set.len() == ways {
            set.remove(0);
        }
        set.push(line);
        at.is_some()
    }

    fn access(&mut self, model: &CpuModel, line: u64, asked: u64) -> u64 {
        let data = geometry(model);
        self.counters.l1d_accesses += 1;
        let number = line as usize % self.l1d.len();
        if let Some(at) = self.l1d[number].iter().position(|one| one.0 == line) {
            let held = self.l1d[number].remove(at);
            self.l1d[number].push(held);
            return held.1.max(asked);
        }
        self.counters.l1d_misses += 1;
        let mut cycles = data.l1d.miss_cycles;
        if !Self::has(&mut self.l2, model.l2.ways, line) {
            self.counters.l2_misses += 1;
            cycles += model.l2.miss_cycles;
            if !Self::has(&mut self.l3, data.l3.ways, line) {
                self.counters.l3_misses += 1;
                cycles += data.l3.miss_cycles;
            }
        }
        let free = self.buffers.pop_front().expect("as many as there are");
        let ready = asked.max(free) + cycles as u64 * TICKS;
        self.buffers.push_back(ready);
        if self.l1d[number].len() == data.l1d.ways {
            self.l1d[number].remove(0);
        }
        self.l1d[number].push((line, ready));
        ready
    }
}

#[test]
fn lines_arrive_as_in_caches_that_are_lists() {
    let mut model = model();
    // Small ones, so that all of them overflow.
    let mut data = geometry(&model);
    (data.l1d.bytes, data.l1d.ways) = (64 * 24, 12);
    (model.l2.bytes, model.l2.ways) = (64 * 64, 4);
    (data.l3.bytes, data.l3.ways) = (64 * 160, 20);
    (
        data.l1d.miss_cycles,
        model.l2.miss_cycles,
        data.l3.miss_cycles,
    ) = (11.0, 56.0, 230.0);
    model.data = Some(data);
    let mut caches = DataCaches::new(&model, &data);
    let mut l2 = SetAssociative::<()>::new(64, 4, Replacement::Lru);
    let mut reference = Caches {
        l1d: vec![Vec::new(); 2],
        l2: vec![Vec::new(); 16],
        l3: vec![Vec::new(); 8],
        buffers: vec![0; data.fill_buffers].into(),
        counters: DataCounters::default(),
    };
    let mut counters = DataCounters::default();
    let mut random = Random::new(13);
    let mut now = 0;
    for step in 0..100_000 {
        now += random.below(20 * TICKS);
        let line = match random.below(4) {
            0 => random.below(400),
            1 => random.below(100),
            _ => random.below(30),
        };
        let ready = caches.access(line, now, &mut l2, &mut counters);
        assert_eq!(ready, reference.access(&model, line, now), "step {step}");
    }
    assert_eq!(counters, reference.counters);
    let DataCounters {
        l1d_misses,
        l2_misses,
        l3_misses,
        ..
    } = counters;
    assert!(l1d_misses > l2_misses && l2_misses > l3_misses && l3_misses > 1000);
}

#[test]
fn pages_that_the_data_tlb_lacks_are_looked_up_where_code_is_too() {
    let model = model();
    let mut code = InstructionTlbs::new(&model);
    let mut tlb = DataTlb::new(&geometry(&model).dtlb.arrays);
    let mut counters = DataCounters::default();
    let mut walked = |page: u64| {
        let first = page * 4096;
        tlb.translate(first + 8, first + 15, &mut code, &mut counters)
    };
    let missed = |misses, walks| Walked { misses, walks };
    assert_eq!(walked(1), missed(1, 1));
    assert_eq!(walked(1), missed(0, 0));
    // 96 entries, 16 sets: seven pages of one set are one too many; the second level has them.
    for page in 1..7 {
        assert_eq!(walked(1 + 16 * page), missed(1, 1));
    }
    assert_eq!(walked(1), missed(1, 0));
    // One access in two pages.
    let split = tlb.translate(4096 * 500 - 4, 4096 * 500 + 3, &mut code, &mut counters);
    assert_eq!(split, missed(2, 2));
    assert_eq!(counters.dtlb_misses, 10);
}

/// A walk over one block of 16 instructions again and again, with a load or store at each of these
/// addresses and so many blocks before the next one: what it takes beside the same without data, in
/// cycles for each of them, when all were met twice.
fn stall(addresses: &[u64], blocks: u64, store: bool) -> f64 {
    let cycles = |follows: bool| {
        let mut walk = Walk::new(|_| ());
        if follows {
            walk.follow_data(|data| {
                data.stall_cycles = 0.0;
                data.stride = None;
            });
        }
        for round in 0..3 {
            if round == 2 {
                walk.since();
            }
            for address in addresses {
                for number in 0..blocks {
                    walk.block(0x40_0000, 16);
                    if number == 0 {
                        walk.access(Access {
                            address: *address,
                            bytes: 8,
                            store,
                            place: 0x40_0000,
                        });
                    }
                    walk.jump(0x40_003c, 0x40_0000);
                }
            }
        }
        walk.since().1
    };
    (cycles(true) - cycles(false)) / addresses.len() as f64
}

/// Lines that lie so far apart that no cache keeps more than a few of them, in no order.
fn far_apart() -> Vec<u64> {
    let mut random = Random::new(14);
    let lines = 1 << 17;
    (0..lines)
        .map(|_| 0x7f00_0000_0000 + random.below(1 << 24) * 64)
        .collect()
}

#[test]
fn a_load_that_hits_costs_nothing_and_nor_does_a_store() {
    let near: Vec<u64> = (0..400).map(|number| 0x7000_0000 + number * 64).collect();
    assert_eq!(stall(&near, 1, false), 0.0);
    assert_eq!(stall(&far_apart(), 1, true), 0.0);
}

#[test]
fn misses_overlap_as_far_as_the_window_goes() {
    let addresses = far_apart();
    // From memory and by a page walk: 351 cycles, of which 512 micro-ops hide 128.
    let alone = stall(&addresses, 64, false);
    assert!((180.0..240.0).contains(&alone), "{alone}");
    // Eight in a window share that.
    let dense = stall(&addresses, 4, false);
    assert!((15.0..30.0).contains(&dense), "{dense}");
    // Thirty-two would, too, but lines come in no more than 16 buffers: one in 20.3 cycles.
    let denser = stall(&addresses, 1, false);
    assert!((14.5..21.5).contains(&denser), "{denser}");
}

#[test]
fn a_stride_is_fetched_ahead() {
    let cost = |prefetches: bool| {
        let mut walk = Walk::new(|_| ());
        walk.follow_data(|data| {
            data.stall_cycles = 0.0;
            if !prefetches {
                data.stride = None;
            }
        });
        for number in 0..50_000 {
            walk.block(0x40_0000, 400);
            walk.access(Access {
                address: 0x7f00_0000_0000 + number * 64,
                bytes: 8,
                store: false,
                place: 0x40_0000,
            });
            walk.jump(0x40_0000 + 1596, 0x40_0000);
        }
        (walk.data().l1d_misses, walk.since().1 / 50_000.0)
    };
    let ((missed, with), (missed_without, without)) = (cost(true), cost(false));
    assert_eq!(missed_without, 50_000);
    // The first lines of each page are not foreseen.
    assert!(missed < 50_000 / 4, "{missed}");
    assert!(with < without - 20.0, "{with} {without}");
}

#[test]
fn data_displace_code_in_the_second_level() {
    let code = |loads: bool| {
        let mut walk = Walk::new(|geometry| geometry.fetch.next_line = false);
        walk.follow_data(|_| ());
        for round in 0..6 {
            if round == 4 {
                walk.since();
            }
            walk::ring(&mut walk, 2000, 64, 1);
            for number in 0..40_000 * u64::from(loads) {
                walk.access(Access {
                    address: 0x7f00_0000_0000 + number * 64,
                    bytes: 8,
                    store: false,
                    place: 0,
                });
            }
        }
        walk.since().0
    };
    assert_eq!(code(false).l2i_misses, 0);
    assert!(code(true).l2i_misses > 1500, "{:?}", code(true));
}

#[test]
fn the_depth_frontend_sees_no_loads() {
    let cycles = |loads: bool| {
        let mut walk = Walk::new(|_| ());
        for number in 0..1000 {
            walk.block(0x40_0000, 16);
            if loads {
                walk.access(Access {
                    address: number << 20,
                    bytes: 8,
                    store: false,
                    place: 0,
                });
            }
            walk.jump(0x40_003c, 0x40_0000);
        }
        assert_eq!(walk.data(), DataCounters::default());
        walk.since().0
    };
    assert_eq!(cycles(true), cycles(false));
}
