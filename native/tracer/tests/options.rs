// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments, and its JSON.

use std::path::Path;

use kernsmith_frontend::{Counters, CpuModel, DataCounters};
use kernsmith_tracer::options::{Options, Span};
use kernsmith_tracer::output;

#[test]
fn all_arguments() {
    let options = Options::parse([
        "cpu=a.toml",
        "out=b.json",
        "profile=c.txt",
        "user=on",
        "exact=off",
    ])
    .expect("valid");
    assert_eq!(options.cpu, Path::new("a.toml"));
    assert_eq!(options.out, Path::new("b.json"));
    assert_eq!(options.profile.as_deref(), Some(Path::new("c.txt")));
    assert!(options.user && !options.exact && !options.data && !options.uncounted);
}

#[test]
fn a_guest_that_only_runs() {
    let parse = |count: &str| Options::parse(["cpu=a", "out=b", count]);
    assert!(parse("count=off").expect("valid").uncounted);
    assert!(!parse("count=on").expect("valid").uncounted);
    assert_eq!(
        parse("count=none").expect_err("it is a switch"),
        "argument count must be on or off, not \"none\""
    );
}

#[test]
fn a_depth() {
    let parse = |depth: &str| Options::parse(["cpu=a", "out=b", depth]);
    assert!(parse("depth=core").expect("valid").data);
    assert!(!parse("depth=frontend").expect("valid").data);
    assert_eq!(
        parse("depth=deep").expect_err("there is none"),
        "argument depth must be frontend or core, not \"deep\""
    );
}

#[test]
fn a_span_of_memory() {
    let parse =
        |arguments: &[&str]| Options::parse(["cpu=a", "out=b"].iter().chain(arguments).copied());
    let options = parse(&["memory=m", "span=ffffffff82000000-ffffffff82000010"]).expect("valid");
    assert_eq!(options.memory.as_deref(), Some(Path::new("m")));
    let (start, end) = (0xffff_ffff_8200_0000, 0xffff_ffff_8200_0010);
    assert_eq!(options.span, Span { start, end });
    for wrong in [
        "8",
        "8-8",
        "10-8",
        "8-f",
        "x-10",
        "8-",
        "0-10000000000000000",
    ] {
        let error = parse(&["memory=m", &format!("span={wrong}")]).expect_err(wrong);
        assert!(
            error.starts_with("argument span must be FIRST-END"),
            "{error}"
        );
    }
    for alone in ["memory=m", "span=8-10"] {
        let error = parse(&[alone]).expect_err(alone);
        assert_eq!(
            error,
            "arguments memory=FILE and span=FIRST-END go together"
        );
    }
}

#[test]
fn functions_whose_arguments_are_wanted() {
    let parse =
        |arguments: &[&str]| Options::parse(["cpu=a", "out=b"].iter().chain(arguments).copied());
    let options = parse(&["values=v", "called=ffffffff81000000+10"]).expect("valid");
    assert_eq!(options.values.as_deref(), Some(Path::new("v")));
    assert_eq!(options.called, [0xffff_ffff_8100_0000, 0x10]);
    for wrong in ["", "x", "8+", "8,10"] {
        let error = parse(&["values=v", &format!("called={wrong}")]).expect_err(wrong);
        assert!(
            error.starts_with("argument called must be hexadecimal"),
            "{error}"
        );
    }
    for alone in ["values=v", "called=8"] {
        let error = parse(&[alone]).expect_err(alone);
        assert_eq!(
            error,
            "arguments values=FILE and called=ADDRESS go together"
        );
    }
}

#[test]
fn errors_say_which_argument() {
    let error =
        |arguments: &[&str]| Options::parse(arguments.iter().copied()).expect_err("invalid");
    assert_eq!(error(&["out=b"]), "argument cpu=FILE is missing");
    assert_eq!(error(&["cpu=a"]), "argument out=FILE is missing");
    assert_eq!(error(&["cpu"]), "argument \"cpu\" must be KEY=VALUE");
    assert_eq!(
        error(&["cpu=a", "out=b", "user=yes"]),
        "argument user must be on or off, not \"yes\""
    );
    assert_eq!(
        error(&["cpus=a"]),
        "argument \"cpus\" is not one of cpu, out, profile, trace, tag, memory, span, values, called, user, exact, count, depth, image"
    );
}

#[test]
fn counters_are_written_whole() {
    let model = CpuModel::parse(include_str!("../../../tests/data/penalties.toml")).expect("valid");
    let counters = Counters {
        instructions: 10,
        l1i_misses: 3,
        ..Counters::default()
    };
    let json = output::counters_json(&model, 7, 10, &counters, None);
    for piece in [
        "\"version\": 1",
        "\"cpu\": \"penalties\"",
        "\"kernel_instructions\": 10,",
    ] {
        assert!(json.contains(piece), "{json}");
    }
    assert!(json.contains("\"user_instructions\": 7,") && json.contains("\"l1i_misses\": 3,"));
    assert!(json.contains("\"model_cycles\": 38.500\n"), "{json}");
    assert!(!json.contains("l1d"), "{json}");
    let data = DataCounters {
        l1d_misses: 5,
        dtlb_misses: 4,
        ..DataCounters::default()
    };
    let with_data = output::counters_json(&model, 7, 10, &counters, Some(&data));
    assert!(with_data.contains("\"l1d_misses\": 5,") && with_data.contains("\"dtlb_misses\": 4,"));
    let folder = std::env::temp_dir().join(format!("kernsmith-output-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let path = folder.join("counters.json");
    output::write_whole(&path, &json).expect("writable");
    assert_eq!(std::fs::read_to_string(&path).expect("written"), json);
    assert_eq!(std::fs::read_dir(&folder).expect("there").count(), 1);
    output::prepare(&path).expect("removable");
    assert!(!path.exists());
    output::prepare(&path).expect("nothing to remove");
    std::fs::remove_dir_all(&folder).expect("removable");
    let error = output::prepare(&path).expect_err("the folder is gone");
    assert!(error.ends_with(": its folder does not exist"), "{error}");
    let error = output::write_whole(&path, &json).expect_err("the folder is gone");
    assert!(error.starts_with("cannot write "), "{error}");
}
