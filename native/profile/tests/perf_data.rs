// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of `perf record` in all their forms, and the counts that they give.

mod invented;

use std::io::Cursor;

use invented::*;
use kernsmith_profile::{EXTERNAL, Samples, convert_from};
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

/// A branch of function 0 to function 1, whose call led to function 2; the latest comes first.
fn stack() -> Vec<(u64, u64)> {
    let function = |number: u64| TEXT + number * FUNCTION;
    vec![
        (function(1) + CALL, function(2)),
        (function(0) + JZ, function(1)),
    ]
}

const ONE: u64 = TEXT + FUNCTION;

#[test]
fn branches_and_what_lies_between_them_are_counted() {
    let found = converted(simple(&[sample(&stack()), sample(&stack())])).expect("a good file");
    assert_eq!(found.ranges, [(ONE, ONE + CALL, 2)]);
    let two = TEXT + 2 * FUNCTION;
    assert_eq!(found.branches, [(TEXT + JZ, ONE, 2), (ONE + CALL, two, 2)]);
    let report = found.report;
    assert_eq!((report.samples, report.entries, report.inside), (2, 4, 4));
    assert!(!report.mapped);
}

#[test]
fn a_kernel_that_was_moved_is_moved_back() {
    let moved = 0x1a00_0000;
    let there: Vec<_> = stack()
        .iter()
        .map(|(f, t)| (f + moved, t + moved))
        .collect();
    let file = simple(&[kernel_at(TEXT + moved), sample(&there)]);
    let found = converted(file).expect("a good file");
    let still = converted(simple(&[sample(&stack())])).expect("a good file");
    assert_eq!(
        (found.ranges, found.branches),
        (still.ranges, still.branches)
    );
    assert!(found.report.mapped);
    assert_eq!(found.report.moved, moved as i64);
}

#[test]
fn what_comes_from_outside_is_a_branch_and_begins_no_range() {
    let stack = [
        (0x40_1000, TEXT),
        (TEXT + JZ, 0x40_1000),
        (0x40_2000, 0x40_3000),
    ];
    let found = converted(simple(&[sample(&stack)])).expect("a good file");
    assert_eq!(found.branches, [(EXTERNAL, TEXT, 1)]);
    assert_eq!(found.ranges, []);
    assert_eq!((found.report.entries, found.report.inside), (3, 2));
}

#[test]
fn a_range_over_a_call_is_an_error_of_the_records_and_left_out() {
    let over = [(ONE + RET, TEXT), (TEXT + JZ, TEXT)];
    let found = converted(simple(&[sample(&over)])).expect("a good file");
    assert_eq!(found.ranges, []);
    let backwards = [(TEXT, ONE), (TEXT + JZ, ONE)];
    let found = converted(simple(&[sample(&backwards)])).expect("a good file");
    assert_eq!((found.ranges, found.branches.len()), (vec![], 2));
}

#[test]
fn fields_before_the_branches_are_passed_over() {
    let format = 1 | 2 | 4 | 8 | 16;
    let sample_type = IP | TID | TIME | READ | CALLCHAIN | RAW | STACK;
    let mut body = words(&[TEXT, 7, 8]);
    // A group of two counters: enabled, running, and for each its value, id, and what was lost.
    body.extend(words(&[2, 100, 50, 1, 2, 3, 4, 5, 6]));
    body.extend(words(&[3, 11, 12, 13]));
    body.extend(12_u32.to_le_bytes());
    body.extend([0xee; 12]);
    body.extend(words(&[2, 0]));
    for (from, to) in stack() {
        body.extend(words(&[from, to, 0]));
    }
    let events = [(attribute(sample_type, format, 8 | HW_INDEX), vec![])];
    let found = converted(file(&events, &record(SAMPLE, KERNEL, &body), None));
    assert_eq!(found.expect("a good file").ranges, [(ONE, ONE + CALL, 1)]);
}

#[test]
fn events_are_told_apart_by_their_ids() {
    let branches = attribute(IDENTIFIER | STACK, 0, 8);
    let clock = attribute(IDENTIFIER | IP | TIME, 0, 0);
    let mut with_stack = words(&[22, 2]);
    for (from, to) in stack() {
        with_stack.extend(words(&[from, to, 0]));
    }
    let records = [
        record(SAMPLE, KERNEL, &words(&[11, TEXT, 5])),
        record(SAMPLE, KERNEL, &with_stack),
        record(SAMPLE, KERNEL, &words(&[99, 0, 0])),
    ];
    let events = [(clock, vec![10, 11]), (branches, vec![22])];
    let found = converted(file(&events, &records.concat(), None)).expect("a good file");
    assert_eq!(found.ranges, [(ONE, ONE + CALL, 1)]);
    assert_eq!((found.report.samples, found.report.stray), (2, 1));

    let alike = [
        (attribute(IP | STACK, 0, 8), vec![]),
        (attribute(IP | TIME, 0, 0), vec![]),
    ];
    let refused = converted(file(&alike, &records.concat(), None));
    assert_eq!(
        refused.expect_err("no ids"),
        "has events whose samples cannot be told apart"
    );
}

#[test]
fn what_is_no_record_is_passed_over_and_losses_are_told() {
    let mut records = record(AUXTRACE, 0, &words(&[40, 0, 0, 0, 0]));
    records.extend([0xff; 40]);
    records.extend(record(LOST, 0, &words(&[1, 77])));
    records.extend(sample(&stack()));
    let found = converted(simple(&[records])).expect("a good file");
    assert_eq!(found.ranges, [(ONE, ONE + CALL, 1)]);
    assert_eq!(found.report.lost, 77);
}

/// Records as `perf record -z` has them: one stream, flushed at the end of each compressed record,
/// in pieces that do not heed where a record ends.
fn compressed(records: &[u8], sized: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(1).expect("an encoder");
    let mut bytes = Vec::new();
    for piece in records.chunks(1000) {
        let mut buffer = vec![0; 8192];
        let mut output = OutBuffer::around(&mut buffer[..]);
        let mut input = InBuffer::around(piece);
        while input.pos() < piece.len() {
            encoder.run(&mut input, &mut output).expect("room");
        }
        encoder.flush(&mut output).expect("room");
        let size = output.pos();
        if sized {
            let mut body = words(&[size as u64]);
            body.extend(&buffer[..size]);
            body.resize(body.len().next_multiple_of(8), 0);
            bytes.extend(record(COMPRESSED2, 0, &body));
        } else {
            bytes.extend(record(COMPRESSED, 0, &buffer[..size]));
        }
    }
    bytes
}

#[test]
fn compressed_records_are_inflated() {
    let plain: Vec<u8> = (0..200).flat_map(|_| sample(&stack())).collect();
    for sized in [false, true] {
        let file = simple(&[kernel_at(TEXT), compressed(&plain, sized)]);
        let found = converted(file).expect("a good file");
        assert_eq!(found.ranges, [(ONE, ONE + CALL, 200)]);
        assert_eq!(found.report.samples, 200);
    }
    let mut file = simple(&[compressed(&plain[..plain.len() - 4], false)]);
    let cut = converted(file.clone()).expect_err("the last record is cut off");
    assert!(cut.starts_with("is cut off at byte"), "{cut}");
    let end = file.len() - 20;
    file[end..].fill(0xff);
    let corrupt = converted(file).expect_err("no zstd");
    assert!(
        corrupt.contains("compressed record that is corrupt"),
        "{corrupt}"
    );
}

#[test]
fn what_was_piped_is_read() {
    let mut bytes = b"PERFILE2".to_vec();
    bytes.extend(words(&[16]));
    bytes.extend(record(HEADER_ATTR, 0, &attribute(IP | STACK, 0, 8)));
    let mut id = build_id(BUILD_ID, "[kernel.kallsyms]");
    id[..4].copy_from_slice(&BUILD_ID_RECORD.to_le_bytes());
    bytes.extend(id);
    bytes.extend(sample(&stack()));
    let found = converted(bytes).expect("a good file");
    assert_eq!(found.ranges, [(ONE, ONE + CALL, 1)]);
    assert_eq!(found.report.build_id.as_deref(), Some(BUILD_ID));
}

#[test]
fn what_was_piped_tells_its_machine_in_records() {
    let mut piped = b"PERFILE2".to_vec();
    piped.extend(words(&[16]));
    piped.extend(record(HEADER_ATTR, 0, &attribute(IP | STACK, 0, 8)));
    piped.extend(told(3, "web3"));
    piped.extend(told(8, "AMD EPYC 9354"));
    // One that is cut off says nothing.
    piped.extend(record(HEADER_FEATURE, 0, &words(&[4, 99])));
    piped.extend([kernel_at(TEXT), sample(&stack())].concat());
    let origin = converted(piped).expect("a good file").report.origin;
    assert_eq!(
        (&*origin.host, &*origin.processor, &*origin.release),
        ("web3", "AMD EPYC 9354", "")
    );
}

#[test]
fn a_file_larger_than_the_buffer_is_streamed() {
    let many: Vec<u8> = (0..40_000).flat_map(|_| sample(&stack())).collect();
    assert!(many.len() > 2 << 20);
    let found = converted(simple(&[many])).expect("a good file");
    assert_eq!(found.ranges, [(ONE, ONE + CALL, 40_000)]);
}

#[test]
fn instruction_pointers_are_counted_when_asked_for() {
    let events = [(attribute(IP, 0, 0), vec![])];
    let at = |ip: u64| record(SAMPLE, KERNEL, &words(&[ip]));
    let records = [at(TEXT), at(ONE), at(ONE), at(0x40_0000)].concat();
    let file = file(&events, &records, None);
    let found = convert_from(Cursor::new(file), &image(), Samples::Instructions);
    let found = found.expect("a good file");
    assert_eq!(found.ranges, [(TEXT, TEXT, 1), (ONE, ONE, 2)]);
    assert_eq!((found.report.entries, found.report.inside), (4, 3));
}

#[test]
fn branches_into_modules_are_told_by_module() {
    let module = 0xffff_ffff_c000_0000;
    let mut body = words(&[0xffff_ffff, module, 0x2000, 0]);
    body.extend(b"[ext4]\0\0");
    let led = [
        (TEXT + CALL, module + 0x10),
        (module + 0x20, module + 0x1fff),
    ];
    let outside = [(TEXT + CALL, module + 0x2000)];
    let file = simple(&[record(MMAP, KERNEL, &body), sample(&led), sample(&outside)]);
    let found = converted(file).expect("a good file");
    assert_eq!(found.report.modules, [("[ext4]".to_owned(), 2)]);
}

#[test]
fn build_ids_tie_a_file_to_its_kernel() {
    let events = [(attribute(IP | STACK, 0, 8), vec![])];
    let records = sample(&stack());
    let other = "ff".repeat(20);
    let own = file(
        &events,
        &records,
        Some(&build_id(BUILD_ID, "[kernel.kallsyms]")),
    );
    let found = converted(own).expect("of this kernel");
    assert_eq!(found.report.build_id.as_deref(), Some(BUILD_ID));
    let module = file(&events, &records, Some(&build_id(&other, "[ext4]")));
    assert_eq!(
        converted(module).expect("of a module").report.build_id,
        None
    );

    let mut mapped = words(&[0xffff_ffff, TEXT, 0x1000, TEXT]);
    mapped.extend([20, 0, 0, 0]);
    mapped.extend([0xff; 20]);
    mapped.extend(words(&[0]));
    mapped.extend(b"[kernel.kallsyms]_text\0\0");
    let mapped = record(MMAP2, KERNEL | 1 << 14, &mapped);
    for refused in [
        file(
            &events,
            &records,
            Some(&build_id(&other, "[kernel.kallsyms]")),
        ),
        simple(&[mapped, records.clone()]),
    ] {
        assert_eq!(
            converted(refused).expect_err("of another kernel"),
            format!("is of another kernel: its build id is {other}, the vmlinux's is {BUILD_ID}")
        );
    }
}

#[test]
fn samples_of_guests_are_left_out_and_told() {
    let events = [(attribute(IP, 0, 0), vec![])];
    let at = |misc, ip| record(SAMPLE, misc, &words(&[ip]));
    let given = |records: &[Vec<u8>]| {
        let bytes = file(&events, &records.concat(), None);
        convert_from(Cursor::new(bytes), &image(), Samples::Instructions)
    };
    let records = [
        at(KERNEL, TEXT),
        at(GUEST_KERNEL, TEXT),
        at(GUEST_USER, 0x40_0000),
    ];
    let report = given(&records).expect("a good file").report;
    assert_eq!((report.samples, report.guests, report.entries), (3, 2, 1));
    assert_eq!(
        given(&records[1..]).expect_err("guests alone"),
        "has samples of guests alone, and none of this machine's kernel"
    );
}

#[test]
fn samples_that_were_lost_are_counted_and_those_that_a_filter_dropped_are_not() {
    let records = [
        sample(&stack()),
        record(LOST, 0, &words(&[1, 70])),
        record(LOST_SAMPLES, 0, &words(&[7])),
        record(LOST_SAMPLES, 1 << 15, &words(&[1000])),
    ];
    let found = converted(simple(&records)).expect("a good file");
    assert_eq!(found.report.lost, 77);
}
