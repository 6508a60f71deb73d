// SPDX-License-Identifier: GPL-2.0-or-later
//! Which objects are compiled in another way, and in which: by another compiler, with more flags,
//! through steps on their assembly.
//!
//! # The file
//!
//! A line that begins with `#` is none. A rule a line, six fields with tabs between them, each a list of words with blanks between
//! them: patterns of objects as kbuild names them; the compiler with the digest of its content and its family
//! ([`crate::translate`]), or nothing; flags; the assembler's kind (`gnu`, `clang`, or nothing: the compiler's own), with the program behind
//! `clang` that assembles what another compiler than clang has written; steps ([`crate::steps`]); the compiler that takes what the first one
//! cannot, or nothing. Of several rules that match
//! an object all hold: the last compiler, assembler and fallback, the flags and steps of all.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file of a kernel, in its folder.
pub const FILE: &str = "objects.rules";

/// The variable that names the file where no kernel's folder does.
pub const VARIABLE: &str = "KERNSMITH_OBJECTS";

/// The step that comes behind all others, whatever the order of rules.
const LAST: &str = "align-jumps";

/// Code that runs before the kernel does, or in user space: such objects are matched only by their
/// whole names.
const APART: [&str; 7] = [
    "arch/x86/boot/",
    "arch/x86/entry/vdso/",
    "arch/x86/purgatory/",
    "arch/x86/realmode/",
    "drivers/firmware/efi/libstub/",
    "scripts/",
    "usr/",
];

/// A compiler that a rule names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub program: String,
    /// The digest of what it is.
    pub content: String,
    pub family: String,
}

impl Named {
    fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        Some(Self {
            program: words.next()?,
            content: words.next()?,
            family: words.next()?,
        })
    }
}

/// How one object is compiled.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// None for the one that kbuild calls.
    pub compiler: Option<Named>,
    /// The one that takes what that one cannot.
    pub fallback: Option<Named>,
    pub flags: Vec<String>,
    /// The kind, and a program behind it.
    pub assembler: Vec<String>,
    pub steps: Vec<String>,
    /// Those that the object fits.
    pub patterns: Vec<String>,
}

/// What the rules in a file say of the object that is compiled from C by these words; none where
/// they say nothing of it.
pub fn way_of(words: &[OsString], file: &Path) -> Option<Way> {
    let text = std::fs::read_to_string(file).ok()?;
    let is_c = words.iter().any(|word| word.as_bytes().ends_with(b".c"));
    let compiles = words.iter().any(|word| word == "-c");
    let object = object_of(words)?.to_str()?;
    if !is_c || !compiles {
        return None;
    }
    let mut way = Way::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t').map(|field| field.split_whitespace());
        let mut next = || fields.next().into_iter().flatten().map(String::from);
        let before = way.patterns.len();
        way.patterns
            .extend(next().filter(|pattern| fits(pattern, object)));
        if way.patterns.len() == before {
            continue;
        }
        way.compiler = Named::read(next()).or(way.compiler);
        way.flags.extend(next());
        let assembler: Vec<String> = next().collect();
        if !assembler.is_empty() {
            way.assembler = assembler;
        }
        way.steps.extend(next());
        way.fallback = Named::read(next()).or(way.fallback);
    }
    // Other steps move what it has aligned.
    way.steps.sort_by_key(|step| step == LAST);
    (!way.patterns.is_empty()).then_some(way)
}

/// The object that words say to write.
pub fn object_of(words: &[OsString]) -> Option<&OsStr> {
    let mut pairs = words.windows(2).filter(|pair| pair[0] == "-o");
    pairs.next().map(|pair| pair[1].as_os_str())
}

fn fits(pattern: &str, object: &str) -> bool {
    let apart = APART.iter().any(|folder| object.starts_with(folder));
    pattern == object || !apart && matches(pattern.as_bytes(), object.as_bytes())
}

/// `*` is anything within a folder, `**` anything, `?` one character.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern {
        [] => name.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        [b'*', rest @ ..] => {
            let end = name.iter().position(|&byte| byte == b'/');
            (0..=end.unwrap_or(name.len())).any(|at| matches(rest, &name[at..]))
        }
        [b'?', rest @ ..] => !matches!(name, [] | [b'/', ..]) && matches(rest, &name[1..]),
        [byte, rest @ ..] => name.first() == Some(byte) && matches(rest, &name[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn patterns_match_within_folders_or_across_them() {
        for (pattern, object, fit) in [
            ("fs/*.o", "fs/pipe.o", true),
            ("fs/*.o", "fs/proc/base.o", false),
            ("fs/**.o", "fs/proc/base.o", true),
            ("**", "kernel/fork.o", true),
            ("fs/p?pe.o", "fs/pipe.o", true),
            ("fs/p?pe.o", "fs/p/pe.o", false),
            ("fs/pipe.o", "net/fs/pipe.o", false),
            ("**", "arch/x86/boot/compressed/misc.o", false),
            ("arch/x86/boot/edd.o", "arch/x86/boot/edd.o", true),
        ] {
            assert_eq!(fits(pattern, object), fit, "{pattern} {object}");
        }
    }

    #[test]
    fn rules_that_match_add_up() {
        let name = format!("kernsmith-objects-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let rules = "# fs/*.o\t\t-O9\nfs/*.o net/*.o\t\t-O3 -fx\tgnu\talign-jumps pad=7\nfs/pipe.o\tclang-19 d1 clang\t-O1\t\tno-prefetch\tgcc-12 d2 gcc\n";
        std::fs::write(&file, rules).unwrap();
        let way = |text: &str| way_of(&words(text), &file);
        let pipe = way("-O2 -c -o fs/pipe.o ../source/fs/pipe.c").unwrap();
        let [compiler, fallback] = [pipe.compiler, pipe.fallback].map(Option::unwrap);
        assert_eq!(
            [compiler.program, compiler.content, compiler.family],
            ["clang-19", "d1", "clang"]
        );
        assert_eq!(fallback.program, "gcc-12");
        assert_eq!(pipe.flags, ["-O3", "-fx", "-O1"]);
        assert_eq!(pipe.assembler, ["gnu"]);
        assert_eq!(pipe.patterns, ["fs/*.o", "fs/pipe.o"]);
        assert_eq!(pipe.steps, ["pad=7", "no-prefetch", "align-jumps"]);
        let socket = way("-c -o net/socket.o x.c").unwrap();
        assert_eq!(
            (socket.steps, socket.compiler),
            (["pad=7", "align-jumps"].map(String::from).to_vec(), None)
        );
        for other in [
            "-c -o kernel/fork.o kernel/fork.c",
            "-c -o fs/pipe.o fs/pipe.S",
            "-S -o fs/pipe.o fs/pipe.c",
            "-E fs/pipe.c",
        ] {
            assert_eq!(way(other), None, "{other}");
        }
        std::fs::remove_file(&file).unwrap();
        assert_eq!(way("-c -o fs/pipe.o fs/pipe.c"), None);
    }
}
