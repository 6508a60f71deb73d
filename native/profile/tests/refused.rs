// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that are no profile of this kernel: one sentence each.

mod invented;

use invented::*;
use kernsmith_profile::{Image, Samples, convert};

fn refused(file: Vec<u8>) -> String {
    let reason = converted(file).expect_err("nothing to read");
    assert!(!reason.contains('\n') && reason.len() < 160, "{reason}");
    reason
}

fn good() -> Vec<u8> {
    simple(&[sample(&[(TEXT + JZ, TEXT)])])
}

#[test]
fn no_file_of_perf_record() {
    assert_eq!(refused(vec![]), "is empty");
    assert_eq!(refused(b"KSTRACE2".repeat(40)), "is no file of perf record");
    assert_eq!(refused(b"PERFILE2".to_vec()), "is cut off in its header");
    let mut swapped = good();
    swapped[..8].reverse();
    assert!(refused(swapped).contains("(big-endian)"));
    let mut old = good();
    old[..8].copy_from_slice(b"PERFFILE");
    assert!(refused(old).contains("format of 2009"));
    let mut strange = good();
    strange[8] = 99;
    assert_eq!(
        refused(strange),
        "has a header of 99 bytes, which kernsmith does not read"
    );
}

#[test]
fn a_file_that_is_cut_off() {
    let whole = good();
    assert_eq!(refused(whole[..60].to_vec()), "is cut off in its header");
    assert_eq!(
        refused(whole[..whole.len() - 3].to_vec()),
        "is cut off: 3 bytes are missing"
    );
    let mut unfinished = whole.clone();
    unfinished[48..56].fill(0);
    assert!(refused(unfinished).contains("did not end properly"));
    let mut half = sample(&[(TEXT + JZ, TEXT)]);
    half.truncate(20);
    assert!(refused(simple(&[half])).starts_with("is cut off at byte"));
}

#[test]
fn records_that_are_corrupt() {
    let mut short = sample(&[(TEXT + JZ, TEXT)]);
    short[6] = 4;
    assert!(refused(simple(&[short])).starts_with("is corrupt at byte"));
    let mut more = sample(&[(TEXT + JZ, TEXT)]);
    more[16] = 9;
    assert!(refused(simple(&[more])).contains("is not what its event has"));
    let mut huge = sample(&[(TEXT + JZ, TEXT)]);
    huge[16..24].fill(0xff);
    assert!(refused(simple(&[huge])).contains("is not what its event has"));
}

#[test]
fn a_file_without_branch_stacks() {
    let events = [(attribute(IP, 0, 0), vec![])];
    let file = file(&events, &record(SAMPLE, KERNEL, &words(&[TEXT])), None);
    assert!(refused(file).starts_with("has no branch stacks: record with perf record -b"));
}

#[test]
fn a_file_without_samples() {
    assert_eq!(refused(simple(&[kernel_at(TEXT)])), "has no samples");
    assert_eq!(refused(file(&[], &kernel_at(TEXT), None)), "has no events");
}

#[test]
fn samples_of_programs_or_of_other_code() {
    let programs = simple(&[sample(&[(0x40_0000, 0x40_1000)])]);
    assert_eq!(
        refused(programs),
        "has no sample in the code of this kernel"
    );
    let between = simple(&[sample(&[(TEXT + CALL + 1, TEXT + CALL + 2)])]);
    assert_eq!(
        refused(between),
        "does not fit this vmlinux: at 100 % of its addresses no instruction begins"
    );
}

#[test]
fn images_that_are_none() {
    let folder = std::env::temp_dir().join(format!("kernsmith-image-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let missing = Image::load(&folder.join("missing")).expect_err("not there");
    assert!(missing.contains("missing cannot be read"), "{missing}");
    let text = folder.join("text");
    std::fs::write(&text, "kernel").expect("a temporary file");
    let none = Image::load(&text).expect_err("no image");
    assert!(none.contains("text is no vmlinux"), "{none}");
    let perf = convert(&folder, &invented::image(), Samples::Branches);
    assert!(perf.expect_err("a folder").contains("cannot be read"));
    std::fs::remove_dir_all(folder).expect("a temporary folder");
}
