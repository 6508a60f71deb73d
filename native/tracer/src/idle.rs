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

use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::LazyLock;

use crate::ffi;
use crate::running::{CpuState, variable_of_this_thread};

/// `void icount_update(CPUState *)`, if this QEMU shows it.
static UPDATE: LazyLock<Option<unsafe extern "C" fn(CpuState)>> = LazyLock::new(|| {
    // SAFETY: looks a name up; what it finds is a function of this type, and null is `None`.
    unsafe {
        std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(CpuState)>>(ffi::dlsym(
            null_mut(),
            c"icount_update".as_ptr(),
        ))
    }
});

/// Whether [`on_halt`] can do what it is for.
pub fn is_booked() -> bool {
    UPDATE.is_some()
}

/// To be called before an instruction that halts the vCPU: what was executed up to now is booked.
pub extern "C" fn on_halt(_vcpu: c_uint, _data: *mut c_void) {
    let current = variable_of_this_thread();
    if let (Some(update), false) = (*UPDATE, current.is_null()) {
        // SAFETY: the vCPU that runs in this thread, which QEMU itself would book next.
        unsafe { update(*current) };
    }
}
