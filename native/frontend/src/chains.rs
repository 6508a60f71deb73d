// SPDX-License-Identifier: GPL-2.0-or-later
//! Chains of instructions that wait for each other's results: worked out of each block once, as what it
//! makes of the times at which registers are ready.
//!
//! A block's results are ready so many cycles after it is dispatched, or so many after those that it
//! reads, whichever is later: a matrix over maximum and addition, as in F. Baccelli, G. Cohen, G. J.
//! Olsder and J.-P. Quadrat, *Synchronization and Linearity*, 1992.

use kernsmith_arch::{CARRIED, Operation};

use super::lanes::{LANES, Lanes};

/// The lane behind those of registers: when all is done that was dispatched.
pub const DONE: usize = CARRIED;

const _: () = assert!(DONE + 1 == LANES);

/// Parts of a cycle that are told apart here.
pub const PER_CYCLE: u64 = 4;

/// Does not depend on it: less than any time, whatever is added to it.
const NEVER: i16 = i16::MIN;

/// Longer chains are cut: nothing waits for so long. In parts of a cycle.
const LONGEST: i16 = 8000;

/// What the core needs for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latencies {
    /// A load that hits the nearest cache, in cycles.
    pub load: f64,
    /// Micro-ops that are dispatched in a cycle.
    pub width: f64,
}

/// Blocks by number.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    blocks: Vec<Block>,
    /// Block after block: how long after the dispatch each is ready whatever else; all bits where a
    /// register stays as it was; and for each register that something waits for, how long it does.
    rows: Vec<Lanes>,
    /// Of each of these last ones, the register.
    registers: Vec<u8>,
    /// Of the blocks' last instructions.
    last: Vec<Value>,
}

/// Where a block begins in the rows and registers, and how many of these it has.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    row: u32,
    register: u32,
    count: u32,
}

/// A value: so long after the dispatch, and after each register that was there before.
#[derive(Debug, Clone, Copy)]
struct Value {
    own: i16,
    waits: Lanes,
}

impl Value {
    const AT_ONCE: Self = Self {
        own: 0,
        waits: Lanes([NEVER; LANES]),
    };

    fn of(register: usize) -> Self {
        let mut value = Self::AT_ONCE;
        value.waits.0[register] = 0;
        value
    }

    fn later(self, other: Self) -> Self {
        Self {
            own: self.own.max(other.own),
            waits: self.waits.later(&other.waits),
        }
    }

    fn after(self, time: i16) -> Self {
        let later = |one: i16| match one {
            NEVER => NEVER,
            known => known.saturating_add(time).min(LONGEST),
        };
        Self {
            own: later(self.own),
            waits: Lanes(self.waits.0.map(later)),
        }
    }
}

fn parts(cycles: f64) -> i16 {
    (cycles * PER_CYCLE as f64).round().min(LONGEST.into()) as i16
}

impl Chains {
    /// The block of this number has these instructions.
    pub fn add(&mut self, number: usize, operations: &[Operation], core: Latencies) {
        let mut values = [Value::AT_ONCE; u64::BITS as usize];
        for (register, value) in values.iter_mut().enumerate().take(CARRIED) {
            *value = Value::of(register);
        }
        let (mut written, mut done, mut last) = (0_u64, Value::AT_ONCE, Value::AT_ONCE);
        for (place, operation) in operations.iter().enumerate() {
            let of_all = |registers: u64| {
                bits(registers).fold(Value::AT_ONCE, |value, one| value.later(values[one]))
            };
            let mut result = of_all(operation.addresses);
            result.own = result.own.max(parts((place + 1) as f64 / core.width));
            if operation.loads {
                result = result.after(parts(core.load));
            }
            result = result.later(of_all(operation.reads));
            last = result.after(parts(operation.cycles.into()));
            for one in bits(operation.writes) {
                values[one] = last;
            }
            written |= operation.writes;
            done = done.later(last);
        }
        let block = self.block(&values, written, done);
        if self.blocks.len() <= number {
            self.blocks.resize(number + 1, Block::default());
            self.last.resize(number + 1, Value::AT_ONCE);
        }
        (self.blocks[number], self.last[number]) = (block, last);
    }

    fn block(&mut self, values: &[Value; 64], written: u64, done: Value) -> Block {
        let (row, first) = (self.rows.len(), self.registers.len());
        let value = |lane: usize| match lane {
            DONE => Some(done),
            register => (written >> register & 1 == 1).then_some(values[register]),
        };
        let mut push = |lane: &dyn Fn(usize) -> i16| {
            self.rows.push(Lanes(std::array::from_fn(lane)));
        };
        push(&|lane| value(lane).map_or(0, |value| value.own));
        push(&|lane| if value(lane).is_none() { -1 } else { 0 });
        for register in 0..CARRIED {
            let waits = |lane| value(lane).map_or(NEVER, |value| value.waits.0[register]);
            if (0..LANES).any(|lane| waits(lane) != NEVER) {
                push(&waits);
                self.registers.push(register as u8);
            }
        }
        Block {
            row: row as u32,
            register: first as u32,
            count: (self.registers.len() - first) as u32,
        }
    }

    /// When registers are ready behind a block, where they were `ready` before it; in parts of a cycle,
    /// both from its dispatch on.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self, number: usize, ready: &Lanes) -> Lanes {
        let block = self.blocks[number];
        let count = block.count as usize;
        let rows = &self.rows[block.row as usize..][..2 + count];
        let registers = &self.registers[block.register as usize..][..count];
        let mut after = rows[0].later(&ready.masked(&rows[1]));
        for (register, waits) in registers.iter().zip(&rows[2..]) {
            let time = ready.0[*register as usize % LANES];
            after = after.later(&waits.after(time));
        }
        after
    }

    /// When a block's last instruction is done, where registers were ready then before it.
    #[must_use]
    pub fn last(&self, number: usize, ready: &Lanes) -> u64 {
        let last = &self.last[number];
        let waits = ready.0.iter().zip(&last.waits.0);
        let latest = waits.map(|(ready, wait)| ready.saturating_add(*wait)).max();
        latest.unwrap_or(0).max(last.own) as u64
    }
}

fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers, as bits.
    const A: u64 = 1;
    const B: u64 = 1 << 1;
    const C: u64 = 1 << 2;
    /// One that is followed within a block only.
    const FLAGS: u64 = 1 << 40;

    const CORE: Latencies = Latencies {
        load: 5.0,
        width: 4.0,
    };

    fn computes(reads: u64, writes: u64, cycles: u8) -> Operation {
        Operation {
            reads,
            writes,
            cycles,
            ..Operation::default()
        }
    }

    fn loads(addresses: u64, writes: u64) -> Operation {
        Operation {
            addresses,
            writes,
            loads: true,
            ..Operation::default()
        }
    }

    /// In cycles: when A, B, C and all are ready behind a block, and its last instruction is done.
    fn behind(operations: &[Operation], ready: [i16; 3]) -> ([f64; 4], f64) {
        let mut chains = Chains::default();
        chains.add(3, operations, CORE);
        let mut before = Lanes::default();
        for (lane, time) in ready.into_iter().enumerate() {
            before.0[lane] = time * PER_CYCLE as i16;
        }
        let after = chains.behind(3, &before);
        let cycles = |parts: i16| f64::from(parts) / PER_CYCLE as f64;
        let last = chains.last(3, &before) as f64 / PER_CYCLE as f64;
        ([0, 1, 2, DONE].map(|lane| cycles(after.0[lane])), last)
    }

    #[test]
    fn results_are_ready_behind_what_they_wait_for() {
        // b = a + 1; c = b * c
        let block = [computes(A, B, 1), computes(B | C, C, 3)];
        assert_eq!(behind(&block, [0, 0, 0]), ([0.0, 1.25, 4.25, 4.25], 4.25));
        assert_eq!(behind(&block, [10, 0, 2]), ([10.0, 11.0, 14.0, 14.0], 14.0));
        assert_eq!(behind(&block, [0, 90, 20]), ([0.0, 1.25, 23.0, 23.0], 23.0));
    }

    #[test]
    fn a_load_waits_for_its_address_and_what_it_computes_with_does_not() {
        // c = c + [a]
        let block = [Operation {
            reads: C,
            addresses: A,
            writes: C,
            loads: true,
            cycles: 1,
        }];
        assert_eq!(behind(&block, [10, 0, 0]).0[2], 16.0);
        assert_eq!(behind(&block, [0, 0, 10]).0[2], 11.0);
        // a = [a]; a = [a]
        let chase = [loads(A, A), loads(A, A)];
        assert_eq!(behind(&chase, [2, 0, 0]), ([12.0, 0.0, 0.0, 12.0], 12.0));
    }

    #[test]
    fn a_branch_waits_for_flags_and_nobody_for_it() {
        // b = [a]; compare b, c; branch
        let block = [
            loads(A, B),
            computes(B | C, FLAGS, 1),
            computes(FLAGS, 0, 1),
        ];
        let (ready, last) = behind(&block, [4, 0, 0]);
        assert_eq!((ready, last), ([4.0, 9.0, 0.0, 11.0], 11.0));
        // What was made zero waits for nothing.
        let (ready, last) = behind(&[computes(0, A, 0)], [40, 50, 0]);
        assert_eq!((ready, last), ([0.25, 50.0, 0.0, 0.25], 0.25));
    }

    #[test]
    fn a_block_of_which_nothing_is_known_changes_nothing() {
        assert_eq!(behind(&[], [3, 2, 1]), ([3.0, 2.0, 1.0, 0.0], 0.0));
        let long = vec![loads(A, A); 3000];
        let (ready, _) = behind(&long, [0, 0, 0]);
        assert_eq!(ready[0], f64::from(LONGEST) / PER_CYCLE as f64);
    }

    /// Two blocks one after the other are what both are as one, whatever they do.
    #[test]
    fn blocks_compose() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        // All dispatched at once: else the second block's place would count.
        let core = Latencies { width: 1e9, ..CORE };
        for _ in 0..300 {
            let mut some = || {
                let mut registers = 0;
                for _ in 0..next(3) {
                    registers |= 1 << next(CARRIED as u64);
                }
                registers
            };
            let mut operations = Vec::new();
            for _ in 0..12 {
                operations.push(Operation {
                    reads: some(),
                    addresses: some(),
                    writes: some(),
                    loads: some() & 1 == 0,
                    cycles: 2,
                });
            }
            let mut chains = Chains::default();
            chains.add(0, &operations[..5], core);
            chains.add(1, &operations[5..], core);
            chains.add(2, &operations, core);
            let before = Lanes(std::array::from_fn(|lane| (lane * lane % 7) as i16));
            let parted = chains.behind(1, &chains.behind(0, &before));
            let whole = chains.behind(2, &before);
            assert_eq!(parted.0[..CARRIED], whole.0[..CARRIED]);
            assert!(parted.0[DONE] <= whole.0[DONE], "of the second one alone");
        }
    }
}
