// SPDX-License-Identifier: GPL-2.0-or-later
//! From entered blocks to counters and profile, without QEMU.

use std::sync::{Arc, Mutex};

use kernsmith_arch::{Architecture, Frame, PageMap, X86_64};
use kernsmith_frontend::CpuModel;
use kernsmith_tracer::block::{Block, Blocks, Instruction};
use kernsmith_tracer::engine::Engine;
use kernsmith_tracer::stream::Stream;

const PENALTIES: &str = include_str!("../../../tests/data/penalties.toml");
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const HANDLER: u64 = 0xffff_ffff_8200_0000;
const NOP: &[u8] = &[0x90];
const JE_10: &[u8] = &[0x74, 0x10];
const RET: &[u8] = &[0xc3];
const REP_MOVSB: &[u8] = &[0xf3, 0xa4];
const CLAC: &[u8] = &[0x0f, 0x01, 0xca];
const CLD: u8 = 0xfc;
const IRETQ: &[u8] = &[0x48, 0xcf];

/// An engine and its blocks.
struct Machine {
    engine: Engine,
    blocks: Arc<Mutex<Blocks>>,
}

impl Machine {
    fn new() -> Self {
        let model = CpuModel::parse(PENALTIES).expect("valid");
        let blocks = Arc::<Mutex<Blocks>>::default();
        Self {
            engine: Engine::new(&model, 1, X86_64.address_space(), Arc::clone(&blocks), None),
            blocks,
        }
    }

    fn block(&mut self, start: u64, code: &[&[u8]]) -> *const Block {
        let mut address = start;
        let mut instructions = Vec::new();
        for one in code {
            let mut bytes = [0; 16];
            bytes[..one.len()].copy_from_slice(one);
            instructions.push(Instruction {
                address,
                size: one.len(),
                bytes,
            });
            address += one.len() as u64;
        }
        let mut blocks = self.blocks.lock().expect("no test has panicked");
        blocks.get(&X86_64, &instructions, &mut || Some(CLD))
    }

    fn enter(&mut self, block: *const Block) {
        // SAFETY: the record is this engine's.
        unsafe { self.engine.enter::<true, false>(block) }
    }

    /// An interrupt comes before the instruction at `resume`.
    fn interrupt(&mut self, resume: u64) {
        self.arrive(Frame {
            resume,
            fault: false,
        });
    }

    /// The instruction at `resume` faults.
    fn fault(&mut self, resume: u64) {
        self.arrive(Frame {
            resume,
            fault: true,
        });
    }

    fn arrive(&mut self, frame: Frame) {
        let entry = self.block(HANDLER, &[CLAC]);
        let handler = self.block(HANDLER + 3, &[IRETQ]);
        // SAFETY: the record is this engine's.
        unsafe { self.engine.enter_handler::<true, false>(entry, frame) };
        self.enter(handler);
    }

    fn kernel_instructions(&self) -> u64 {
        self.engine.counters()[1].instructions
    }
}

/// Lines of the profile without the two counts of lines.
fn lines(machine: &Machine) -> Vec<String> {
    let text = machine.engine.profile_text();
    let is_entry = |line: &&str| line.contains(':');
    text.lines()
        .filter(is_entry)
        .map(|line| line.replace("ffffffff8", ""))
        .collect()
}

#[test]
fn a_conditional_branch_is_taken_when_its_target_comes_next() {
    let mut machine = Machine::new();
    let branch = machine.block(KERNEL, &[NOP, JE_10]);
    let (not_taken, taken) = (
        machine.block(KERNEL + 3, &[RET]),
        machine.block(KERNEL + 0x13, &[RET]),
    );
    for next in [taken, not_taken, taken, not_taken] {
        machine.enter(branch);
        machine.enter(next);
    }
    let counters = machine.engine.counters()[1];
    // Two taken branches, and three returns to the first block.
    assert_eq!(
        (counters.conditional_branches, counters.taken_branches),
        (4, 2 + 3)
    );
    assert_eq!(machine.engine.counters()[0].instructions, 0);
}

#[test]
fn ranges_and_edges_are_exact() {
    let mut machine = Machine::new();
    let branch = machine.block(KERNEL, &[NOP, JE_10]);
    let (next, target) = (
        machine.block(KERNEL + 3, &[RET]),
        machine.block(KERNEL + 0x13, &[RET]),
    );
    for _ in 0..3 {
        machine.enter(branch);
        machine.enter(target);
    }
    machine.enter(branch);
    machine.enter(next);
    machine.enter(branch);
    assert_eq!(machine.kernel_instructions(), 14);
    assert_eq!(
        lines(&machine),
        [
            "1000000-1000001:5",
            "1000003-1000003:1",
            "1000013-1000013:3",
            "1000001->1000013:3",
            "1000003->1000000:1",
            "1000013->1000000:3",
        ]
    );
    assert!(machine.engine.profile_text().starts_with("3\n"));
}

#[test]
fn an_interrupt_is_no_branch_and_hides_none() {
    let mut machine = Machine::new();
    let branch = machine.block(KERNEL, &[NOP, JE_10]);
    let target = machine.block(KERNEL + 0x13, &[RET]);
    machine.enter(branch);
    machine.interrupt(KERNEL + 0x13);
    machine.enter(target);
    assert_eq!(machine.kernel_instructions(), 5);
    assert_eq!(machine.engine.counters()[1].taken_branches, 1);
    assert!(lines(&machine).contains(&"1000001->1000013:1".to_owned()));
    assert!(
        !lines(&machine)
            .iter()
            .any(|line| line.contains("->2000000"))
    );
}

#[test]
fn a_return_into_an_interrupt_goes_where_the_frame_says() {
    let mut machine = Machine::new();
    let ret = machine.block(KERNEL, &[NOP, RET]);
    machine.enter(ret);
    machine.interrupt(KERNEL + 0x100);
    assert_eq!(
        lines(&machine).last().map(String::as_str),
        Some("1000001->1000100:1")
    );
}

#[test]
fn a_fault_in_the_middle_takes_back_what_did_not_run() {
    let mut machine = Machine::new();
    let block = machine.block(KERNEL, &[NOP, NOP, NOP, RET]);
    let rest = machine.block(KERNEL + 2, &[NOP, RET]);
    machine.enter(block);
    machine.fault(KERNEL + 2);
    machine.enter(rest);
    assert_eq!(machine.kernel_instructions(), 2 + 2 + 2);
    assert_eq!(machine.engine.undone(), [0, 2]);
    assert_eq!(
        lines(&machine),
        [
            "1000000-1000001:1",
            "1000002-1000003:1",
            "2000000-2000000:1",
            "2000003-2000003:1"
        ]
    );
}

#[test]
fn a_fault_of_the_last_instruction_counts_it_once() {
    let mut machine = Machine::new();
    let block = machine.block(KERNEL, &[NOP, RET]);
    let again = machine.block(KERNEL + 1, &[RET]);
    machine.enter(block);
    machine.fault(KERNEL + 1);
    machine.enter(again);
    assert_eq!(machine.kernel_instructions(), 1 + 2 + 1);
    assert_eq!(machine.engine.faults(), [0, 1]);
}

#[test]
fn a_block_that_qemu_starts_again_in_its_middle_counts_once() {
    let mut machine = Machine::new();
    let block = machine.block(KERNEL, &[NOP, NOP, NOP, RET]);
    let rest = machine.block(KERNEL + 3, &[RET]);
    machine.enter(block);
    machine.enter(rest);
    assert_eq!(machine.kernel_instructions(), 4);
    assert_eq!(machine.engine.faults(), [0, 0]);
}

#[test]
fn an_interrupted_string_instruction_is_one_instruction() {
    let mut machine = Machine::new();
    let before = machine.block(KERNEL, &[NOP, REP_MOVSB]);
    let again = machine.block(KERNEL + 1, &[REP_MOVSB]);
    let after = machine.block(KERNEL + 3, &[RET]);
    machine.enter(before);
    machine.interrupt(KERNEL + 1);
    machine.enter(again);
    machine.enter(after);
    let counters = machine.engine.counters()[1];
    assert_eq!(
        (counters.instructions, counters.rep_instructions),
        (1 + 2 + 1 + 1, 1)
    );
    assert_eq!(counters.taken_branches, 0);
}

#[test]
fn a_string_instruction_that_faults_is_one_instruction_and_no_extra_fault() {
    let mut machine = Machine::new();
    let before = machine.block(KERNEL, &[NOP, REP_MOVSB]);
    let again = machine.block(KERNEL + 1, &[REP_MOVSB]);
    machine.enter(before);
    machine.fault(KERNEL + 1);
    machine.enter(again);
    let counters = machine.engine.counters()[1];
    assert_eq!(
        (counters.instructions, counters.rep_instructions),
        (1 + 2 + 1, 1)
    );
    assert_eq!(machine.engine.faults(), [0, 0]);
}

#[test]
fn a_return_to_code_that_looks_like_a_handler_is_a_return() {
    let mut machine = Machine::new();
    let ret = machine.block(KERNEL, &[NOP, RET]);
    let looks_like_a_handler = machine.block(KERNEL + 0x100, &[CLAC]);
    machine.enter(ret);
    machine.enter(looks_like_a_handler);
    assert!(lines(&machine).contains(&"1000001->1000100:1".to_owned()));
}

#[test]
fn a_loop_over_its_own_block_interrupted_at_its_head() {
    let mut machine = Machine::new();
    let back_to_start: &[u8] = &[0x75, 0xfd];
    let body = machine.block(KERNEL, &[NOP, back_to_start]);
    machine.enter(body);
    machine.interrupt(KERNEL);
    machine.enter(body);
    // The second time its first instruction faults.
    machine.fault(KERNEL);
    assert_eq!(machine.kernel_instructions(), 2 + 2 + 2);
    assert_eq!(machine.engine.counters()[1].conditional_branches, 1);
    assert!(lines(&machine).contains(&"1000001->1000000:1".to_owned()));
}

#[test]
fn user_and_kernel_mode_are_counted_apart() {
    let mut machine = Machine::new();
    let user = machine.block(0x40_1000, &[NOP, &[0x0f, 0x05]]);
    let kernel = machine.block(KERNEL, &[NOP, RET]);
    machine.enter(user);
    machine.enter(kernel);
    machine.enter(user);
    let [in_user, in_kernel] = machine.engine.counters();
    assert_eq!((in_user.instructions, in_kernel.instructions), (4, 2));
    assert_eq!((in_user.l1i_misses, in_kernel.l1i_misses), (1, 1));
    // The return to user mode is a taken branch of the kernel, but no edge of its profile.
    assert_eq!(in_kernel.taken_branches, 1);
    assert_eq!(lines(&machine), ["1000000-1000001:1"]);
}

#[test]
fn begin_forgets_counts_and_keeps_caches() {
    let mut machine = Machine::new();
    let block = machine.block(KERNEL, &[NOP, RET]);
    machine.enter(block);
    machine.engine.begin();
    machine.enter(block);
    let counters = machine.engine.counters()[1];
    assert_eq!((counters.instructions, counters.l1i_misses), (2, 0));
    assert_eq!(lines(&machine).len(), 2);
}

#[test]
fn the_same_code_has_one_record_and_other_code_another() {
    let mut machine = Machine::new();
    let first = machine.block(KERNEL, &[NOP, RET]);
    assert_eq!(machine.block(KERNEL, &[NOP, RET]), first);
    assert_ne!(machine.block(KERNEL, &[NOP, NOP, RET]), first);
    assert_ne!(machine.block(KERNEL, &[CLAC, RET]), first);
    assert!(machine.block(KERNEL, &[]).is_null());
}

/// The kernel's text in pages of 2 MiB, its last part in small ones.
fn large_pages() -> PageMap {
    X86_64.image_pages(KERNEL, KERNEL + 0x60_1000)
}

#[test]
fn from_a_new_map_on_code_is_in_its_pages() {
    let mut machine = Machine::new();
    let far_apart: Vec<_> = (0..4)
        .map(|number| machine.block(KERNEL + number * 4096, &[NOP, RET]))
        .collect();
    far_apart.iter().for_each(|block| machine.enter(*block));
    assert_eq!(machine.engine.counters()[1].itlb_misses, 4);
    machine.engine.map(large_pages());
    machine.engine.begin();
    far_apart.iter().for_each(|block| machine.enter(*block));
    assert_eq!(machine.engine.counters()[1].itlb_misses, 1);
}

#[test]
fn a_stream_of_many_buffers_gives_what_direct_calls_give() {
    const BLOCKS: u64 = 50_000;
    let mut direct = Machine::new();
    let streamed = Machine::new();
    let mut stream_blocks = Machine {
        engine: Machine::new().engine,
        blocks: streamed.blocks,
    };
    let mut stream = Stream::start(streamed.engine, true, false).expect("a thread");
    for number in 0..BLOCKS {
        if number == BLOCKS / 3 {
            direct.engine.begin();
            stream.begin();
        }
        if number == BLOCKS / 2 {
            direct.engine.map(large_pages());
            stream.map(large_pages());
        }
        let start = KERNEL + number * number % 1009 * 32;
        let code: &[&[u8]] = if number % 3 == 0 {
            &[NOP, JE_10]
        } else {
            &[NOP, NOP, RET]
        };
        let block = direct.block(start, code);
        if number % 7 == 0 {
            let frame = Frame {
                resume: start + 1,
                fault: number % 14 == 0,
            };
            let entry = direct.block(HANDLER, &[CLAC]);
            // SAFETY: the record is this engine's.
            unsafe { direct.engine.enter_handler::<true, false>(entry, frame) };
            stream.frame(frame);
            stream.block(stream_blocks.block(HANDLER, &[CLAC]));
        }
        direct.enter(block);
        stream.block(stream_blocks.block(start, code));
    }
    let engine = stream.finish().expect("no panic");
    assert_eq!(engine.counters(), direct.engine.counters());
    assert_eq!(engine.profile_text(), direct.engine.profile_text());
    assert!(engine.counters()[1].instructions > BLOCKS);
}

/// What a reader of a record sees of its count, before and after something happens.
#[inline(never)]
fn entries_around(record: &Block, happens: impl FnOnce()) -> [u32; 2] {
    let before = record.entered.get();
    happens();
    [before, record.entered.get()]
}

#[test]
fn a_record_is_read_while_the_engine_counts() {
    let mut machine = Machine::new();
    let block = machine.block(KERNEL, &[NOP, RET]);
    // SAFETY: the record lives as long as the machine.
    let record = unsafe { &*block };
    assert_eq!(entries_around(record, || machine.enter(block)), [0, 1]);
}
