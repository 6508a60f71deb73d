// SPDX-License-Identifier: GPL-2.0-or-later
//! Registers and memory of the vCPU, as QEMU shows them to plugins.

use std::ffi::{CStr, c_void};

use kernsmith_arch::Vcpu;

use crate::ffi;

/// Access to some registers, and to memory.
pub struct Access {
    /// QEMU's handles.
    registers: Vec<*mut c_void>,
    buffer: *mut ffi::GByteArray,
}

impl Access {
    /// Looks registers up by their names. `None` when QEMU does not offer one of them. To be called
    /// from a callback of the vCPU.
    pub fn find(wanted: &[&CStr]) -> Option<Self> {
        // SAFETY: QEMU hands out an array of descriptors, whose strings live for ever.
        let found: Option<Vec<_>> = unsafe {
            let registers = ffi::qemu_plugin_get_registers();
            let first = (*registers).data.cast::<ffi::RegisterDescriptor>();
            let descriptors = std::slice::from_raw_parts(first, (*registers).len as usize);
            let handle = |name: &&CStr| {
                let mut descriptors = descriptors.iter();
                let found = descriptors.find(|one| CStr::from_ptr(one.name) == *name);
                found.map(|register| register.handle)
            };
            let found = wanted.iter().map(handle).collect();
            ffi::g_array_free(registers, 1);
            found
        };
        let registers = found?;
        // SAFETY: allocates; never freed, because it is used as long as the program lives.
        let buffer = unsafe { ffi::g_byte_array_new() };
        Some(Self { registers, buffer })
    }

    /// The byte at `address`. To be called from a callback of the vCPU.
    pub fn byte(&mut self, address: u64) -> Option<u8> {
        let buffer = self.buffer;
        // SAFETY: the buffer is GLib's own, and one byte was read when the first is accessed.
        unsafe { ffi::qemu_plugin_read_memory_vaddr(address, buffer, 1).then(|| *(*buffer).data) }
    }

    /// All registers; `None` when one of them cannot be read. To be called from a callback that
    /// reads registers.
    pub fn all_registers(&mut self) -> Option<Vec<u64>> {
        let places = 0..self.registers.len();
        places.map(|place| self.register(place)).collect()
    }

    /// # Safety
    ///
    /// The buffer was filled with more words than that.
    unsafe fn word(&self, number: usize) -> u64 {
        // SAFETY: promised by the caller.
        unsafe {
            let words = (*self.buffer).data.cast::<u64>();
            words.add(number).read_unaligned()
        }
    }
}

impl Vcpu for Access {
    fn register(&mut self, place: usize) -> Option<u64> {
        let handle = *self.registers.get(place)?;
        // SAFETY: handle and buffer are QEMU's and GLib's own.
        unsafe {
            ffi::g_byte_array_set_size(self.buffer, 0);
            let bytes = ffi::qemu_plugin_read_register(handle, self.buffer);
            (bytes == 8).then(|| self.word(0))
        }
    }

    fn memory(&mut self, address: u64, words: &mut [u64]) -> bool {
        let bytes = size_of_val(words);
        // SAFETY: as above; the read has no side effects on the guest.
        unsafe {
            let read = ffi::qemu_plugin_read_memory_vaddr(address, self.buffer, bytes);
            if read {
                for (number, word) in words.iter_mut().enumerate() {
                    *word = self.word(number);
                }
            }
            read
        }
    }
}
