// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the frame that the processor pushed when it entered an interrupt or exception handler.

use std::ffi::{CStr, c_void};

use crate::decode::{Decoder, FRAME_WORDS, Frame};
use crate::ffi;

/// Access to the stack of the vCPU.
pub struct FrameReader {
    decoder: &'static dyn Decoder,
    stack_pointer: *mut c_void,
    buffer: *mut ffi::GByteArray,
}

impl FrameReader {
    /// Looks the stack pointer up. `None` when QEMU offers no such register. To be called from a
    /// callback of the vCPU.
    pub fn find(decoder: &'static dyn Decoder) -> Option<Self> {
        // SAFETY: QEMU hands out an array of descriptors, whose strings live for ever.
        let stack_pointer = unsafe {
            let registers = ffi::qemu_plugin_get_registers();
            let first = (*registers).data.cast::<ffi::RegisterDescriptor>();
            let descriptors = std::slice::from_raw_parts(first, (*registers).len as usize);
            let found = descriptors
                .iter()
                .find(|register| CStr::from_ptr(register.name) == c"rsp")
                .map(|register| register.handle);
            ffi::g_array_free(registers, 1);
            found?
        };
        // SAFETY: allocates; never freed, because the reader lives as long as the program.
        let buffer = unsafe { ffi::g_byte_array_new() };
        Some(Self {
            decoder,
            stack_pointer,
            buffer,
        })
    }

    /// The interrupted program. To be called from a callback of the vCPU, at the entry of the
    /// handler's first block.
    pub fn read(&mut self) -> Option<Frame> {
        // SAFETY: handle and buffer are QEMU's and GLib's own.
        let stack_pointer = unsafe {
            ffi::g_byte_array_set_size(self.buffer, 0);
            let bytes = ffi::qemu_plugin_read_register(self.stack_pointer, self.buffer);
            (bytes == 8).then(|| self.word(0))?
        };
        let bytes = FRAME_WORDS * size_of::<u64>();
        // SAFETY: as above; the read has no side effects on the guest.
        unsafe { ffi::qemu_plugin_read_memory_vaddr(stack_pointer, self.buffer, bytes) }.then(
            || {
                self.decoder
                    .frame(std::array::from_fn(|number| self.word(number)))
            },
        )?
    }

    /// The byte at `address`. To be called from a callback of the vCPU.
    pub fn byte(&mut self, address: u64) -> Option<u8> {
        // SAFETY: as above, and one byte was read when the first is accessed.
        unsafe {
            ffi::qemu_plugin_read_memory_vaddr(address, self.buffer, 1)
                .then(|| *(*self.buffer).data)
        }
    }

    fn word(&self, number: usize) -> u64 {
        // SAFETY: the array was just filled with more than that.
        unsafe {
            (*self.buffer)
                .data
                .cast::<u64>()
                .add(number)
                .read_unaligned()
        }
    }
}
