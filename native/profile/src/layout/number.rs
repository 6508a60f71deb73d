// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers of lines, pages and branches, as narrow as the executed code allows.

use std::collections::HashMap;

use crate::frontend::Key;
use crate::trace::Block;

/// Where the kernel's own code begins (Documentation/arch/x86/x86_64/mm.rst).
const KERNEL: u64 = 0xffff_ffff_8000_0000;

/// No page is smaller.
pub const LEAST_PAGE: u64 = 4096;

/// Whether the low 32 bits of an address tell which page it is in, of all that are executed in any
/// layout: kernel code lies in the highest 2 GiB, wherever it moves to.
pub fn is_narrow(blocks: &[Block], page_bytes: u64) -> bool {
    let mut pages = HashMap::new();
    let mut ends = blocks.iter().flat_map(|block| {
        let last = block.start + u64::from(block.bytes) - 1;
        [block.start, last].map(|address| (address / page_bytes, block.kernel))
    });
    ends.all(|(page, kernel)| match kernel {
        true => page >= KERNEL / page_bytes,
        false => *pages.entry(page % ((1 << 32) / page_bytes)).or_insert(page) == page,
    })
}

/// What lines, pages and branches are numbered with. With 32 bits, the tables of a layout stay in
/// the host's own caches.
///
/// A number is an address shifted right and cut to some bits, and above them 1 for kernel mode.
pub trait Number: Key {
    const BITS: u32;

    fn new(number: u64) -> Self;

    fn get(self) -> u64;

    /// An address of a mode, shifted right; the mode is bit `bits`.
    fn of(address: u64, shift: u32, bits: u32) -> Self {
        Self::new((address >> shift & ((1 << bits) - 1)) | address >> 63 << bits)
    }
}

impl Number for u32 {
    const BITS: u32 = 32;

    #[inline(always)]
    fn new(number: u64) -> Self {
        number as Self
    }

    #[inline(always)]
    fn get(self) -> u64 {
        self.into()
    }
}

impl Number for u64 {
    const BITS: u32 = 64;

    #[inline(always)]
    fn new(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn get(self) -> u64 {
        self
    }
}
