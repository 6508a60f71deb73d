// SPDX-License-Identifier: GPL-2.0-or-later
//! Which vCPU runs, of several that take turns in one thread.
//!
//! QEMU 10.0 cannot be asked. It hands a number to callbacks, and has translated code write to the
//! memory of a vCPU, but both are those of the vCPU that the block was *translated* for, which others
//! execute as well (`gen_cpu_index` in its accel/tcg/plugin-gen.c: whoever takes turns in one thread
//! is taken for the only one). What it knows itself is the variable `current_cpu`, which it shows to
//! its own modules.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::ffi;

/// QEMU's record of a vCPU, whose address tells it from others.
pub type CpuState = *const c_void;

/// Numbers vCPUs in the order in which they are first seen.
pub struct Running {
    current: *const CpuState,
    last: CpuState,
    number: u32,
    known: Vec<CpuState>,
}

impl Running {
    /// To be called from a callback of a vCPU.
    ///
    /// # Errors
    ///
    /// One sentence: this QEMU does not show it.
    pub fn find() -> Result<Self, String> {
        let current = variable_of_this_thread();
        if current.is_null() {
            return Err("this QEMU does not show which vCPU runs: use -smp 1".into());
        }
        Ok(Self {
            current,
            last: null(),
            number: 0,
            known: Vec::new(),
        })
    }

    /// Whether this thread is the one that it was found in.
    pub fn is_here(&self) -> bool {
        variable_of_this_thread() == self.current
    }

    /// The number of the vCPU that runs. To be called from a callback of a vCPU.
    #[inline(always)]
    pub fn number(&mut self) -> u32 {
        // SAFETY: it is there as long as its thread, and this is that thread.
        let now = unsafe { *self.current };
        if now != self.last {
            self.turn(now);
        }
        self.number
    }

    #[cold]
    fn turn(&mut self, now: CpuState) {
        self.last = now;
        let known = self.known.iter().position(|one| *one == now);
        let number = known.unwrap_or_else(|| {
            self.known.push(now);
            self.known.len() - 1
        });
        self.number = number as u32;
    }
}

/// Where QEMU has the vCPU that runs in this thread; null when it does not show it.
pub fn variable_of_this_thread() -> *const CpuState {
    // SAFETY: only looks a name up.
    unsafe { ffi::dlsym(null_mut(), c"current_cpu".as_ptr()).cast() }
}
