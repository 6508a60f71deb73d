// SPDX-License-Identifier: GPL-2.0-or-later
//! Loads and stores on their way from the vCPU to the simulation.

use std::sync::{Arc, Mutex};

use kernsmith_arch::{Architecture, Frame, PageMap, Run, X86_64};
use kernsmith_frontend::{CpuModel, DataCounters};
use kernsmith_tracer::block::{Block, Blocks, Instruction};
use kernsmith_tracer::engine::Engine;
use kernsmith_tracer::stream::Stream;

const KERNEL: u64 = 0xffff_ffff_8100_0000;
const PROGRAM: u64 = 0x40_0000;
/// Where physical memory is, with five levels of tables: all 57 bits count.
const DIRECT_MAP: u64 = 0xff11_0000_0000_0000;

fn engine(follows: bool) -> (Engine, Arc<Mutex<Blocks>>) {
    let model = CpuModel::parse(include_str!("../../../cpus/emeraldrapids.toml")).expect("valid");
    let blocks = Arc::<Mutex<Blocks>>::default();
    let mut engine = Engine::new(&model, 1, X86_64.address_space(), Arc::clone(&blocks), None);
    if follows {
        engine.follow_data(&model);
    }
    (engine, blocks)
}

/// A block of one instruction that does nothing.
fn block(blocks: &Mutex<Blocks>, address: u64) -> *const Block {
    let mut bytes = [0; 16];
    bytes[0] = 0x90;
    let only = Instruction {
        address,
        size: 1,
        bytes,
    };
    let mut blocks = blocks.lock().expect("no test has panicked");
    blocks.get(&X86_64, &[only], &mut || None)
}

fn large_pages() -> PageMap {
    let run = Run {
        start: DIRECT_MAP,
        last: DIRECT_MAP + (1 << 30) - 1,
        shift: 21,
    };
    PageMap::new([run]).expect("a map")
}

#[test]
fn a_stream_of_accesses_gives_what_direct_calls_give() {
    let (mut direct, direct_blocks) = engine(true);
    let (streamed, stream_blocks) = engine(true);
    let mut stream = Stream::start(streamed, false, false).expect("a thread");
    direct.map_data(large_pages());
    stream.map_data(large_pages());
    for number in 0..60_000_u64 {
        if number == 20_000 {
            direct.begin();
            stream.begin();
        }
        let code = if number % 2 == 0 { KERNEL } else { PROGRAM } + number % 97;
        let (one, other) = (block(&direct_blocks, code), block(&stream_blocks, code));
        if number % 11 == 0 {
            // The second word of a frame may look like anything.
            let resume = number << 2;
            let frame = Frame {
                resume,
                fault: false,
            };
            // SAFETY: the record is this engine's.
            unsafe { direct.enter_handler::<false, false>(one, frame) };
            stream.frame(frame);
        } else {
            // SAFETY: the record is this engine's.
            unsafe { direct.enter::<false, false>(one) };
        }
        stream.block(other);
        for access in 0..number % 4 {
            let address = [DIRECT_MAP, 0x7fff_ffff_f000, u64::MAX - 0xff_ffff, 0];
            let address = address[(number % 4) as usize] + number * 4099 % (1 << 22);
            let size = (number % 7) as u32;
            direct.access(address, 1 << size, access == 1);
            stream.data(address, size, access == 1);
        }
    }
    let engine = stream.finish().expect("no panic");
    assert_eq!(engine.data_counters(), direct.data_counters());
    assert_eq!(engine.counters(), direct.counters());
    for counters in engine.data_counters() {
        assert!(counters.l1d_accesses > 10_000 && counters.l1d_misses > 1000);
        assert!(counters.dtlb_misses > 0);
    }
}

#[test]
fn accesses_are_of_the_mode_whose_code_makes_them_whatever_is_there() {
    let (mut engine, blocks) = engine(true);
    for code in [PROGRAM, KERNEL] {
        let entered = block(&blocks, code);
        // SAFETY: the record is this engine's.
        unsafe { engine.enter::<false, false>(entered) };
        engine.access(0x7000_0000, 8, false);
        engine.access(0x7000_0000, 4, true);
    }
    let accesses = engine.data_counters().map(|counters| counters.l1d_accesses);
    let misses = engine.data_counters().map(|counters| counters.l1d_misses);
    assert_eq!((accesses, misses), ([2, 2], [1, 0]));
    // In two lines, of which the first is there.
    engine.access(0x7000_003c, 8, false);
    assert_eq!(engine.data_counters()[1].l1d_accesses, 4);
    assert_eq!(engine.data_counters()[1].l1d_misses, 1);
}

#[test]
fn large_pages_of_data_need_one_entry() {
    for (map, misses) in [(PageMap::default(), 512), (large_pages(), 1)] {
        let (mut engine, blocks) = engine(true);
        engine.map_data(map);
        let entered = block(&blocks, KERNEL);
        // SAFETY: the record is this engine's.
        unsafe { engine.enter::<false, false>(entered) };
        for page in 0..512 {
            engine.access(DIRECT_MAP + page * 4096, 8, false);
        }
        assert_eq!(engine.data_counters()[1].dtlb_misses, misses);
    }
}

#[test]
fn nothing_is_counted_before_a_block_or_without_a_data_side() {
    let (mut engine_with, _) = engine(true);
    engine_with.access(0x7000_0000, 8, false);
    assert_eq!(engine_with.data_counters(), [DataCounters::default(); 2]);
    let (mut without, blocks) = engine(false);
    let entered = block(&blocks, KERNEL);
    // SAFETY: the record is this engine's.
    unsafe { without.enter::<false, false>(entered) };
    without.access(0x7000_0000, 8, false);
    assert_eq!(without.data_counters(), [DataCounters::default(); 2]);
}
