// SPDX-License-Identifier: GPL-2.0-or-later
//! Objects in which counters of an instrumented kernel have counted: they take the profile of it.
//!
//! All others are compiled as without a profile: each is the same as in a kernel that has none, byte
//! for byte, and ccache has it. clang reads one profile for all objects; gcc a file for each, which is
//! put where gcc and ccache look for it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The variable that names the profile.
pub const PROFILE: &str = "KERNSMITH_PROFILE";

/// The variable that names the list: in its first line words for the compiler, in each other an
/// object as kbuild names it.
pub const LIST: &str = "KERNSMITH_PROFILED_OBJECTS";

/// With what gcc's files of a kernel begin, all in one (`profile/instrumented.py`): names and lengths
/// follow, one a line, then an empty line, then the files.
const GCOV: &[u8] = b"kernsmith-gcda 1\n";

/// Where gcc's files are put, beside kbuild's output.
const FOLDER: &str = "counts";

/// Adds the profile's words when the object that is compiled from C is in the list.
pub fn with_profile(words: &mut Vec<OsString>, profile: &Path, list: &Path, output: &Path) {
    let list = std::fs::read_to_string(list).unwrap_or_default();
    let mut lines = list.lines();
    let beside = lines.next().unwrap_or_default();
    let is_c = words.iter().any(|word| word.as_bytes().ends_with(b".c"));
    let mut pairs = words.windows(2).filter(|pair| pair[0] == "-o");
    let object = pairs.next().and_then(|pair| pair[1].to_str());
    let Some(object) = object.filter(|object| is_c && lines.any(|line| line == *object)) else {
        return;
    };
    let content = std::fs::read(profile).unwrap_or_default();
    let told = match content.strip_prefix(GCOV).map(|rest| part(rest, object)) {
        // What cannot be read or written the compiler will miss, and say so.
        Some(file) => gcov(file.unwrap_or_default(), object, output),
        None => vec![with("-fprofile-use=", profile)],
    };
    words.extend(told);
    words.extend(beside.split_whitespace().map(OsString::from));
}

/// The file of an object.
fn part<'a>(content: &'a [u8], object: &str) -> Option<&'a [u8]> {
    let end = content.windows(2).position(|pair| pair == b"\n\n")?;
    let mut at = end + 2;
    for line in std::str::from_utf8(&content[..end]).ok()?.lines() {
        let (name, length) = line.rsplit_once(' ')?;
        let length: usize = length.parse().ok()?;
        if name == object {
            return content.get(at..at.checked_add(length)?);
        }
        at = at.checked_add(length)?;
    }
    None
}

/// Puts gcc's file of an object into its place; returns the word that names the folder.
///
/// gcc looks there for `#path#of#out#fs#pipe.gcda`, and ccache for `fs/pipe.gcda`. (An option that
/// shortens gcc's name is none that ccache knows.)
fn gcov(file: &[u8], object: &str, output: &Path) -> Vec<OsString> {
    let name = format!("{}.gcda", object.strip_suffix(".o").unwrap_or(object));
    let folder = output.with_file_name(FOLDER);
    let shown = std::env::var_os("PWD").map(PathBuf::from);
    let places = [std::env::current_dir().ok(), shown];
    let long = places.iter().flatten().map(|place| place.join(&name));
    let mangled = long.map(|path| path.to_string_lossy().replace('/', "#"));
    for place in mangled.chain([name.clone()]) {
        let _ = put(file, &folder.join(place));
    }
    vec![with("-fprofile-use=", &Path::new("..").join(FOLDER))]
}

fn put(content: &[u8], path: &Path) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|before| before == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let whole = path.with_extension(std::process::id().to_string());
    std::fs::write(&whole, content)?;
    std::fs::rename(whole, path)
}

fn with(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn only_objects_in_the_list_take_the_profile() {
        let folder = folder("counted");
        let (list, profile) = (folder.join("list"), folder.join("x.instrumented"));
        std::fs::write(&list, "-Wno-x -mllvm -y=1\nfs/ran.o\nlib/asm.o\n").expect("a list");
        std::fs::write(&profile, "\u{ff}lprofi\u{81}").expect("a profile");
        let told = |text: &str| {
            let mut words = words(text);
            with_profile(&mut words, &profile, &list, &folder.join("out"));
            words
        };
        let used = format!("-fprofile-use={}", profile.display());
        assert_eq!(
            told("-O2 -c -o fs/ran.o x.c"),
            words(&format!("-O2 -c -o fs/ran.o x.c {used} -Wno-x -mllvm -y=1"))
        );
        for other in [
            "-O2 -c -o fs/idle.o x.c",
            "-O2 -c -o lib/asm.o x.S",
            "-O2 -E x.c",
            "-c -o -Wno-x x.c",
        ] {
            assert_eq!(told(other), words(other));
        }
        std::fs::remove_file(&list).expect("it is there");
        assert_eq!(told("-c -o fs/ran.o x.c"), words("-c -o fs/ran.o x.c"));
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn gcc_gets_the_file_of_the_object() {
        let folder = folder("counted-gcc");
        let (list, profile) = (folder.join("list"), folder.join("x.instrumented"));
        std::fs::write(&list, "-fprofile-correction\nfs/a.o\nfs/b.o\n").expect("a list");
        std::fs::write(
            &profile,
            "kernsmith-gcda 1\nfs/a.o 3\nfs/b.o 4\n\n\n\nabcde",
        )
        .expect("files");
        let output = folder.join("out");
        let mut told = words("-c -o fs/b.o b.c");
        with_profile(&mut told, &profile, &list, &output);
        let all = "-c -o fs/b.o b.c -fprofile-use=../counts -fprofile-correction";
        assert_eq!(told, words(all));
        let here = std::env::current_dir().expect("a folder");
        let long = here.join("fs/b.gcda");
        let mangled = long.to_str().expect("a name").replace('/', "#");
        for name in [mangled.as_str(), "fs/b.gcda"] {
            let file = std::fs::read(folder.join("counts").join(name)).expect("it was put there");
            assert_eq!(file, b"bcde");
        }
        std::fs::remove_dir_all(&folder).expect("it is there");
    }

    #[test]
    fn damaged_files_have_no_part() {
        let whole = b"fs/a.o 3\nfs/b.o 4\n\nabcdefg";
        assert_eq!(part(whole, "fs/b.o"), Some(&b"defg"[..]));
        assert_eq!(part(&whole[..24], "fs/b.o"), None);
        for damaged in [
            "",
            "fs/b.o 4",
            "fs/b.o\n\n",
            "fs/b.o -1\n\nx",
            "a 99999999999999999999\n\n",
        ] {
            assert_eq!(part(damaged.as_bytes(), "fs/b.o"), None);
        }
    }
}
