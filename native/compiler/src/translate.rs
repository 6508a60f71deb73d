// SPDX-License-Identifier: GPL-2.0-or-later
//! kbuild's words for one family of compilers, said to another one: by a table (`options.table`).

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const TABLE: &str = include_str!("options.table");

/// Whom kbuild has its words for.
pub const CLANG: &str = "clang";
pub const GCC: &str = "gcc";
/// It takes clang's words, and what is gcc's is said to it by way of these.
const LIKE_CLANG: &str = "icx";

/// A line of the table.
struct Entry<'a> {
    /// One word, or an option with its argument.
    pattern: Vec<&'a str>,
    words: Vec<&'a str>,
    /// Why there are no words.
    refusal: Option<&'a str>,
}

/// The words for a compiler of family `to`; or why there are none.
pub fn translate(words: &[OsString], from: &str, to: &str) -> Result<Vec<OsString>, String> {
    if from == to {
        return Ok(words.to_vec());
    }
    if from == GCC && to == LIKE_CLANG {
        return translate(&translate(words, from, CLANG)?, CLANG, to);
    }
    let table = entries(from, to);
    if table.is_empty() {
        return Err(format!("there is no table of options from {from} to {to}"));
    }
    let mut said = Vec::new();
    for entry in table.iter().filter(|entry| entry.pattern == ["+"]) {
        said.extend(entry.words.iter().map(OsString::from));
    }
    let mut at = 0;
    while at < words.len() {
        let found = table
            .iter()
            .find_map(|entry| Some((entry, rest_of(&entry.pattern, &words[at..])?)));
        let Some((entry, rest)) = found else {
            said.push(words[at].clone());
            at += 1;
            continue;
        };
        if let Some(reason) = entry.refusal {
            return Err(format!("{}: {reason}", words[at].display()));
        }
        said.extend(entry.words.iter().map(|word| filled(word, rest)));
        at += entry.pattern.len();
    }
    Ok(said)
}

fn entries<'a>(from: &str, to: &str) -> Vec<Entry<'a>> {
    let pair = format!("{from}>{to}");
    let lines = TABLE.lines().filter_map(|line| line.strip_prefix(&pair));
    lines.filter_map(entry).collect()
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let (pattern, behind) = line.split_once("=>")?;
    Some(Entry {
        pattern: pattern.split_whitespace().collect(),
        words: behind.split_whitespace().collect(),
        refusal: behind.trim().strip_prefix('!').map(str::trim),
    })
}

/// What stands for `*` when words begin as a pattern has it; empty without one.
fn rest_of<'a>(pattern: &[&str], words: &'a [OsString]) -> Option<&'a [u8]> {
    let mut rest: &[u8] = b"";
    if words.len() < pattern.len() {
        return None;
    }
    for (part, word) in pattern.iter().zip(words) {
        match part.strip_suffix('*') {
            Some(start) => rest = word.as_bytes().strip_prefix(start.as_bytes())?,
            None if word == part => {}
            None => return None,
        }
    }
    Some(rest)
}

fn filled(word: &str, rest: &[u8]) -> OsString {
    match word.strip_suffix('*') {
        Some(start) => OsString::from_vec([start.as_bytes(), rest].concat()),
        None => word.into(),
    }
}

/// Whom words are for: clang's have the target in one.
pub fn family_of(words: &[OsString]) -> &'static str {
    let is_target = |word: &OsString| word.as_bytes().starts_with(b"--target=");
    if words.iter().any(is_target) {
        CLANG
    } else {
        GCC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, from: &str, to: &str) -> Result<String, String> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let said = translate(&words, from, to)?;
        let said: Vec<_> = said.iter().map(|word| word.to_str().unwrap()).collect();
        Ok(said.join(" "))
    }

    #[test]
    fn words_of_clang_are_said_to_gcc() {
        let words = "--target=x86_64-linux-gnu -Wall -O2 -mstack-alignment=8 -mllvm -x=1 -gmlt -Wp,-MMD,x.d -c -o x.o x.c";
        assert_eq!(
            said(words, CLANG, GCC).unwrap(),
            "-O2 -mpreferred-stack-boundary=3 -g1 -Wp,-MMD,x.d -c -o x.o x.c"
        );
    }

    #[test]
    fn words_of_gcc_are_said_to_clang() {
        let words = "-Wall -Wp,-MMD,x.d -mpreferred-stack-boundary=3 --param x=1 -O3 -c -o x.o x.c";
        assert_eq!(
            said(words, GCC, CLANG).unwrap(),
            "--target=x86_64-linux-gnu -fintegrated-as -Qunused-arguments -Wp,-MMD,x.d -mstack-alignment=8 -O3 -c -o x.o x.c"
        );
    }

    #[test]
    fn tcc_is_told_what_it_knows_and_nothing_else() {
        let words = "--target=x86_64-linux-gnu -Ia -I b -include k.h -DX=\"y\" -O2 -mno-sse -fno-common -Wp,-MMD,fs/.x.d -c -o x.o x.c";
        let told = said(words, CLANG, "tcc").unwrap();
        assert!(told.starts_with("-mno-sse -U__GNUC__"), "{told}");
        assert!(
            told.ends_with("-Ia -I b -include k.h -DX=\"y\" -MD -MF fs/.x.d -c -o x.o x.c"),
            "{told}"
        );
    }

    #[test]
    fn what_cannot_be_said_is_told_with_its_reason() {
        let why = said("-O2 -fprofile-sample-use=x.afdo", CLANG, GCC).unwrap_err();
        assert_eq!(
            why,
            "-fprofile-sample-use=x.afdo: the profile is one that only clang reads"
        );
        let why = said("-fpatchable-function-entry=16,16", GCC, "tcc").unwrap_err();
        assert!(why.contains("entries of functions are patched"), "{why}");
        assert!(
            said("-c", CLANG, "elsewhere")
                .unwrap_err()
                .contains("no table")
        );
    }

    #[test]
    fn words_of_gcc_are_said_to_icx_as_to_a_clang() {
        let words = "-fconserve-stack -mpreferred-stack-boundary=3 -O2 -c -o x.o x.c";
        assert_eq!(
            said(words, GCC, "icx").unwrap(),
            "-fp-model=precise -Wno-unknown-warning-option --target=x86_64-linux-gnu -fintegrated-as -Qunused-arguments \
             -mstack-alignment=8 -O2 -fno-vectorize -fno-slp-vectorize -c -o x.o x.c"
        );
        let why = said("-fplugin=x.so", GCC, "icx").unwrap_err();
        assert!(why.contains("plugins are gcc's own"), "{why}");
    }

    #[test]
    fn every_line_of_the_table_is_one() {
        let families = [CLANG, GCC, "icx", "tcc"];
        for line in TABLE
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (pair, rest) = line.split_once(char::is_whitespace).unwrap();
            let (from, to) = pair.split_once('>').unwrap();
            assert!(families.contains(&from) && families.contains(&to), "{line}");
            let entry = entry(rest).unwrap_or_else(|| panic!("{line}"));
            assert!((1..=2).contains(&entry.pattern.len()), "{line}");
        }
    }

    #[test]
    fn the_same_family_is_told_the_same() {
        let words = "--target=x86_64-linux-gnu -Wall -c";
        assert_eq!(said(words, CLANG, CLANG).unwrap(), words);
    }
}
