// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects that a Propeller profile says nothing of.
//!
//! They come out as those of the kernel that the profile was trained on: such a compilation gets
//! that kernel's words, and ccache has the object. It differs in the map of basic blocks alone,
//! which no program loads. Under LTO no compilation needs the profile: bitcode has no places of
//! blocks, and the linker, or the compilation that makes code of it, is told the profile itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::words::LINK;

/// What scripts/Makefile.propeller tells the compiler with a profile, and what without one.
const WITH: &[u8] = b"-fbasic-block-sections=list=";
const BESIDE: &str = "-ffunction-sections";
const WITHOUT: &str = "-fbasic-block-address-map";
const LTO: &[u8] = b"-flto";
const NO_LTO: &[u8] = b"-fno-lto";

/// Replaces the words of a profile that has no function of the source that is compiled.
pub fn leave_out(words: &mut Vec<OsString>, tree: &Path) {
    let is_profile = |word: &OsString| word.as_bytes().starts_with(WITH);
    let Some(at) = words.iter().position(is_profile) else {
        return;
    };
    if words.get(at + 1).is_none_or(|word| word != BESIDE) {
        return; // a tree that says it in other words
    }
    let path = OsStr::from_bytes(&words[at].as_bytes()[WITH.len()..]);
    let Ok(profile) = std::fs::read(path) else {
        return; // the compiler says so
    };
    let source = words.iter().rfind(|word| word.as_bytes().ends_with(b".c"));
    if source.is_some_and(|source| makes_bitcode(words) || !names(&profile, module(source, tree))) {
        words.splice(at..at + 2, [WITHOUT.into()]);
    }
}

/// Whether clang is told to write bitcode: of such words the last one holds.
fn makes_bitcode(words: &[OsString]) -> bool {
    let is_lto = |word: &&OsString| {
        let word = word.as_bytes();
        word == NO_LTO || word == LTO || word.starts_with(b"-flto=")
    };
    words
        .iter()
        .rfind(is_lto)
        .is_some_and(|word| word != OsStr::from_bytes(NO_LTO))
}

/// What the debug information calls a source: relative to the tree.
fn module<'a>(source: &'a OsStr, tree: &Path) -> &'a [u8] {
    let path = Path::new(source);
    let link = Path::new("..").join(LINK);
    let inside = path.strip_prefix(link).or_else(|_| path.strip_prefix(tree));
    let relative = inside.unwrap_or(path).as_os_str().as_bytes();
    relative.strip_prefix(b"./").unwrap_or(relative)
}

/// Whether a profile has functions of a source, or may have: those without an `m` line in front of
/// them are of any source that has a function of the name.
fn names(profile: &[u8], module: &[u8]) -> bool {
    let mut known = false;
    for line in profile.split(|byte| *byte == b'\n') {
        match line {
            [b'm', b' ', name @ ..] => {
                known = true;
                if name.strip_prefix(b"./").unwrap_or(name) == module {
                    return true;
                }
            }
            [b'f', ..] if !std::mem::take(&mut known) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const PROFILE: &str =
        "v1\nm kernel/fork.c\nf copy_process\nc 0 2 1\nm ./init/made.c\nf made\nc 0\n";

    /// Tests of one process run at once: each call writes a file of its own.
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    fn told(profile: &str, source: &str) -> Vec<String> {
        told_with(profile, source, &[])
    }

    fn told_with(profile: &str, source: &str, more: &[&str]) -> Vec<String> {
        let call = CALLS.fetch_add(1, Ordering::Relaxed);
        let name = format!("kernsmith-clusters-{}-{call}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, profile).unwrap();
        let list = format!("-fbasic-block-sections=list={}", file.display());
        let words = ["-O2", &list, BESIDE, "-c", "-o", "x.o", source];
        let mut words: Vec<OsString> = more.iter().chain(&words).map(Into::into).collect();
        leave_out(&mut words, Path::new("/tree"));
        std::fs::remove_file(&file).unwrap();
        let text = |word: &OsString| word.to_str().unwrap().replace(&list, "LIST");
        words.iter().map(text).collect()
    }

    #[test]
    fn sources_with_functions_in_the_profile_keep_it() {
        for source in [
            "../source/kernel/fork.c",
            "/tree/kernel/fork.c",
            "init/made.c",
        ] {
            assert_eq!(told(PROFILE, source)[1..3], ["LIST", BESIDE], "{source}");
        }
    }

    #[test]
    fn others_get_the_words_of_the_kernel_that_was_trained_on() {
        for source in [
            "../source/kernel/exit.c",
            "/other/kernel/fork.c",
            "../source/fork.c",
        ] {
            let words = ["-O2", WITHOUT, "-c", "-o", "x.o", source];
            assert_eq!(told(PROFILE, source), words, "{source}");
        }
    }

    #[test]
    fn bitcode_is_made_without_it() {
        let source = "../source/kernel/fork.c";
        let told = |more| told_with(PROFILE, source, more);
        assert_eq!(told(&["-fno-lto", "-flto=thin"])[3], WITHOUT);
        assert_eq!(told(&["-flto"])[2], WITHOUT);
        assert_eq!(told(&["-flto=thin", "-fno-lto"])[3..5], ["LIST", BESIDE]);
    }

    #[test]
    fn a_function_of_any_source_keeps_the_profile_for_all() {
        let profile = format!("{PROFILE}f anywhere\nc 0\n");
        assert_eq!(told(&profile, "../source/kernel/exit.c")[1], "LIST");
    }
}
