// SPDX-License-Identifier: GPL-2.0-or-later
//! What `exact=on` tells.

use kernsmith_frontend::Counters;

use crate::engine::Engine;
use crate::instrument::Instrumentation;

/// Compares the counters of user mode and kernel mode with those of every single instruction. Beside
/// what completed, these have the iterations of string instructions, and each instruction that
/// faulted once more.
pub fn tell(counters: &[Counters; 2], instrumentation: &Instrumentation, engine: &Engine) {
    for (mode, name) in ["user", "kernel"].into_iter().enumerate() {
        let counters = counters[mode];
        let repeated = counters.rep_iterations - counters.rep_instructions;
        let (faults, undone) = (engine.faults()[mode], engine.undone()[mode]);
        let started = instrumentation.started(mode);
        let expected = counters.instructions + repeated + faults;
        let difference = started as i64 - expected as i64;
        eprintln!(
            "kernsmith-tracer: {name}: {started} started, {} counted, {repeated} iterations, \
             {faults} faults, difference {difference}; {undone} taken back",
            counters.instructions
        );
    }
}
