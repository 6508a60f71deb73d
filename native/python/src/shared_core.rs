// SPDX-License-Identifier: GPL-2.0-or-later
//! How many instructions a cycle of this core takes just now, and so whether it is shared; and how
//! often what runs on it is interrupted.
//!
//! Two threads of one core take turns at what is dispatched, so either gets about half of it while
//! both have work. Another guest's thread on the same core is in no figure of an operating system; but
//! instructions that do nothing and wait for nothing take twice as long. A chain of multiplications,
//! each of which waits for the one before, takes what it always does: it tells the core's cycles.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Rounds; an interrupt disturbs one of them.
const ROUNDS: usize = 15;

/// For which interruptions are counted.
const WATCHED: Duration = Duration::from_millis(3);
/// What takes longer is one. Guests are left and entered again in one to three.
const INTERRUPTION: Duration = Duration::from_micros(1);

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

/// Times a second that something else ran in place of this thread, on the processor that it runs on:
/// 3 ms. Zero where it is no x86-64.
///
/// Interrupts of this system and all that makes a guest's processor leave it, of which no figure of
/// this system tells. Caches and TLBs are cold behind them.
#[pyfunction]
pub fn interruptions_per_second() -> f64 {
    interruptions() as f64 / WATCHED.as_secs_f64()
}

#[cfg(target_arch = "x86_64")]
fn interruptions() -> usize {
    use std::arch::x86_64::_rdtsc;

    /// Readings of the counter between two of the clock.
    const READINGS: usize = 64;
    // SAFETY: every x86-64 has the counter.
    let ticks = || unsafe { _rdtsc() };
    let mut gaps = Vec::with_capacity(1 << 10);
    let (clock, begun) = (Instant::now(), ticks());
    let mut last = begun;
    while clock.elapsed() < WATCHED {
        // What the clock itself takes is no gap.
        last = ticks();
        for _ in 0..READINGS {
            let now = ticks();
            if now.saturating_sub(last) > 200 {
                gaps.push(now - last);
            }
            last = now;
        }
    }
    let tick = clock.elapsed().as_secs_f64() / last.saturating_sub(begun).max(1) as f64;
    let least = INTERRUPTION.as_secs_f64() / tick;
    gaps.iter().filter(|&&gap| gap as f64 > least).count()
}

#[cfg(not(target_arch = "x86_64"))]
fn interruptions() -> usize {
    0
}
