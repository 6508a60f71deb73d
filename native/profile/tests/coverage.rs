// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts by source of a small file that gcc has just made, and of the same file damaged.

#[path = "../../frontend/tests/random/mod.rs"]
mod random;

use std::process::Command;
use std::sync::OnceLock;

use kernsmith_profile::coverage::{Coverage, NONE, cover_from, functions_from};
use random::{Random, inputs};

/// Damaged files that are tried in an ordinary run.
const ORDINARY: u64 = 4_000;

const SOURCE: &str = "
static inline __attribute__((always_inline)) long twice(long n)
{
        if (n < 0)
                n = -n * 3;
        return n * 2 + 7;
}
__attribute__((noinline)) long leaf(long n)
{
        return twice(n) / 3;
}
long _start(long n)
{
        return leaf(n) + twice(n);
}
";

/// The file, and where its code begins and ends.
fn made() -> &'static (Vec<u8>, u64, u64) {
    static MADE: OnceLock<(Vec<u8>, u64, u64)> = OnceLock::new();
    MADE.get_or_init(make)
}

fn make() -> (Vec<u8>, u64, u64) {
    let folder = std::env::temp_dir().join(format!("kernsmith-coverage-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.c"), SOURCE).unwrap();
    let words = [
        "-O2",
        "-g",
        "-nostdlib",
        "-static",
        "-falign-functions=1",
        "a.c",
        "-o",
        "a",
    ];
    let output = Command::new("gcc")
        .current_dir(&folder)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = std::fs::read(folder.join("a")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let (begin, end) = text(&file);
    (file, begin, end)
}

fn text(file: &[u8]) -> (u64, u64) {
    use object::{Object, ObjectSection};
    let parsed = object::File::parse(file).unwrap();
    let section = parsed.section_by_name(".text").unwrap();
    (section.address(), section.address() + section.size())
}

fn function<'a>(found: &'a Coverage, name: &str) -> &'a kernsmith_profile::coverage::Function {
    found.functions.iter().find(|one| one.name == name).unwrap()
}

#[test]
fn copies_of_an_inlined_function_are_added() {
    let (file, begin, end) = made();
    let found = cover_from(&**file, &[(*begin, end - 1, 3)]).unwrap();
    assert_eq!(function(&found, "twice").entered, 6);
    assert_eq!(function(&found, "leaf").entered, 3);
    let most = found.lines.iter().map(|line| line.count).max();
    assert_eq!(most, Some(6));
    assert_eq!(found.files.len(), 1);
    assert!(found.files[0].ends_with("/a.c"));
    let sum: u64 = found.samples.iter().map(|sample| sample.executed).sum();
    assert_eq!((sum, sum % 3), (found.executed, 0));
    assert!(found.instances.iter().any(|one| one.parent != NONE));
}

#[test]
fn ranges_outside_of_the_code_are_left_out() {
    let (file, begin, end) = made();
    let found = cover_from(
        &**file,
        &[(0, 8, 1), (*end, end + 8, 1), (end - 1, *begin, 1)],
    )
    .unwrap();
    assert_eq!((found.executed, found.files.len()), (0, 0));
    let found = cover_from(&**file, &[(*begin, *begin, u64::MAX), (*begin, *begin, 1)]).unwrap();
    assert_eq!(found.executed, u64::MAX);
}

/// Where the debug information is: nothing else is read here that other tests do not damage.
fn debug_information(file: &[u8]) -> Vec<(usize, usize)> {
    use object::{Object, ObjectSection};
    let parsed = object::File::parse(file).unwrap();
    let sections = parsed.sections();
    let debug = sections.filter(|section| section.name().unwrap().starts_with(".debug"));
    let places = debug.map(|section| section.file_range().unwrap());
    places
        .map(|(at, size)| (at as usize, (at + size) as usize))
        .collect()
}

#[test]
fn damaged_debug_information_is_read_or_refused() {
    let tries = inputs(ORDINARY);
    let (file, begin, end) = made();
    let places = debug_information(file);
    let mut random = Random::new(15);
    let mut good = 0;
    for _ in 0..tries {
        let mut damaged = file.clone();
        for _ in 0..1 + random.below(8) {
            let (from, to) = random.pick(&places);
            let at = from + random.below((to - from) as u64) as usize;
            damaged[at] = match random.below(3) {
                0 => damaged[at] ^ 1 << random.below(8),
                1 => random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
                _ => random.next() as u8,
            };
        }
        if let Ok(told) = functions_from(&*damaged) {
            let framed = |span: &(u64, u64, u32)| (span.2 as usize) < told.frames.len();
            assert!(told.spans.iter().all(framed));
            let named = |(place, (outer, name)): (u32, &(u32, u32))| {
                (*outer == NONE || *outer < place) && (*name as usize) < told.names.len()
            };
            assert!((0..).zip(&told.frames).all(named));
        }
        match cover_from(&*damaged, &[(*begin, end - 1, 3)]) {
            Ok(found) => {
                good += 1;
                assert!(
                    found
                        .lines
                        .iter()
                        .all(|one| (one.file as usize) < found.files.len())
                );
                let functions = found.functions.len();
                assert!(
                    found
                        .lines
                        .iter()
                        .all(|one| (one.function as usize) < functions)
                );
                assert!(
                    found
                        .instances
                        .iter()
                        .all(|one| (one.function as usize) < functions)
                );
            }
            Err(reason) => assert!(reason.len() < 300 && !reason.contains('\n'), "{reason}"),
        }
    }
    assert!(
        good > tries / 20 && good < tries,
        "{good} of {tries} were still read"
    );
}
