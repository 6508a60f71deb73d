// SPDX-License-Identifier: GPL-2.0-or-later
//! Maps of basic blocks: as LLVM's own reader reads them, in every version, cut off and corrupt.

mod clang;
mod map;

use std::path::Path;

use clang::{Folder, run, tool};
use kernsmith_profile::propeller::address_map::{Block, MapError, decode};
use kernsmith_profile::propeller::{Image, ImageError};
use map::random::{Random, inputs};
use map::{FORM, encode, function};
use serde_json::Value;

/// Features of each version from 2 on, as bits.
const FEATURES: [u16; 4] = [0x1f, 0x3f, 0x7f, 0xff];
const SEVERAL_RANGES: u16 = 1 << 3;
const NO_BLOCKS: u16 = 1 << 4;

const PROGRAM: &str = r"
int other(int);
__attribute__((cold)) int rare(int);
static int helper(int x)
{
        int sum = 0;
        for (int i = 0; i < x; i++)
                if (other(i)) sum += i; else sum ^= other(i + 1);
        return sum;
}
int many(int x, int y)
{
        switch (x) {
        case 0: return helper(y);
        case 1: return other(y);
        case 2: return y * 3;
        case 3: return rare(y);
        case 4: return other(y) + 9;
        case 5: return helper(y + 1);
        }
        return x / (y | 1);
}
int few(int x) { return x + 1; }
";
const REST: &str = "int other(int x) { return x & 1; } int rare(int x) { return x; }
int _start(void) { return 0; }";

fn compiled(folder: &Folder, name: &str, words: &[&str]) -> String {
    let sources = [
        folder.file("program.c", PROGRAM),
        folder.file("rest.c", REST),
    ];
    let target = folder.place(name);
    let mut all = vec![
        "-fbasic-block-address-map",
        "-gmlt",
        "-o",
        &target,
        &sources[0],
    ];
    if !words.contains(&"-c") {
        all.push(&sources[1]);
    }
    all.extend(words);
    run(&tool("clang"), &all);
    target
}

/// Name and blocks of each function, as llvm-readobj tells them.
fn told_by_llvm(path: &str) -> Vec<(String, Vec<Block>)> {
    let words = ["--bb-addr-map", "--elf-output-style=JSON", path];
    let text = String::from_utf8(run(&tool("llvm-readobj"), &words)).unwrap();
    // It gives the maps of all sections the same key, of which a reader keeps the last.
    let mut keyed = String::new();
    for (number, part) in text.split("\"BBAddrMap\":").enumerate() {
        if number > 0 {
            keyed += &format!("\"map{number}\":");
        }
        keyed += part;
    }
    let told: Value = serde_json::from_str(&keyed).unwrap();
    let maps = told[0]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| key.starts_with("map"));
    let functions = maps.flat_map(|(_, map)| map.as_array().unwrap());
    functions
        .map(|entry| {
            let function = &entry["Function"];
            let ranges = function["BB Ranges"].as_array().unwrap().iter();
            let blocks = ranges.flat_map(|range| {
                let base = range["Base Address"].as_u64().unwrap();
                let entries = range["BB Entries"].as_array().unwrap().iter();
                entries.map(move |entry| block(base, entry))
            });
            (
                function["Name"].as_str().unwrap().to_owned(),
                blocks.collect(),
            )
        })
        .collect()
}

fn block(base: u64, entry: &Value) -> Block {
    let bits = [
        "HasReturn",
        "HasTailCall",
        "IsEHPad",
        "CanFallThrough",
        "HasIndirectBranch",
    ];
    let bit = |(place, name): (usize, &&str)| u8::from(entry[*name] == true) << place;
    Block::new(
        entry["ID"].as_u64().unwrap() as u32,
        base + entry["Offset"].as_u64().unwrap(),
        entry["Size"].as_u64().unwrap() as u32,
        bits.iter().enumerate().map(bit).sum(),
    )
}

/// As the image has it; sections of relocatable files begin at 0 for LLVM.
fn read_here(path: &str, relocatable: bool) -> Vec<(String, Vec<Block>)> {
    let image = Image::read(Path::new(path)).unwrap();
    let placed = |block: &Block| {
        let mut block = *block;
        block.start &= if relocatable { 0xffff_ffff } else { u64::MAX };
        block
    };
    let functions = image.functions.iter();
    functions
        .map(|function| {
            (
                function.names[0].clone(),
                function.blocks.iter().map(placed).collect(),
            )
        })
        .collect()
}

#[test]
fn maps_are_read_as_llvm_reads_them() {
    let folder = Folder::new("maps");
    let builds: [(&str, &[&str]); 5] = [
        ("plain.o", &["-c", "-O2"]),
        ("sections.o", &["-c", "-O2", "-ffunction-sections"]),
        ("slow.o", &["-c", "-O0"]),
        ("parts.o", &["-c", "-O2", "-fbasic-block-sections=all"]),
        (
            "linked",
            &["-O2", "-nostdlib", "-fuse-ld=lld", "-ffunction-sections"],
        ),
    ];
    for (name, words) in builds {
        let path = compiled(&folder, name, words);
        let mut told = told_by_llvm(&path);
        let mut read = read_here(&path, name.ends_with(".o"));
        told.sort_by(|a, b| a.0.cmp(&b.0));
        read.sort_by(|a, b| a.0.cmp(&b.0));
        assert!(told.iter().any(|(_, blocks)| blocks.len() > 5), "{name}");
        assert_eq!(read, told, "{name}");
    }
}

#[test]
fn a_linked_function_knows_its_source_and_whether_its_name_is_its_own() {
    let folder = Folder::new("names");
    let twin = folder.file(
        "twin.c",
        "static __attribute__((noinline)) int two(int x)
        { return x * x + 3; } int twin(int x) { return two(x) ^ two(x + 1); }",
    );
    let again = folder.file(
        "again.c",
        "static __attribute__((noinline)) int two(int x)
        { return x - 3; } int again(int x) { return two(x) ^ two(x + 1); }
        int _start(void) { return 0; }",
    );
    let linked = folder.place("linked");
    let words = [
        "-O1",
        "-gmlt",
        "-nostdlib",
        "-fuse-ld=lld",
        "-fbasic-block-address-map",
    ];
    let files = ["-o", &linked, &twin, &again];
    run(&tool("clang"), &[&words[..], &files[..]].concat());
    let image = Image::read(Path::new(&linked)).unwrap();
    let found = |name: &str| {
        let named = image
            .functions
            .iter()
            .filter(|function| function.names == [name]);
        let told = named.map(|function| (function.ambiguous, function.module.clone().unwrap()));
        told.collect::<Vec<_>>()
    };
    assert_eq!(found("twin"), [(false, twin.clone())]);
    let mut two = found("two");
    two.sort();
    assert_eq!(two, [(true, again), (true, twin)]);
}

#[test]
fn every_version_and_feature_is_read() {
    let mut random = Random::new(1);
    for version in 2..=5 {
        for features in 0..=FEATURES[usize::from(version) - 2] {
            let ranges = if features & SEVERAL_RANGES == 0 {
                1
            } else {
                1 + random.below(3)
            };
            let first = function(&mut random, ranges);
            let second = function(&mut random, ranges);
            let section = [
                encode(&first, version, features),
                encode(&second, version, features),
            ];
            let read = decode(&section.concat(), FORM, |_, raw| Some(raw)).unwrap();
            let kept = features & NO_BLOCKS == 0;
            let expected = if kept { vec![first, second] } else { vec![] };
            assert_eq!(read, expected, "version {version}, features {features:#x}");
        }
    }
}

#[test]
fn unknown_versions_and_features_are_refused() {
    for version in [0, 1, 6, 255] {
        let error = decode(&[version, 0, 0], FORM, |_, raw| Some(raw)).unwrap_err();
        assert_eq!(error, MapError::Version(version));
        assert_eq!(
            error.to_string(),
            format!(
                "its map of basic blocks has version {version}: known are 2 to 5 (clang 19 to 23)"
            )
        );
    }
    for (version, features) in [(2, 0x20), (3, 0x40), (4, 0x80)] {
        let error = decode(&[version, features, 0], FORM, |_, raw| Some(raw)).unwrap_err();
        assert_eq!(error, MapError::Corrupt(1));
    }
}

#[test]
fn a_map_that_is_cut_off_is_refused_wherever_it_is_cut() {
    let mut random = Random::new(2);
    for version in 2..=5 {
        let features = FEATURES[usize::from(version) - 2] & !NO_BLOCKS;
        let section = encode(&function(&mut random, 2), version, features);
        for length in 1..section.len() {
            let error = decode(&section[..length], FORM, |_, raw| Some(raw)).unwrap_err();
            assert!(matches!(error, MapError::Corrupt(_)), "{length}: {error}");
        }
    }
}

/// Maps with changed bytes: each is read or refused, and refused in one line.
#[test]
fn changed_maps_are_read_or_refused() {
    let mut random = Random::new(3);
    let mut refused = 0;
    let tries = inputs(200_000);
    for _ in 0..tries {
        let version = 2 + random.below(4) as u8;
        let features = random.next() as u16 & FEATURES[usize::from(version) - 2];
        let ranges = if features & SEVERAL_RANGES == 0 { 1 } else { 2 };
        let mut section = encode(&function(&mut random, ranges), version, features);
        for _ in 0..1 + random.below(4) {
            let at = random.below(section.len() as u64) as usize;
            section[at] = random.next() as u8;
        }
        if let Err(error) = decode(&section, FORM, |_, raw| Some(raw)) {
            refused += 1;
            assert_eq!(error.to_string().lines().count(), 1);
        }
    }
    assert!(
        (tries / 20..tries * 19 / 20).contains(&refused),
        "{refused}"
    );
}

/// The same with whole files: symbols, relocations and debug information may be wrong, too.
#[test]
fn changed_files_are_read_or_refused() {
    let folder = Folder::new("changed");
    let builds: [(&str, &[&str]); 2] = [
        ("plain.o", &["-c", "-O2"]),
        ("linked", &["-O2", "-nostdlib", "-fuse-ld=lld"]),
    ];
    let mut random = Random::new(4);
    for (name, words) in builds {
        let whole = std::fs::read(compiled(&folder, name, words)).unwrap();
        let mut refused = 0;
        let tries = inputs(4_000);
        for _ in 0..tries {
            let mut changed = whole.clone();
            for _ in 0..1 + random.below(32) {
                let at = random.below(changed.len() as u64) as usize;
                changed[at] = random.next() as u8;
            }
            if random.once_in(4) {
                changed.truncate(random.below(changed.len() as u64) as usize);
            }
            if let Err(error) = Image::parse(&changed[..]) {
                refused += 1;
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
        assert!(refused > tries / 8, "{name}: {refused}");
    }
}

#[test]
fn files_that_are_no_mapped_image_are_told() {
    let folder = Folder::new("no-map");
    let text = folder.file("text", "no ELF");
    let error = Image::read(Path::new(&text)).unwrap_err();
    assert!(matches!(error, ImageError::NotElf(_)), "{error}");
    let error = Image::read(&folder.0).unwrap_err();
    assert_eq!(error.to_string(), "it cannot be read: it is no file");
    let error = Image::read(&folder.0.join("absent")).unwrap_err();
    assert!(matches!(error, ImageError::Unreadable(_)), "{error}");
    let source = folder.file("x.c", "int x(void) { return 1; }");
    let object = folder.place("x.o");
    run(&tool("clang"), &["-c", "-o", &object, &source]);
    let error = Image::read(Path::new(&object)).unwrap_err();
    assert_eq!(error, ImageError::NoMap);
}
