// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's clock when a vCPU becomes idle.
//!
//! With `-icount`, time is the number of executed instructions, which QEMU books when a vCPU comes
//! back from translated code; with `sleep=off`, time that nobody executes in is skipped. When a vCPU
//! halts, QEMU 10.0 marks it as idle first and books behind that (`do_hlt()` in its
//! target/i386/tcg/misc_helper.c, `icount_process_data()` in accel/tcg). Its main thread may see an
//! idle vCPU in between, and skips to the next timer from a time that lacks what was executed last:
//! the clock is too far by that much from then on. How often depends on the host's other work. So
//! they are booked before the instruction that halts is executed, by the function that QEMU has for
//! that and shows to its own modules.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::ffi;
use crate::running::{CpuState, variable_of_this_thread};

/// Books what vCPUs have executed.
pub struct Bookkeeper {
    /// `void icount_update(CPUState *)`.
    update: unsafe extern "C" fn(CpuState),
}

impl Bookkeeper {
    /// `None` when this QEMU does not show its function.
    pub fn find() -> Option<Self> {
        // SAFETY: only looks a name up.
        let found = unsafe { ffi::dlsym(null_mut(), c"icount_update".as_ptr()) };
        // SAFETY: a function of this type; the same size, of which null is `None`.
        let update = unsafe {
            std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(CpuState)>>(found)
        };
        Some(Self { update: update? })
    }

    /// What the vCPU has executed up to now is told to the clock. To be called from a callback of
    /// it that is called before an instruction.
    pub fn book(&self) {
        let current = variable_of_this_thread();
        if !current.is_null() {
            // SAFETY: the vCPU that runs in this thread, which QEMU itself would book next.
            unsafe { (self.update)(*current) };
        }
    }
}
