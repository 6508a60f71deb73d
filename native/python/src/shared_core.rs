// SPDX-License-Identifier: GPL-2.0-or-later
//! How many instructions a cycle of this core takes just now, and so whether it is shared.
//!
//! Two threads of one core take turns at what is dispatched, so either gets about half of it while
//! both have work. Another guest's thread on the same core is in no figure of an operating system; but
//! instructions that do nothing and wait for nothing take twice as long. A chain of multiplications,
//! each of which waits for the one before, takes what it always does: it tells the core's cycles.

use pyo3::prelude::*;

/// Rounds; an interrupt disturbs one of them.
const ROUNDS: usize = 15;

/// The median over some rounds of instructions in a cycle of the core, by this thread on the
/// processor that it runs on: some 60 µs. Zero where it is no x86-64.
#[pyfunction]
pub fn instructions_per_cycle() -> f64 {
    let mut rounds: [f64; ROUNDS] = std::array::from_fn(|_| round());
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

#[cfg(target_arch = "x86_64")]
fn round() -> f64 {
    use std::arch::{asm, x86_64::__rdtscp};

    /// Of a chain, and of the loop of other instructions: times round.
    const CHAIN: u64 = 128;
    const LOOP: u64 = 256;
    let mut processor = 0;
    // SAFETY: what asks for this has found `rdtscp` in /proc/cpuinfo; the instructions between
    // touch but their own registers.
    let (begun, chained, over) = unsafe {
        let begun = __rdtscp(&mut processor);
        asm!(
            "2:",
            ".rept 16",
            "imul {link}, {link}",
            ".endr",
            "dec {count}",
            "jnz 2b",
            link = inout(reg) 3_u64 => _,
            count = inout(reg) CHAIN => _,
            options(nomem, nostack),
        );
        let chained = __rdtscp(&mut processor);
        asm!(
            // Where it lies must not decide how fast it is delivered.
            ".balign 64",
            "2:",
            ".rept 64",
            ".byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
            ".endr",
            "dec {count}",
            "jnz 2b",
            count = inout(reg) LOOP => _,
            options(nomem, nostack),
        );
        (begun, chained, __rdtscp(&mut processor))
    };
    // A multiplication takes three cycles (guest/programs/program.c).
    let tick = (CHAIN * 16 * 3) as f64 / chained.saturating_sub(begun).max(1) as f64;
    let cycles = over.saturating_sub(chained).max(1) as f64 * tick;
    (LOOP * 64) as f64 / cycles
}

#[cfg(not(target_arch = "x86_64"))]
fn round() -> f64 {
    0.0
}
