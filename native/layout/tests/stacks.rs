// SPDX-License-Identifier: GPL-2.0-or-later
//! Threads that call, return, are interrupted and switched: what they execute in each stack is what
//! the trace tells of it.

mod invented;

use std::collections::BTreeMap;

use invented::random::Random;
use invented::{MODELS, START};
use kernsmith_arch::{Architecture, X86_64};
use kernsmith_frontend::{Counters, CpuModel};
use kernsmith_layout::{AsTraced, Folded, Frames, NO_FRAME, Stacks, timed_by_part};
use kernsmith_trace::{Block, Facts, Instructions, Kind, Trace};

/// Functions that are called; behind them the one that switches threads, the handler of interrupts,
/// and the one that user mode calls.
const FUNCTIONS: u32 = 12;
const SWITCH: u32 = FUNCTIONS;
const HANDLER: u32 = FUNCTIONS + 1;
const ENTRY: u32 = FUNCTIONS + 2;
const ALL: u32 = FUNCTIONS + 3;
/// A function has so many blocks that end with calls, and one more.
const CALLS: u32 = 3;
const USER: u32 = 2 * ALL * (CALLS + 1);
const THREADS: usize = 4;
/// This function is inlined in another one, which has no code of its own.
const INLINED: u32 = 5;
const AROUND: u32 = 100;

fn whole(function: u32, block: u32) -> u32 {
    function * (CALLS + 1) + block
}

/// The second half of the same block.
fn half(function: u32, block: u32) -> u32 {
    ALL * (CALLS + 1) + whole(function, block)
}

fn start(function: u32, block: u32) -> u64 {
    START + u64::from(function) * 4096 + u64::from(block) * 16
}

fn blocks() -> Vec<Block> {
    let kind = |function, block| match (function, block) {
        (HANDLER | ENTRY, CALLS) => Kind::Far,
        (_, CALLS) => Kind::Return,
        (SWITCH, _) => Kind::Jump,
        _ => Kind::IndirectCall,
    };
    let part = |offset: u64| {
        let each = (0..ALL).flat_map(|function| (0..=CALLS).map(move |block| (function, block)));
        each.map(move |(function, block)| Block {
            start: start(function, block) + offset,
            target: start(SWITCH, CALLS),
            bytes: 16 - offset as u16,
            last_offset: 0,
            kind: kind(function, block),
            kernel: true,
            name: start(function, block) as u32 + offset as u32,
        })
    };
    let user = Block {
        start: 0x40_0000,
        target: 0,
        bytes: 16,
        last_offset: 0,
        kind: Kind::Far,
        kernel: false,
        name: 0x40_0000,
    };
    part(0).chain(part(8)).chain([user]).collect()
}

/// A call that is open: the function, and its block that comes next.
type Call = (u32, u32);

/// Executes, and notes how many blocks each stack has executed.
struct Machine {
    random: Random,
    words: Vec<u32>,
    executed: BTreeMap<Vec<u32>, u64>,
}

impl Machine {
    fn note(&mut self, stack: &[Call], function: u32, word: u32) {
        self.words.push(word);
        let functions = stack.iter().map(|call| call.0).chain([function]);
        let told = functions.flat_map(|one| match one {
            INLINED => vec![AROUND, INLINED],
            other => vec![other],
        });
        *self.executed.entry(told.collect()).or_default() += 1;
    }

    /// A handler, which calls a function.
    fn handle(&mut self) {
        self.note(&[], HANDLER, whole(HANDLER, CALLS - 1));
        self.note(&[(HANDLER, CALLS)], 3, whole(3, CALLS));
        self.note(&[], HANDLER, whole(HANDLER, CALLS));
    }

    /// A block, which may be broken off or interrupted in its middle.
    fn block(&mut self, stack: &[Call], function: u32, block: u32) {
        self.note(stack, function, whole(function, block));
        let broken = self.random.once_in(9);
        let interrupted = self.random.once_in(9);
        if broken || interrupted {
            self.words.push(1 << 31);
            if interrupted {
                self.handle();
            }
            self.note(stack, function, half(function, block));
        }
    }

    /// There may be an interrupt where a block has led to.
    fn led(&mut self, to: Call) {
        if self.random.once_in(9) {
            let address = start(to.0, to.1);
            let halves = [address as u32, (address >> 32) as u32];
            self.words.extend([(1 << 31) + 1, halves[0], halves[1], 0]);
            // Without a handler, the tracer has only seen code that looks like one.
            if self.random.once_in(2) {
                self.handle();
            }
        }
    }

    /// One block of a thread, or one of user mode. Returns whether it was a call, of which the
    /// callee is the caller's to choose.
    fn step(&mut self, stack: &mut Vec<Call>) -> bool {
        let Some((function, block)) = stack.pop() else {
            self.words.push(USER);
            stack.push((ENTRY, 0));
            return false;
        };
        self.block(stack, function, block);
        if block < CALLS {
            stack.push((function, block + 1));
            return true;
        }
        if let Some(caller) = stack.last() {
            self.led(*caller);
        }
        false
    }

    fn call(&mut self, stack: &mut Vec<Call>) {
        let function = self.random.below(FUNCTIONS.into()) as u32;
        // Most callees have only their last block left, which calls nothing.
        let calls = stack.len() < 9 && self.random.once_in(3);
        let block = if calls {
            self.random.below(CALLS.into()) as u32
        } else {
            CALLS
        };
        stack.push((function, block));
        self.led((function, block));
    }

    /// Until the thread is in user mode, and some blocks more; then it stands at a call.
    fn run(&mut self, stack: &mut Vec<Call>) {
        let mut more = 5 + self.random.below(60);
        let mut left = stack.is_empty();
        loop {
            let called = self.step(stack);
            left |= stack.is_empty();
            more = more.saturating_sub(u64::from(left));
            match (called, more) {
                (true, 0) => return,
                (true, _) => self.call(stack),
                _ => {}
            }
        }
    }
}

/// Threads of which each runs for a while; then the next one does.
fn machine(seed: u64, rounds: usize) -> Machine {
    let mut machine = Machine {
        random: Random::new(seed),
        words: vec![1 << 31],
        executed: BTreeMap::new(),
    };
    // The first thread is in user mode, the others begin in the kernel.
    let mut threads = vec![vec![(ENTRY, 0)]; THREADS];
    threads[0].clear();
    let mut now = 0;
    for round in 0..rounds {
        let mut stack = std::mem::take(&mut threads[now]);
        machine.run(&mut stack);
        threads[now] = stack;
        now = (now + 1 + machine.random.below(THREADS as u64 - 1) as usize) % THREADS;
        // A thread that has never run has no calls open.
        let stack = threads[now].clone();
        let open: &[Call] = if stack == [(ENTRY, 0)] { &[] } else { &stack };
        machine.note(open, SWITCH, whole(SWITCH, 0));
        machine.note(open, SWITCH, whole(SWITCH, CALLS));
        if round == rounds / 4 {
            machine.words.push((1 << 31) + 2);
            machine.executed.clear();
        }
    }
    let mut stack = std::mem::take(&mut threads[now]);
    machine.run(&mut stack);
    machine
}

fn trace(words: Vec<u32>) -> Trace {
    let blocks = blocks();
    let sizes = blocks.iter().map(|block| block.bytes as u8).collect();
    let ones = blocks.iter().map(|_| 1);
    Trace {
        instructions: Instructions::new(sizes, ones).expect("one each"),
        words: words.into(),
        facts: Facts {
            architecture: X86_64.qemu_target().to_owned(),
            pages: X86_64.image_pages(START, START + 4096 * u64::from(ALL)),
            ..Facts::default()
        },
        blocks,
    }
}

fn folded(trace: &Trace, model: &CpuModel) -> (Folded, Vec<Counters>) {
    let part = |block: &Block| match block.kernel {
        true => (block.start - START) as usize / 4096 + 1,
        false => 0,
    };
    let parts: Vec<usize> = trace.blocks.iter().map(part).collect();
    // A frame for each function, and one for what a function is inlined in.
    let frame = |function| match function {
        INLINED => (ALL, INLINED),
        other => (NO_FRAME, other),
    };
    let frames = Frames {
        all: (0..ALL).map(frame).chain([(NO_FRAME, AROUND)]).collect(),
        of_part: [NO_FRAME].into_iter().chain(0..ALL).collect(),
    };
    let placed = AsTraced(&trace.blocks);
    let pages = || trace.facts.pages.clone();
    let mut watch = Stacks::new(trace, &[start(SWITCH, 0)]);
    let counted = timed_by_part(trace, &placed, pages(), model, &parts, &mut watch);
    let plain = timed_by_part(trace, &placed, pages(), model, &parts, &mut ());
    (watch.fold(&counted, &parts, &frames), plain)
}

/// Blocks that were executed, by stack.
fn told(found: &Folded) -> BTreeMap<Vec<u32>, u64> {
    let mut paths: Vec<Vec<u32>> = Vec::new();
    let mut told = BTreeMap::new();
    for node in &found.nodes {
        let mut path = paths.get(node.parent as usize).cloned().unwrap_or_default();
        path.push(node.function);
        if node.own.instructions > 0 {
            told.insert(path.clone(), node.own.instructions);
        }
        paths.push(path);
    }
    told
}

#[test]
fn stacks_are_those_that_were_executed() {
    for seed in 0..40 {
        let machine = machine(seed, 60);
        let trace = trace(machine.words);
        let model = CpuModel::parse(MODELS[if seed % 2 == 0 { 0 } else { 3 }]).expect("a model");
        let (found, plain) = folded(&trace, &model);
        assert_eq!(told(&found), machine.executed, "seed {seed}");
        // Parts cost what they cost without stacks.
        assert_eq!(found.parts, plain);
        let sum = |counters: &mut dyn Iterator<Item = Counters>| {
            counters.fold(Counters::default(), |a, b| a + b)
        };
        let nodes = sum(&mut found.nodes.iter().map(|node| node.own));
        assert_eq!(nodes, sum(&mut plain[1..].iter().copied()));
    }
}

#[test]
fn what_is_pruned_is_of_what_it_is_below() {
    let trace = trace(machine(1, 60).words);
    let model = CpuModel::parse(MODELS[0]).expect("a model");
    let (found, _) = folded(&trace, &model);
    let pruned = found.pruned(&model, 0.01);
    assert!(pruned.nodes.len() < found.nodes.len());
    let cycles =
        |one: &Folded| -> f64 { one.nodes.iter().map(|node| node.own.cycles(&model)).sum() };
    assert!((cycles(&pruned) / cycles(&found) - 1.0).abs() < 1e-9);
    assert!(
        (0..)
            .zip(&pruned.nodes)
            .all(|(place, node)| node.parent == NO_FRAME || node.parent < place)
    );
    assert_eq!(found.pruned(&model, 0.0), found);
}
