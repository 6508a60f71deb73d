// SPDX-License-Identifier: GPL-2.0-or-later
//! Single instructions whose execution is reported: marks, those that wait for an interrupt, and the
//! first ones of functions.

use std::ffi::c_void;
use std::ptr::null_mut;

use kernsmith_arch::Architecture;

use crate::block::LONGEST;
use crate::ffi::{self, ExecuteCallback, Insn, Tb};

/// Has a mark's execution reported, with its number ([`kernsmith_arch::Marker`]).
///
/// # Safety
///
/// `insn` is being translated.
pub unsafe fn for_marker(
    architecture: &dyn Architecture,
    insn: *mut Insn,
    on_marker: ExecuteCallback,
) {
    let mut bytes = [0; LONGEST];
    let size = architecture.marker_bytes();
    // SAFETY: promised by the caller.
    unsafe {
        if ffi::qemu_plugin_insn_size(insn) != size {
            return;
        }
        ffi::qemu_plugin_insn_data(insn, bytes.as_mut_ptr().cast(), bytes.len());
        if let Some(marker) = architecture.marker(&bytes[..size]) {
            let data = marker as usize as *mut c_void;
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, ffi::CB_R_REGS, data);
        }
    }
}

/// Has it reported when an instruction is about to wait for an interrupt.
///
/// # Safety
///
/// `insn` is being translated.
pub unsafe fn for_halt(architecture: &dyn Architecture, insn: *mut Insn, on_halt: ExecuteCallback) {
    let mut bytes = [0; LONGEST];
    // SAFETY: promised by the caller.
    unsafe {
        let size = ffi::qemu_plugin_insn_size(insn).min(LONGEST);
        ffi::qemu_plugin_insn_data(insn, bytes.as_mut_ptr().cast(), bytes.len());
        if architecture.halts(&bytes[..size]) {
            ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_halt, ffi::CB_NO_REGS, null_mut());
        }
    }
}

/// Has calls of functions at these addresses reported.
///
/// # Safety
///
/// `tb` is being translated, and has so many instructions.
pub unsafe fn for_calls(called: &[u64], tb: *mut Tb, count: usize, on_call: ExecuteCallback) {
    if called.is_empty() {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe {
        for number in 0..count {
            let insn = ffi::qemu_plugin_tb_get_insn(tb, number);
            if called.contains(&ffi::qemu_plugin_insn_vaddr(insn)) {
                let registers = ffi::CB_R_REGS;
                ffi::qemu_plugin_register_vcpu_insn_exec_cb(insn, on_call, registers, null_mut());
            }
        }
    }
}
