// SPDX-License-Identifier: GPL-2.0-or-later
//! Page tables (Intel SDM volume 3, 4.5), read where Linux has all physical memory mapped.

use crate::{PageMap, Run, SMALL};

/// Entries of a table, of each level.
const ENTRIES: usize = 512;

/// Bits of an address that choose an entry.
const ENTRY_BITS: u32 = 9;

/// log2 of the bytes that an entry of the top table maps, with four and with five levels.
const TOP: [u32; 2] = [39, 48];

/// Where physical memory is mapped, with four and with five levels: `__PAGE_OFFSET_BASE_L4` and
/// `_L5` (`arch/x86/include/asm/page_64_types.h`). A kernel that places itself at random moves it.
const DIRECT_MAP: [u64; 2] = [0xffff_8880_0000_0000, 0xff11_0000_0000_0000];

/// `__START_KERNEL_map`.
const KERNEL: u64 = 0xffff_ffff_8000_0000;

/// log2 of the largest page.
const LARGEST: u32 = 30;

const PRESENT: u64 = 1;
const IS_PAGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;
const FRAME: u64 = 0x000f_ffff_ffff_f000;

/// CR4: addresses have 57 bits, and tables five levels.
const LA57: u64 = 1 << 12;

/// See [`crate::Architecture::code_pages`]; `registers` are CR3 and CR4.
pub fn code_pages(
    registers: &[u64],
    memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
) -> Option<PageMap> {
    walk(registers, memory, Wanted::Code)
}

/// See [`crate::Architecture::data_pages`]; `registers` are CR3 and CR4.
pub fn data_pages(
    registers: &[u64],
    memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
) -> Option<PageMap> {
    walk(registers, memory, Wanted::Large)
}

fn walk(
    registers: &[u64],
    memory: &mut dyn FnMut(u64, &mut [u64]) -> bool,
    wanted: Wanted,
) -> Option<PageMap> {
    let &[cr3, cr4] = registers else {
        return None;
    };
    let levels = usize::from(cr4 & LA57 != 0);
    let mut walk = Walk {
        memory,
        direct_map: DIRECT_MAP[levels],
        first: match wanted {
            Wanted::Code => KERNEL,
            Wanted::Large => 0_u64.wrapping_sub(1 << (TOP[levels] + ENTRY_BITS - 1)),
        },
        wanted,
        runs: Vec::new(),
    };
    // The upper half's addresses follow each other up to the last one.
    let begin = 0_u64.wrapping_sub(1 << (TOP[levels] + ENTRY_BITS));
    walk.table(cr3 & FRAME, begin, TOP[levels])?;
    PageMap::new(walk.runs)
        .ok()
        .filter(|map| !map.runs().is_empty())
}

/// Which pages are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Those of the image and the modules that can be executed.
    Code,
    /// All that are not small.
    Large,
}

impl Wanted {
    /// Whether none of them is where an entry leads.
    fn is_elsewhere(self, entry: u64, shift: u32) -> bool {
        match self {
            Self::Code => entry & NO_EXECUTE != 0,
            Self::Large => shift == SMALL + ENTRY_BITS && entry & IS_PAGE == 0,
        }
    }
}

struct Walk<'a> {
    memory: &'a mut dyn FnMut(u64, &mut [u64]) -> bool,
    direct_map: u64,
    /// The first address of what is looked for.
    first: u64,
    wanted: Wanted,
    /// Wanted pages.
    runs: Vec<Run>,
}

impl Walk<'_> {
    /// The table at a physical address, which maps addresses from `begin` on; each of its entries
    /// maps `1 << shift` bytes. `None` when it cannot be read.
    fn table(&mut self, physical: u64, begin: u64, shift: u32) -> Option<()> {
        let mut entries = [0; ENTRIES];
        let address = self.direct_map + physical;
        (self.memory)(address, &mut entries).then_some(())?;
        for (number, entry) in entries.into_iter().enumerate() {
            let start = begin + ((number as u64) << shift);
            let last = start + ((1 << shift) - 1);
            let absent = last < self.first || entry & PRESENT == 0;
            if absent || self.wanted.is_elsewhere(entry, shift) {
                continue;
            }
            if shift == SMALL || (shift <= LARGEST && entry & IS_PAGE != 0) {
                self.runs.push(Run { start, last, shift });
            } else {
                self.table(entry & FRAME, start, shift - ENTRY_BITS)?;
            }
        }
        Some(())
    }
}
