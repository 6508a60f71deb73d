// SPDX-License-Identifier: GPL-2.0-or-later
//! Values that code shows to functions which do nothing with them: clang's value profiling.
//!
//! Where a compiler wants to know which function a pointer calls, or how long a copy is, it calls a
//! function of its run-time library with the value, the record of the calling function, and the
//! number of the place in it. In a kernel these functions return at once, and the machine counts
//! what they are called with.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use kernsmith_arch::Architecture;

use crate::output;
use crate::vcpu::Access;

/// What a function was called with: value, record, and place.
type Shown = [u64; 3];

/// Counts calls by their arguments, and writes the file.
pub struct Values {
    access: Access,
    counts: HashMap<Shown, u64>,
}

impl Values {
    /// Nothing is counted yet. `None` when QEMU does not show the registers. To be called from a
    /// callback of the vCPU.
    pub fn of(architecture: &dyn Architecture) -> Option<Self> {
        Some(Self {
            access: Access::find(&architecture.argument_registers())?,
            counts: HashMap::new(),
        })
    }

    /// Forgets what was counted before.
    pub fn begin(&mut self) {
        self.counts.clear();
    }

    /// One of the functions is called. To be called from a callback that reads registers.
    pub fn shown(&mut self) {
        let Some(arguments) = self.access.all_registers() else {
            return;
        };
        if let [value, record, place] = arguments[..] {
            // The third is a number of 32 bits, and the rest of its register anything.
            let shown = [value, record, u64::from(place as u32)];
            *self.counts.entry(shown).or_default() += 1;
        }
    }

    /// Writes the file: a line for each value at each place, sorted.
    ///
    /// # Errors
    ///
    /// One sentence with the file and the system's reason.
    pub fn end(self, file: &Path) -> Result<(), String> {
        let mut lines: Vec<_> = self
            .counts
            .into_iter()
            .map(|([value, record, place], count)| (record, place, value, count))
            .collect();
        lines.sort_unstable();
        let mut text = String::from("kernsmith-values 1\n");
        for (record, place, value, count) in lines {
            let _ = writeln!(text, "{record:x} {place} {value:x} {count}");
        }
        output::write_whole(file, text)
    }
}
