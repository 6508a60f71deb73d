// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the vCPU when it has entered an interrupt or exception handler.

use std::ffi::{CStr, c_void};

use kernsmith_arch::{Architecture, Frame, Vcpu};

use crate::ffi;

/// Finds out which program was interrupted.
pub struct FrameReader {
    architecture: &'static dyn Architecture,
    access: Access,
}

/// Access to registers and memory of the vCPU.
struct Access {
    /// QEMU's handles, as [`Architecture::frame_registers`] names them.
    registers: Vec<*mut c_void>,
    buffer: *mut ffi::GByteArray,
}

impl FrameReader {
    /// Looks the registers up. `None` when QEMU does not offer one of them. To be called from a
    /// callback of the vCPU.
    pub fn find(architecture: &'static dyn Architecture) -> Option<Self> {
        let wanted = architecture.frame_registers();
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
        // SAFETY: allocates; never freed, because the reader lives as long as the program.
        let buffer = unsafe { ffi::g_byte_array_new() };
        Some(Self {
            architecture,
            access: Access { registers, buffer },
        })
    }

    /// The interrupted program. To be called from a callback of the vCPU, at the entry of the
    /// handler's first block.
    pub fn read(&mut self) -> Option<Frame> {
        self.architecture.frame(&mut self.access)
    }

    /// The byte at `address`. To be called from a callback of the vCPU.
    pub fn byte(&mut self, address: u64) -> Option<u8> {
        let buffer = self.access.buffer;
        // SAFETY: the buffer is GLib's own, and one byte was read when the first is accessed.
        unsafe { ffi::qemu_plugin_read_memory_vaddr(address, buffer, 1).then(|| *(*buffer).data) }
    }
}

impl Access {
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
