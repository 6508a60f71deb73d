// SPDX-License-Identifier: GPL-2.0-or-later
//! The words of a compilation, with paths that hold for every source.
//!
//! kbuild names the source by its absolute path, and two revisions of it lie in two folders: ccache
//! would take all of their objects for different ones. With `../source/…` instead, where `source`
//! is a link to the tree, commits that touch few files share all other objects. Objects are the
//! same with and without it: file names in them are relative to the source in any case
//! (`-ffile-prefix-map`).
//!
//! What `.incbin` brings in is no part of an object's key when ccache works without the
//! preprocessor's output: assembly, and C with that word in it, is never taken from the cache.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The link to the source, beside kbuild's output.
pub const LINK: &str = "source";

/// Whether this is assembly, or C that includes a binary file.
pub fn brings_in_files(word: &OsStr) -> bool {
    let name = word.as_bytes();
    name.ends_with(b".S")
        || name.ends_with(b".c")
            && std::fs::read(word).is_ok_and(|text| find(&text, b"incbin").is_some())
}

/// Writes `../source` for the path of the source; a word of kbuild's has it at most once.
pub fn relative_to_link(word: &mut OsString, tree: &Path) {
    replace(word, tree, &format!("../{LINK}"));
}

/// Writes `new` for the first occurrence of a path.
pub fn replace(word: &mut OsString, path: &Path, new: &str) {
    let path = path.as_os_str().as_bytes();
    if let Some(at) = find(word.as_bytes(), path) {
        let mut bytes = std::mem::take(word).into_vec();
        bytes.splice(at..at + path.len(), new.bytes());
        *word = OsString::from_vec(bytes);
    }
}

/// Where `part` begins in `text`.
pub fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    text.windows(part.len()).position(|window| window == part)
}
