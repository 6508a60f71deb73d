// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps on a link: on the order of a kernel's objects, one a line, or on its linker script.
//!
//! | step | what it does |
//! | --- | --- |
//! | `first=PATTERN` | objects whose names fit come first, in the order that they have |
//! | `align=SECTION:BYTES` | the input sections of that name begin at a multiple |
//! | `order:/PROGRAM` | a program of the user's reads the order and writes it |
//! | `script:/PROGRAM` | likewise the linker script |

use crate::objects::matches;
use crate::steps::filtered;

const ORDER: &str = "order:";
const SCRIPT: &str = "script:";

/// Whether a step is given the order of objects; others are given the linker script.
pub fn is_of_order(step: &str) -> bool {
    step.starts_with("first=") || step.starts_with(ORDER)
}

/// The text behind a step.
pub fn apply(step: &str, text: String) -> Result<String, String> {
    for start in [ORDER, SCRIPT] {
        if let Some(program) = step.strip_prefix(start) {
            let said = filtered(program, text)?;
            let empty = said.trim().is_empty();
            return if empty {
                Err("it wrote nothing".into())
            } else {
                Ok(said)
            };
        }
    }
    match step.split_once('=') {
        Some(("first", pattern)) => first(&text, pattern),
        Some(("align", asked)) => aligned(&text, asked),
        _ => Err("there is no such step".into()),
    }
}

fn first(order: &str, pattern: &str) -> Result<String, String> {
    // Objects may be named by where they lie.
    let any = format!("**/{pattern}");
    let fits = |name: &&str| {
        [pattern, &any]
            .iter()
            .any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    };
    let (found, others): (Vec<&str>, Vec<&str>) = order.lines().partition(fits);
    if found.is_empty() {
        return Err(format!("no object is called {pattern}"));
    }
    Ok(found
        .iter()
        .chain(&others)
        .map(|name| format!("{name}\n"))
        .collect())
}

fn aligned(script: &str, asked: &str) -> Result<String, String> {
    let (section, bytes) = asked.rsplit_once(':').ok_or("it takes SECTION:BYTES")?;
    let bytes: u64 = bytes
        .parse()
        .map_err(|_| format!("{bytes:?} is no number of bytes"))?;
    if !bytes.is_power_of_two() {
        return Err(format!("{bytes} is no power of two"));
    }
    let begin = format!("*({section}");
    let ends = |at: &usize| {
        let next = script[at + begin.len()..].chars().next();
        next.is_some_and(|next| next == ')' || next.is_whitespace())
    };
    let mut places = script.match_indices(&begin).map(|(at, _)| at);
    let at = places.find(ends);
    let at = at.ok_or_else(|| format!("the linker script has no {begin} …)"))?;
    // KEEP( and SORT( stand around a description.
    let at = ["KEEP(", "KEEP ("]
        .iter()
        .find_map(|word| script[..at].strip_suffix(word))
        .map_or(at, str::len);
    Ok(format!(
        "{}. = ALIGN({bytes}); {}",
        &script[..at],
        &script[at..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = ".text : { _text = .; *(.text.hot .text.hot.*) *(.text .text.[0-9a-zA-Z_]*) } .init : { KEEP(*(.init.x)) }";

    #[test]
    fn objects_that_fit_come_first() {
        let order = "init/main.o\nfs/open.o\n/out/mm/slub.o\nfs/pipe.o\n".to_string();
        assert_eq!(
            apply("first=fs/*.o", order.clone()).unwrap(),
            "fs/open.o\nfs/pipe.o\ninit/main.o\n/out/mm/slub.o\n"
        );
        assert!(
            apply("first=mm/*.o", order.clone())
                .unwrap()
                .starts_with("/out/mm/slub.o\n")
        );
        assert!(
            apply("first=net/*.o", order)
                .unwrap_err()
                .contains("no object is called net/*.o")
        );
    }

    #[test]
    fn sections_are_aligned_where_the_script_gathers_them() {
        let aligned = |asked: &str| apply(&format!("align={asked}"), SCRIPT.into());
        assert!(
            aligned(".text.hot:4096")
                .unwrap()
                .contains("_text = .; . = ALIGN(4096); *(.text.hot ")
        );
        assert!(
            aligned(".text:64")
                .unwrap()
                .contains(" . = ALIGN(64); *(.text .text.[")
        );
        assert!(
            aligned(".init.x:8")
                .unwrap()
                .contains("{ . = ALIGN(8); KEEP(*(.init.x")
        );
        for (asked, told) in [
            (".text", "SECTION:BYTES"),
            (".text:x", "no number"),
            (".text:3", "no power of two"),
            (".tex:4", "has no *(.tex"),
        ] {
            let said = aligned(asked).unwrap_err();
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn programs_are_filters() {
        assert_eq!(apply("order:/bin/cat", "a.o\n".into()).unwrap(), "a.o\n");
        assert!(
            apply("script:/bin/true", "x".into())
                .unwrap_err()
                .contains("wrote nothing")
        );
        assert!(
            apply("script:/bin/false", "x".into())
                .unwrap_err()
                .contains("exit status: 1")
        );
        assert!(apply("nothing", "x".into()).is_err());
    }
}
