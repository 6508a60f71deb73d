// SPDX-License-Identifier: GPL-2.0-or-later
//! Pages: maps, what page tables say, and what Linux makes of an image.

use std::collections::HashMap;

use kernsmith_arch::{Architecture, PageMap, Run, X86_64};

const TEXT: u64 = 0xffff_ffff_8100_0000;
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;
const DIRECT_MAP_57: u64 = 0xff11_0000_0000_0000;
const LA57: u64 = 1 << 12;

fn run(start: u64, end: u64, shift: u32) -> Run {
    Run {
        start,
        last: end - 1,
        shift,
    }
}

fn map(runs: &[Run]) -> PageMap {
    PageMap::new(runs.iter().copied()).expect("whole pages that rise")
}

#[test]
fn an_address_is_in_the_page_that_the_map_says_and_else_in_a_small_one() {
    let map = map(&[
        run(TEXT, TEXT + 0x40_0000, 21),
        run(TEXT + 0x40_0000, TEXT + 0x40_2000, 12),
    ]);
    let page = |address| {
        let page = map.page(address);
        (page.start, page.last, page.shift)
    };
    assert_eq!(page(TEXT + 5), (TEXT, TEXT + 0x1f_ffff, 21));
    let second = TEXT + 0x20_0000;
    assert_eq!(page(second), (second, second + 0x1f_ffff, 21));
    let small = TEXT + 0x40_1000;
    assert_eq!(page(small + 1), (small, small + 0xfff, 12));
    assert_eq!(page(0x40_1234), (0x40_1000, 0x40_1fff, 12));
    assert_eq!(page(u64::MAX), (u64::MAX - 0xfff, u64::MAX, 12));
    assert_eq!(map.granule(), Some(21));
}

#[test]
fn impossible_maps_are_refused() {
    let refused = |runs: &[Run]| PageMap::new(runs.iter().copied()).is_err();
    assert!(refused(&[run(TEXT, TEXT + 0x1000, 21)]));
    assert!(refused(&[run(TEXT + 0x1000, TEXT + 0x20_1000, 21)]));
    assert!(refused(&[run(TEXT, TEXT + 0x1000, 11)]));
    assert!(refused(&[run(TEXT, TEXT + 0x1000, 64)]));
    let (one, next) = (
        run(TEXT, TEXT + 0x2000, 12),
        run(TEXT + 0x1000, TEXT + 0x3000, 12),
    );
    assert!(refused(&[one, next]));
    assert!(refused(&[next, one]));
}

#[test]
fn an_image_is_replaced_among_modules() {
    let image = |end| X86_64.image_pages(TEXT, TEXT + end);
    let modules = run(0xffff_ffff_c000_0000, 0xffff_ffff_c020_0000, 21);
    let whole = |end| {
        let mut runs = image(end).runs().to_vec();
        runs.push(modules);
        map(&runs)
    };
    let replaced = whole(0x42_68a8).replaced(&image(0x42_68a8), &image(0x61_0000));
    assert_eq!(replaced, Some(whole(0x61_0000)));
    // Another image than the one that is there.
    assert_eq!(
        whole(0x42_68a8).replaced(&image(0x61_0000), &image(0x10)),
        None
    );
    // An image that reaches into the modules.
    let far = modules.start + 0x1000 - TEXT;
    assert_eq!(
        whole(0x42_68a8).replaced(&image(0x42_68a8), &image(far)),
        None
    );
}

/// `_text` and `_etext` of kernels, and what the tables of the booted kernel said.
#[test]
fn the_page_that_holds_the_end_of_the_text_is_split() {
    let pages = |end: u64| X86_64.image_pages(TEXT, TEXT + end);
    assert_eq!(
        pages(0x42_68a8),
        map(&[
            run(TEXT, TEXT + 0x40_0000, 21),
            run(TEXT + 0x40_0000, TEXT + 0x42_7000, 12),
        ])
    );
    assert_eq!(pages(0x40_0000), map(&[run(TEXT, TEXT + 0x40_0000, 21)]));
    assert_eq!(pages(0x3f_f001), map(&[run(TEXT, TEXT + 0x40_0000, 21)]));
    assert_eq!(pages(0x1f_e800), map(&[run(TEXT, TEXT + 0x1f_f000, 12)]));
}

/// Page tables in a memory of their own.
struct Tables {
    memory: HashMap<u64, [u64; 512]>,
    direct_map: u64,
    free: u64,
}

impl Tables {
    fn new(direct_map: u64) -> Self {
        Self {
            memory: HashMap::from([(0x1000, [0; 512])]),
            direct_map,
            free: 0x1000,
        }
    }

    /// Maps a page of `1 << shift` bytes; tables are made as needed, from `top` on.
    fn map(&mut self, address: u64, shift: u32, flags: u64, top: u32) {
        let mut table = 0x1000;
        for level in (shift..=top).rev().step_by(9) {
            let number = (address >> level & 511) as usize;
            let entry = self.memory.get_mut(&table).expect("a table");
            if level == shift {
                entry[number] = 0x1234_5000 << 12 | flags;
            } else if entry[number] == 0 {
                self.free += 0x1000;
                entry[number] = self.free | 0x67;
                self.memory.insert(self.free, [0; 512]);
                table = self.free;
            } else {
                table = entry[number] & !0xfff;
            }
        }
    }

    fn read(&self, cr4: u64) -> Option<PageMap> {
        // The low bits of CR3 are an address space's number.
        X86_64.code_pages(&[0x1007, cr4], &mut |address, words| {
            self.word(address, words)
        })
    }

    fn read_data(&self, cr4: u64) -> Option<PageMap> {
        X86_64.data_pages(&[0x1007, cr4], &mut |address, words| {
            self.word(address, words)
        })
    }

    fn word(&self, address: u64, words: &mut [u64]) -> bool {
        let table = address
            .checked_sub(self.direct_map)
            .and_then(|physical| self.memory.get(&physical));
        table.map(|table| words.copy_from_slice(table)).is_some()
    }
}

const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const NO_EXECUTE: u64 = 1 << 63;

#[test]
fn page_tables_tell_what_can_be_executed() {
    for (direct_map, cr4, top) in [(DIRECT_MAP, 0, 39), (DIRECT_MAP_57, LA57, 48)] {
        let mut tables = Tables::new(direct_map);
        tables.map(TEXT, 21, PRESENT | LARGE, top);
        tables.map(TEXT + 0x20_0000, 21, PRESENT | LARGE, top);
        for page in 0..3 {
            tables.map(TEXT + 0x40_0000 + page * 4096, 12, PRESENT, top);
        }
        tables.map(TEXT + 0x40_3000, 12, PRESENT | NO_EXECUTE, top);
        tables.map(TEXT + 0x60_0000, 21, PRESENT | LARGE | NO_EXECUTE, top);
        tables.map(TEXT + 0x80_0000, 21, LARGE, top);
        tables.map(0xffff_ffff_c000_0000, 21, PRESENT | LARGE, top);
        // A program's page, and the direct map: no kernel code.
        tables.map(0x40_0000, 12, PRESENT, top);
        tables.map(0xffff_ffff_4000_0000, 30, PRESENT | LARGE, top);
        let found = tables.read(cr4).expect("tables that can be read");
        assert_eq!(
            found,
            map(&[
                run(TEXT, TEXT + 0x40_0000, 21),
                run(TEXT + 0x40_0000, TEXT + 0x40_3000, 12),
                run(0xffff_ffff_c000_0000, 0xffff_ffff_c020_0000, 21),
            ])
        );
    }
}

#[test]
fn page_tables_tell_all_that_is_in_large_pages() {
    for (direct_map, cr4, top) in [(DIRECT_MAP, 0, 39), (DIRECT_MAP_57, LA57, 48)] {
        let mut tables = Tables::new(direct_map);
        tables.map(0x40_0000, 21, PRESENT | LARGE, top);
        tables.map(direct_map, 12, PRESENT | NO_EXECUTE, top);
        tables.map(
            direct_map + 0x20_0000,
            21,
            PRESENT | LARGE | NO_EXECUTE,
            top,
        );
        tables.map(
            direct_map + 0x40_0000,
            21,
            PRESENT | LARGE | NO_EXECUTE,
            top,
        );
        tables.map(direct_map + 0x60_0000, 21, LARGE | NO_EXECUTE, top);
        tables.map(
            direct_map + 0x4000_0000,
            30,
            PRESENT | LARGE | NO_EXECUTE,
            top,
        );
        tables.map(TEXT, 21, PRESENT | LARGE, top);
        tables.map(TEXT + 0x20_0000, 12, PRESENT, top);
        let found = tables.read_data(cr4).expect("tables that can be read");
        assert_eq!(
            found,
            map(&[
                run(direct_map + 0x20_0000, direct_map + 0x60_0000, 21),
                run(direct_map + 0x4000_0000, direct_map + 0x8000_0000, 30),
                run(TEXT, TEXT + 0x20_0000, 21),
            ])
        );
    }
    let mut broken = Tables::new(DIRECT_MAP);
    broken.map(TEXT, 21, PRESENT | LARGE, 39);
    broken.memory.remove(&broken.free);
    assert_eq!(broken.read_data(0), None, "one table cannot be read");
}

#[test]
fn without_tables_there_is_no_map() {
    let empty = Tables::new(DIRECT_MAP);
    assert_eq!(empty.read(0), None, "nothing can be executed");
    assert_eq!(empty.read(LA57), None, "there is no such memory");
    let mut broken = Tables::new(DIRECT_MAP);
    broken.map(TEXT, 12, PRESENT, 39);
    broken.memory.remove(&broken.free);
    assert_eq!(broken.read(0), None, "one table cannot be read");
}
