// SPDX-License-Identifier: GPL-2.0-or-later
//! Several vCPUs: each has a flow and a front end of its own, and all are counted together.

use std::sync::{Arc, Mutex};

use kernsmith_arch::{Architecture, Frame, X86_64};
use kernsmith_frontend::CpuModel;
use kernsmith_tracer::block::{Block, Blocks, Instruction};
use kernsmith_tracer::engine::Engine;
use kernsmith_tracer::stream::Stream;

const KERNEL: u64 = 0xffff_ffff_8100_0000;
/// A conditional branch of two bytes, to 0x10 behind it.
const BRANCH: [u8; 2] = [0x74, 0x10];
const TAKEN: u64 = KERNEL + 0x12;
const NOP: [u8; 2] = [0x66, 0x90];

fn engine(vcpus: usize) -> (Engine, Arc<Mutex<Blocks>>) {
    let model = CpuModel::parse(include_str!("../../../cpus/emeraldrapids.toml")).expect("valid");
    let blocks = Arc::<Mutex<Blocks>>::default();
    let space = X86_64.address_space();
    let engine = Engine::new(&model, vcpus, space, Arc::clone(&blocks), None);
    (engine, blocks)
}

/// A block of one instruction.
fn block(blocks: &Mutex<Blocks>, address: u64, code: [u8; 2]) -> *const Block {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&code);
    let only = Instruction {
        address,
        size: 2,
        bytes,
    };
    let mut blocks = blocks.lock().expect("no test has panicked");
    blocks.get(&X86_64, &[only], &mut || None)
}

fn enter(engine: &mut Engine, block: *const Block) {
    // SAFETY: the record is this engine's.
    unsafe { engine.enter::<true, false>(block) }
}

#[test]
fn where_a_branch_led_is_asked_of_the_vcpu_that_executed_it() {
    let (mut engine, blocks) = engine(2);
    let (branch, taken) = (block(&blocks, KERNEL, BRANCH), block(&blocks, TAKEN, NOP));
    for number in 0..3 {
        let elsewhere = block(&blocks, KERNEL + 0x1000 + 2 * number, NOP);
        engine.run_on(0);
        enter(&mut engine, branch);
        engine.run_on(1);
        enter(&mut engine, elsewhere);
        engine.run_on(0);
        enter(&mut engine, taken);
    }
    let kernel = engine.counters()[1];
    assert_eq!(kernel.instructions, 9);
    assert_eq!((kernel.conditional_branches, kernel.taken_branches), (3, 3));
    assert_eq!(engine.undone(), [0, 0]);
    let profile = engine.profile_text();
    assert!(profile.contains("->ffffffff81000012:3"), "{profile}");
}

#[test]
fn each_has_caches_of_its_own() {
    let misses = |vcpus: &[usize]| {
        let (mut engine, blocks) = engine(2);
        let code = block(&blocks, KERNEL, NOP);
        let other = block(&blocks, KERNEL + 0x1000, NOP);
        for vcpu in vcpus {
            engine.run_on(*vcpu);
            enter(&mut engine, code);
            enter(&mut engine, other);
        }
        engine.counters()[1]
    };
    let (alone, both) = (misses(&[0, 0, 0, 0]), misses(&[0, 1, 0, 1]));
    assert_eq!(both.instructions, alone.instructions);
    assert_eq!(both.l1i_misses, 2 * alone.l1i_misses);
    assert_eq!(both.itlb_misses, 2 * alone.itlb_misses);
    assert!(alone.l1i_misses > 0 && both.ticks > alone.ticks);
}

#[test]
fn a_region_that_begins_finds_every_cache_as_it_was() {
    let (mut engine, blocks) = engine(2);
    let code = block(&blocks, KERNEL, NOP);
    let other = block(&blocks, KERNEL + 0x1000, NOP);
    for warm in [false, true] {
        engine.begin();
        for vcpu in [1, 0] {
            engine.run_on(vcpu);
            enter(&mut engine, code);
            enter(&mut engine, other);
        }
        assert_eq!(engine.counters()[1].l1i_misses == 0, warm);
    }
}

#[test]
fn a_stream_of_several_gives_what_direct_calls_give() {
    let (mut direct, direct_blocks) = engine(3);
    let (streamed, stream_blocks) = engine(3);
    let mut stream = Stream::start(streamed, true, false).expect("a thread");
    for number in 0..60_000_u64 {
        let vcpu = number / 5 % 3;
        direct.run_on(vcpu as usize);
        stream.run_on(vcpu as u32);
        let address = KERNEL + number * number % 1009 * 32;
        let code = if number % 3 == 0 { BRANCH } else { NOP };
        let one = block(&direct_blocks, address, code);
        if number % 11 == 0 {
            let frame = Frame {
                resume: address,
                fault: false,
            };
            stream.frame(frame);
            // SAFETY: the record is this engine's.
            unsafe { direct.enter_handler::<true, false>(one, frame) };
        } else {
            enter(&mut direct, one);
        }
        stream.block(block(&stream_blocks, address, code));
    }
    let engine = stream.finish().expect("no panic");
    assert_eq!(engine.counters(), direct.counters());
    assert_eq!(engine.profile_text(), direct.profile_text());
    assert!(engine.counters()[1].l1i_misses > 0);
}
