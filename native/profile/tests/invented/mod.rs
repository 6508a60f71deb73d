// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of `perf record`, byte for byte, and a small kernel to which they belong.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use std::io::Cursor;

use kernsmith_profile::{Code, Converted, Image, Samples, convert_from};

/// Where the kernel's code begins.
pub const TEXT: u64 = 0xffff_ffff_8100_0000;

pub const BUILD_ID: &str = "0123456789abcdef0123456789abcdef01234567";

/// `PERF_SAMPLE_…`.
pub const IP: u64 = 1;
pub const TID: u64 = 1 << 1;
pub const TIME: u64 = 1 << 2;
pub const READ: u64 = 1 << 4;
pub const CALLCHAIN: u64 = 1 << 5;
pub const ID: u64 = 1 << 6;
pub const RAW: u64 = 1 << 10;
pub const STACK: u64 = 1 << 11;
pub const IDENTIFIER: u64 = 1 << 16;

/// `PERF_SAMPLE_BRANCH_…`: an index of the hardware's stands before the branches.
pub const HW_INDEX: u64 = 1 << 17;

/// A record's kinds and modes.
pub const MMAP: u32 = 1;
pub const LOST: u32 = 2;
pub const SAMPLE: u32 = 9;
pub const MMAP2: u32 = 10;
pub const LOST_SAMPLES: u32 = 13;
pub const HEADER_ATTR: u32 = 64;
pub const BUILD_ID_RECORD: u32 = 67;
pub const AUXTRACE: u32 = 71;
pub const HEADER_FEATURE: u32 = 80;
pub const COMPRESSED: u32 = 81;
pub const COMPRESSED2: u32 = 83;
pub const KERNEL: u16 = 1;
pub const USER: u16 = 2;
pub const GUEST_KERNEL: u16 = 4;
pub const GUEST_USER: u16 = 5;

/// 16 times: nop, nop, jz over the next nop, nop, call, ret: 10 bytes. Then as many nops.
pub fn code() -> Vec<u8> {
    let function = [0x90, 0x90, 0x74, 0x01, 0x90, 0xe8, 0, 0, 0, 0, 0xc3];
    let mut code = function.repeat(16);
    code.extend([0x90; 64]);
    code
}

/// Bytes of a function, and offsets in it.
pub const FUNCTION: u64 = 11;
pub const JZ: u64 = 2;
pub const AFTER: u64 = 5;
pub const CALL: u64 = 5;
pub const RET: u64 = 10;

pub fn image() -> Image {
    let bytes = code();
    let mut code = Code::new(TEXT, TEXT + bytes.len() as u64).expect("some code");
    code.disassemble(TEXT, &bytes, &[TEXT]);
    Image {
        code,
        build_id: BUILD_ID.to_owned(),
        has_lines: false,
        static_keys: Vec::new(),
        marks: HashMap::from([("_text".to_owned(), TEXT)]),
    }
}

pub fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An event's attribute of 112 bytes.
pub fn attribute(sample_type: u64, read_format: u64, branches: u64) -> Vec<u8> {
    let mut all = vec![
        112 << 32,
        4,
        1000,
        sample_type,
        read_format,
        0,
        0,
        0,
        0,
        branches,
    ];
    all.resize(14, 0);
    words(&all)
}

pub fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(misc.to_le_bytes());
    bytes.extend(
        u16::try_from(body.len() + 8)
            .expect("a short body")
            .to_le_bytes(),
    );
    bytes.extend(body);
    bytes
}

/// What a feature says, in a file that was piped.
pub fn told(number: u64, text: &str) -> Vec<u8> {
    let mut body = words(&[number]);
    body.extend(64_u32.to_le_bytes());
    body.extend(text.as_bytes());
    body.resize(8 + 4 + 64, 0);
    record(HEADER_FEATURE, 0, &body)
}

/// The kernel runs at an address.
pub fn kernel_at(start: u64) -> Vec<u8> {
    let mut body = words(&[0xffff_ffff, start, 0x1000, start]);
    body.extend(b"[kernel.kallsyms]_text\0\0");
    record(MMAP, KERNEL, &body)
}

/// A sample of an event that has ip and branches.
pub fn sample(branches: &[(u64, u64)]) -> Vec<u8> {
    let mut body = vec![0xffff_ffff_8100_0000, branches.len() as u64];
    body.extend(branches.iter().flat_map(|(from, to)| [*from, *to, 0]));
    record(SAMPLE, KERNEL, &words(&body))
}

/// The section of a build id.
pub fn build_id(id: &str, name: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
    let mut body = (-1_i32).to_le_bytes().to_vec();
    body.extend((0..id.len()).step_by(2).map(digits));
    body.extend([0; 4]);
    body.extend(name.as_bytes());
    body.resize(body.len().next_multiple_of(64), 0);
    record(0, KERNEL, &body)
}

/// A file: (attribute, ids) of each event, its records, the section of build ids if there is one.
pub fn file(events: &[(Vec<u8>, Vec<u64>)], records: &[u8], build_ids: Option<&[u8]>) -> Vec<u8> {
    let size = events
        .first()
        .map_or(0, |(attribute, _)| attribute.len() as u64 + 16);
    let ids_at = 104 + size * events.len() as u64;
    let (mut table, mut ids) = (Vec::new(), Vec::new());
    for (attribute, own) in events {
        table.extend(attribute);
        let at = ids_at + ids.len() as u64;
        table.extend(words(&[at, own.len() as u64 * 8]));
        ids.extend(words(own));
    }
    let records_at = ids_at + ids.len() as u64;
    let mut bytes = b"PERFILE2".to_vec();
    let events_size = size * events.len() as u64;
    bytes.extend(words(&[
        104,
        size,
        104,
        events_size,
        records_at,
        records.len() as u64,
        0,
        0,
    ]));
    bytes.extend(words(&[u64::from(build_ids.is_some()) << 2, 0, 0, 0]));
    bytes.extend(table);
    bytes.extend(ids);
    bytes.extend(records);
    if let Some(section) = build_ids {
        let at = bytes.len() as u64 + 16;
        bytes.extend(words(&[at, section.len() as u64]));
        bytes.extend(section);
    }
    bytes
}

/// A file of one event that has ip and branches.
pub fn simple(records: &[Vec<u8>]) -> Vec<u8> {
    file(
        &[(attribute(IP | STACK, 0, 8), vec![])],
        &records.concat(),
        None,
    )
}

pub fn converted(file: Vec<u8>) -> Result<Converted, String> {
    convert_from(Cursor::new(file), &image(), Samples::Branches)
}
