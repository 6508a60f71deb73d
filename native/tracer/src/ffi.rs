// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's plugin API, version 4 (QEMU 10.0, `include/qemu/qemu-plugin.h`), as far as it is used
//! here, and some functions of GLib and the C library, which every QEMU is linked with.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The API version this plugin is written for.
pub const API_VERSION: c_int = 4;

pub type PluginId = u64;

/// What QEMU tells a plugin when it is loaded (`qemu_info_t`).
#[repr(C)]
pub struct Info {
    pub target_name: *const c_char,
    pub version_min: c_int,
    pub version_cur: c_int,
    pub system_emulation: bool,
    pub smp_vcpus: c_int,
    pub max_vcpus: c_int,
}

/// Opaque: a block that is being translated.
#[repr(C)]
pub struct Tb(c_void);

/// Opaque: one of its instructions.
#[repr(C)]
pub struct Insn(c_void);

/// Opaque: per-vCPU storage that translated code can write.
#[repr(C)]
pub struct Scoreboard(c_void);

/// One 64-bit entry of a scoreboard (`qemu_plugin_u64`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Entry {
    pub scoreboard: *mut Scoreboard,
    pub offset: usize,
}

/// `enum qemu_plugin_cb_flags`: the callback reads registers.
pub const CB_R_REGS: c_int = 1;
/// `enum qemu_plugin_cb_flags`: the callback touches no registers.
pub const CB_NO_REGS: c_int = 0;
/// `enum qemu_plugin_mem_rw`: loads and stores.
pub const MEM_RW: c_int = 3;
/// `enum qemu_plugin_op`: add the immediate.
pub const INLINE_ADD_U64: c_int = 0;
/// `enum qemu_plugin_op`: store the immediate.
pub const INLINE_STORE_U64: c_int = 1;

/// `enum qemu_plugin_cond`: the entry differs from the immediate.
pub const COND_NE: c_int = 3;

/// GLib's `GArray`.
#[repr(C)]
pub struct GArray {
    pub data: *mut c_char,
    pub len: c_uint,
}

/// GLib's `GByteArray`.
#[repr(C)]
pub struct GByteArray {
    pub data: *mut u8,
    pub len: c_uint,
}

/// `qemu_plugin_reg_descriptor`, the element type of [`qemu_plugin_get_registers`].
#[repr(C)]
pub struct RegisterDescriptor {
    pub handle: *mut c_void,
    pub name: *const c_char,
    pub feature: *const c_char,
}

pub type SimpleCallback = extern "C" fn(PluginId);
pub type VcpuCallback = extern "C" fn(PluginId, c_uint);
pub type TranslateCallback = extern "C" fn(PluginId, *mut Tb);
pub type ExecuteCallback = extern "C" fn(c_uint, *mut c_void);
/// With what the access is (`qemu_plugin_meminfo_t`), and its virtual address.
pub type MemoryCallback = extern "C" fn(c_uint, u32, u64, *mut c_void);
pub type ExitCallback = extern "C" fn(PluginId, *mut c_void);

unsafe extern "C" {
    pub fn qemu_plugin_reset(id: PluginId, done: SimpleCallback);
    pub fn qemu_plugin_register_vcpu_init_cb(id: PluginId, callback: VcpuCallback);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: PluginId, callback: TranslateCallback);
    pub fn qemu_plugin_register_atexit_cb(id: PluginId, callback: ExitCallback, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        tb: *mut Tb,
        callback: ExecuteCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_tb_exec_cond_cb(
        tb: *mut Tb,
        callback: ExecuteCallback,
        flags: c_int,
        condition: c_int,
        entry: Entry,
        immediate: u64,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut Insn,
        callback: ExecuteCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
        insn: *mut Insn,
        operation: c_int,
        entry: Entry,
        immediate: u64,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        callback: MemoryCallback,
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: u32) -> bool;
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_data(insn: *const Insn, to: *mut c_void, bytes: usize) -> usize;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub fn qemu_plugin_insn_vaddr(insn: *const Insn) -> u64;
    pub fn qemu_plugin_scoreboard_new(element_bytes: usize) -> *mut Scoreboard;
    pub fn qemu_plugin_scoreboard_find(board: *mut Scoreboard, vcpu: c_uint) -> *mut c_void;
    pub fn qemu_plugin_get_registers() -> *mut GArray;
    pub fn qemu_plugin_read_register(handle: *mut c_void, to: *mut GByteArray) -> c_int;
    pub fn qemu_plugin_read_memory_vaddr(address: u64, to: *mut GByteArray, bytes: usize) -> bool;

    pub fn g_byte_array_new() -> *mut GByteArray;
    pub fn g_byte_array_set_size(array: *mut GByteArray, bytes: c_uint) -> *mut GByteArray;
    pub fn g_array_free(array: *mut GArray, free_segment: c_int) -> *mut c_char;

    /// Of the system's own library: where a name of the program, or of what it has loaded, lies.
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;

    /// Ends the process without running exit handlers: QEMU's own would wait for this thread.
    pub fn _exit(status: c_int) -> !;
}
