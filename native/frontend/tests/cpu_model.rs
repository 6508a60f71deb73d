// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU model files: the shipped ones are valid, and errors name the key.

mod random;

use std::path::Path;

use kernsmith_frontend::{CpuModel, FrontEnd, Replacement};
use random::Random;

const PENALTIES: &str = include_str!("../../../tests/data/penalties.toml");
const NEOVERSE_N1: &str = include_str!("../../../cpus/neoverse-n1.toml");
const EMERALD_RAPIDS: &str = include_str!("../../../cpus/emeraldrapids.toml");
const ZEN3: &str = include_str!("../../../cpus/zen3.toml");
const ZEN5: &str = include_str!("../../../cpus/zen5.toml");

/// The shipped model with one piece of text replaced.
fn refused(from: &str, to: &str) -> String {
    refused_of(PENALTIES, from, to)
}

fn refused_of(model: &str, from: &str, to: &str) -> String {
    assert!(model.contains(from), "{from}");
    let error = CpuModel::parse(&model.replacen(from, to, 1)).expect_err(to);
    error.to_string()
}

#[test]
fn every_shipped_model_is_valid_and_named_as_its_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cpus");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        let model = CpuModel::load(&path).expect("valid");
        assert_eq!(path.file_stem().expect("a name"), model.name.as_str());
        let _ = FrontEnd::new(&model);
        names.push(model.name);
    }
    assert!(names.len() >= 7, "{names:?}");
}

#[test]
fn replacement_is_lru_unless_said_otherwise() {
    let model = CpuModel::parse(PENALTIES).expect("valid");
    assert_eq!(model.l1i.replacement, Replacement::Lru);
    let changed = PENALTIES.replacen("ways = 8", "replacement = \"round-robin\"\nways = 8", 1);
    let model = CpuModel::parse(&changed).expect("valid");
    assert_eq!(model.l1i.replacement, Replacement::RoundRobin);
    assert_eq!(model.l2.replacement, Replacement::Lru);
}

#[test]
fn errors_name_the_key_and_what_is_allowed() {
    assert_eq!(refused("width = 4", ""), "width: is missing");
    assert_eq!(
        refused("line_bytes = 64", "line_bytes = 48"),
        "line_bytes: must be a power of two, not 48"
    );
    assert_eq!(
        refused("ways = 8", "ways = 0"),
        "l1i.ways: must be an integer from 1 to 256, not 0"
    );
    assert_eq!(
        refused("ways = 8", "ways = 7 "),
        "l1i.ways: 512 entries in 7 ways must make 1, 2, 4, 8 … sets"
    );
    assert_eq!(
        refused("kind = \"tournament\"", "kind = \"oracle\""),
        "predictor.kind: must be \"gshare\" or \"tournament\", not \"oracle\""
    );
    assert_eq!(
        refused("miss_cycles = 12", "miss_cycles = -1"),
        "l1i.miss_cycles: must be a number from 0 to 10000, not -1"
    );
    assert_eq!(refused("[rep]", "[rap]"), "rep: is missing");
    assert_eq!(
        refused("ways = 8", "ways = 8\nwaves = 8 "),
        "l1i.waves: is not a key of a CPU model"
    );
    assert!(refused("width = 4", "width = = ").starts_with("no valid TOML in line "));
}

#[test]
fn a_front_end_in_time_may_have_no_micro_op_cache() {
    let model = CpuModel::parse(NEOVERSE_N1).expect("valid");
    let geometry = model.decoupled.expect("it is in time");
    assert_eq!(geometry.op_cache, None);
    assert_eq!(geometry.fetch.switch_cycles, 0.0);
    assert!(geometry.fetch.prefetch);
    let model = CpuModel::parse(ZEN5).expect("valid");
    let op_cache = model.decoupled.and_then(|one| one.op_cache);
    assert_eq!(op_cache.expect("it has one").windows, 2);
    assert_eq!(
        refused_of(
            NEOVERSE_N1,
            "prefetch = \"on\"",
            "switch_cycles = 1\nprefetch = \"on\""
        ),
        "decoupled.fetch.switch_cycles: needs a micro-op cache to switch from: \
         decoupled.op_cache is missing"
    );
    assert_eq!(
        refused_of(ZEN5, "switch_cycles = 1.27 ", ""),
        "decoupled.fetch.switch_cycles: is missing"
    );
    assert_eq!(
        refused_of(ZEN5, "windows = 2", "windows = 5"),
        "decoupled.op_cache.windows: must be an integer from 1 to 4, not 5"
    );
    assert_eq!(
        refused_of(ZEN5, "windows = 2", "windows = 2\nlines = \"set\""),
        "decoupled.op_cache.lines: must be \"window\" or \"run\", not \"set\""
    );
    assert_eq!(
        refused_of(ZEN5, "\ntables = 4", "\nhistory = \"targets\"\ntables = 4"),
        "decoupled.predictor.history: must be \"path\" or \"directions\", not \"targets\""
    );
    assert_eq!(
        refused_of(ZEN5, "shortest_history = 16", "shortest_history = 3"),
        "decoupled.predictor.shortest_history: must be an integer from 6 to 256, not 3"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "taken_cycles = 0.5       # [sog] [cc] two",
            "taken_cycles = 0.5\ncall_cycles = -1 # two"
        ),
        "decoupled.fetch.call_cycles: must be a number from 0 to 10000, not -1"
    );
    assert_eq!(
        refused_of(ZEN5, "ways = 12, cycles = 1.9", "ways = 7, cycles = 1.9"),
        "decoupled.buffers.l2.ways: 24576 entries in 7 ways must make 1, 2, 4, 8 … sets"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "ways = 12, cycles = 1.9",
            "ways = 12, cycles = 1.9, to_other_page = 3"
        ),
        "decoupled.buffers.l2.to_other_page: must be a number from 1 to 2, not 3"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "ways = 12, cycles = 1.9",
            "ways = 12, cycles = 1.9, replacement = \"fifo\""
        ),
        "decoupled.buffers.l2.replacement: must be \"lru\" or \"round-robin\" or \"random\", not \"fifo\""
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "taken_cycles = 0.5       # [sog] [cc] two",
            "taken_cycles = 0.5\nfill_buffers = 0 # two"
        ),
        "decoupled.fetch.fill_buffers: must be an integer from 1 to 256, not 0"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "ways = 12, cycles = 1.9 }",
            "ways = 12, cycles = 1.9, replacement = \"random\" }\nexclusive = \"on\""
        ),
        "decoupled.buffers.exclusive: needs buffers that forget what was used least recently"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "[decoupled.buffers]",
            "[decoupled.buffers]\nahead = { false_hit_cycles = -1 }"
        ),
        "decoupled.buffers.ahead.false_hit_cycles: must be a number from 0 to 10000, not -1"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "[decoupled.buffers]",
            "[decoupled.buffers]\nexclusive = true"
        ),
        "decoupled.buffers.exclusive: must be \"off\" or \"on\", not true"
    );
    assert_eq!(
        refused_of(
            ZEN5,
            "taken_cycles = 0.5       # [sog] [cc] two",
            "taken_cycles = 0.5\nunknown_conditional = \"later\" # two"
        ),
        "decoupled.fetch.unknown_conditional: must be \"decoded\" or \"executed\", not \"later\""
    );
    assert_eq!(
        refused_of(NEOVERSE_N1, "prefetch = \"on\"", "prefetch = \"maybe\""),
        "decoupled.fetch.prefetch: must be \"on\" or \"off\", not \"maybe\""
    );
    let model = CpuModel::parse(NEOVERSE_N1).expect("valid");
    assert!(model.decoupled.expect("it is in time").fetch.walk_ahead);
    let with = |word: &str| format!("prefetch = \"on\"\nwalk_ahead = \"{word}\"");
    let text = NEOVERSE_N1.replacen("prefetch = \"on\"", &with("off"), 1);
    let model = CpuModel::parse(&text).expect("valid");
    assert!(!model.decoupled.expect("it is in time").fetch.walk_ahead);
    assert_eq!(
        refused_of(NEOVERSE_N1, "prefetch = \"on\"", &with("yes")),
        "decoupled.fetch.walk_ahead: must be \"on\" or \"off\", not \"yes\""
    );
}

#[test]
fn a_queue_may_be_of_lines_and_spare_some() {
    let with = |fetch: &str, cache: &str| {
        let text = ZEN3.replace(
            "next_line = \"off\"",
            &format!("{fetch}\nnext_line = \"off\""),
        );
        let text = text.replace("lines = \"run\"", &format!("{cache}\nlines = \"run\""));
        CpuModel::parse(&text).map(|model| model.decoupled.expect("in time"))
    };
    let plain = with("", "").expect("as it is");
    assert!(!plain.fetch.queue_of_lines && !plain.fetch.one_fill_a_set);
    assert_eq!(
        (plain.fetch.page_cycles, plain.fetch.walk_cycles),
        (0.0, 0.0)
    );
    let fetch = "queue_of = \"lines\"\none_fill_a_set = \"on\"\npage_cycles = 1\nwalk_cycles = 10";
    let cache = "spares_lines = \"on\"\nreplacement = \"random\"";
    let all = with(fetch, cache).expect("with all of it");
    assert!(all.fetch.queue_of_lines && all.fetch.one_fill_a_set);
    assert_eq!((all.fetch.page_cycles, all.fetch.walk_cycles), (1.0, 10.0));
    let op_cache = all.op_cache.expect("it has one");
    assert!(op_cache.spares_lines);
    assert_eq!(op_cache.replacement, Replacement::Random);
    let refused = with("", cache).expect_err("of blocks").to_string();
    let said = "decoupled.op_cache.spares_lines: needs a queue of lines";
    assert!(refused.contains(said), "{refused}");
}

#[test]
fn names_of_branches_may_be_drawn() {
    let drawn = |known_by: &str| {
        let lines = format!("history = \"directions\"\nknown_by = \"{known_by}\"\ndraw = 3 ");
        let text = ZEN3.replace("history = \"directions\" ", &lines);
        CpuModel::parse(&text).map(|model| model.decoupled.expect("in time").predictor.draw)
    };
    assert_eq!(drawn("function"), Ok(3));
    let refused = drawn("address").expect_err("by address").to_string();
    let said = "decoupled.predictor.draw: is of branches that are known by \"function\"";
    assert!(refused.contains(said), "{refused}");
}

#[test]
fn a_predictor_may_have_a_table_of_loops() {
    let with = |loops: &str| {
        let line = format!("target_bits = 12\nloops = {loops}\n#");
        ZEN5.replacen("target_bits = 12", &line, 1)
    };
    let loops = |text: &str| {
        let model = CpuModel::parse(text).expect("valid");
        model.decoupled.and_then(|one| one.predictor.loops)
    };
    assert_eq!(loops(ZEN5), None);
    let found = loops(&with("{ entries = 64, ways = 4 }")).expect("it has one");
    assert_eq!((found.entries, found.ways), (64, 4));
    let refused = |loops: &str| {
        let error = CpuModel::parse(&with(loops)).expect_err(loops);
        error.to_string()
    };
    assert_eq!(
        refused("{ entries = 64 }"),
        "decoupled.predictor.loops.ways: is missing"
    );
    assert_eq!(
        refused("{ entries = 64, ways = 5 }"),
        "decoupled.predictor.loops.ways: 64 entries in 5 ways must make 1, 2, 4, 8 … sets"
    );
    assert_eq!(
        refused("{ entries = 0, ways = 4 }"),
        "decoupled.predictor.loops.entries: must be an integer from 1 to 4096, not 0"
    );
    assert_eq!(
        refused("{ entries = 8, ways = 4, tags = 14 }"),
        "decoupled.predictor.loops.tags: is not a key of a CPU model"
    );
    assert_eq!(refused("64"), "decoupled.predictor.loops: must be a table");
}

#[test]
fn what_replaced_the_keys_of_an_older_model_is_told() {
    let one_size = refused("width = 4", "page_bytes = 4096\nwidth = 4");
    assert!(
        one_size.starts_with("page_bytes: was replaced: "),
        "{one_size}"
    );
    assert!(one_size.contains("itlb and stlb say by shared, or small and large"));
    let small = "small = { entries = 128, ways = 8 }";
    let old = refused(small, "entries = 128\nways = 8");
    assert!(
        old.starts_with("itlb.entries: was replaced: say shared = { entries, ways, … }"),
        "{old}"
    );
    let shared = refused("shared = {", "ways = 12 #");
    assert!(shared.starts_with("stlb.ways: was replaced"), "{shared}");
    assert_eq!(refused("large = {", "huge = {"), "itlb.large: is missing");
    assert_eq!(
        refused(small, "small = { entries = 128, ways = 7 }"),
        "itlb.small.ways: 128 entries in 7 ways must make 1, 2, 4, 8 … sets"
    );
    let both = refused(small, "shared = { entries = 8, ways = 8 }");
    assert_eq!(both, "itlb.large: is not a key of a CPU model");
}

#[test]
fn a_data_side_needs_a_front_end_in_time_and_all_of_its_keys() {
    let refused = |from, to| refused_of(EMERALD_RAPIDS, from, to);
    assert!(CpuModel::parse(PENALTIES).expect("valid").data.is_none());
    let data = &EMERALD_RAPIDS[EMERALD_RAPIDS.find("[data]").expect("it has one")..];
    let data = &data[..data.find("[rep]").expect("it comes behind")];
    let told = CpuModel::parse(&format!("{PENALTIES}\n{data}")).expect_err("no clocks");
    assert_eq!(
        told.to_string(),
        "data: needs a front end in time, whose dispatch waits for data: decoupled is missing"
    );
    assert_eq!(
        refused("[data.dtlb]", "[data.tlb]"),
        "data.dtlb: is missing"
    );
    assert_eq!(
        refused("reorder = 512", "reorder = 0"),
        "data.reorder: must be an integer from 1 to 65536, not 0"
    );
    assert_eq!(
        refused("bytes = 49152", "bytes = 49153"),
        "data.l1d.bytes: must be whole lines of 64 bytes"
    );
    assert_eq!(
        refused("ahead = 8", "ahead = 8\nbehind = 8"),
        "data.stride.behind: is not a key of a CPU model"
    );
    let without = EMERALD_RAPIDS.replacen("[data.stride]", "", 1);
    let without = without.replacen("entries = 256           # assumed", "", 1);
    let without = without.replacen("ahead = 8 ", "# ", 1);
    let model = CpuModel::parse(&without).expect("a core may have no such prefetcher");
    assert!(model.data.expect("it has a data side").stride.is_none());
}

#[test]
fn a_missing_file_is_named() {
    let error = CpuModel::load(Path::new("no-such.toml")).expect_err("it is not there");
    assert!(error.starts_with("CPU model no-such.toml: "), "{error}");
}

#[test]
fn damaged_files_are_refused_or_still_models() {
    let mut random = Random::new(5);
    for number in 0..6000 {
        let models = [PENALTIES, NEOVERSE_N1, ZEN5, EMERALD_RAPIDS];
        let mut bytes = models[number % 4].as_bytes().to_vec();
        for _ in 0..=random.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => bytes.truncate(at + 1),
                1 => drop(bytes.remove(at)),
                2 => bytes[at] = random.next() as u8,
                _ => bytes.insert(at, random.pick(b"0123456789.=[]\"#\n-")),
            }
        }
        if let Ok(model) = CpuModel::parse(&String::from_utf8_lossy(&bytes)) {
            FrontEnd::new(&model).follow_data(&model);
        }
    }
}
