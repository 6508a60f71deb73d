// SPDX-License-Identifier: GPL-2.0-or-later
//! What was done by rules, written down beside them.
//!
//! Files by the name of the rules', with another suffix. A line is fields with tabs between them:
//!
//! - `taken`: an object, the program of the other compiler that took it, and why that was the fallback;
//! - `matched`: a pattern that some object fits;
//! - `linked`: a file, and the other linker that linked it.
//!
//! Where the rules are not those of one kernel, but of any make, a line ends with the folder of the make.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

const TAKEN: &str = "taken";
const MATCHED: &str = "matched";
const LINKED: &str = "linked";

/// Where it is written down what rules did.
pub struct Notes {
    rules: PathBuf,
    /// Of a make that shares the rules with others.
    folder: Option<PathBuf>,
}

impl Notes {
    pub fn new(rules: &Path, folder: Option<&Path>) -> Self {
        Self {
            rules: rules.into(),
            folder: folder.map(PathBuf::from),
        }
    }

    /// Who has compiled an object.
    pub fn taken(&self, object: &Path, program: &str, reason: &str) {
        self.add(
            TAKEN,
            &[&object.display().to_string(), program, &plain(reason)],
        );
    }

    /// By whom a file was linked.
    pub fn linked(&self, file: &Path, linker: &str) {
        self.add(LINKED, &[&file.display().to_string(), linker]);
    }

    /// That an object fits patterns. Each is written once, or as often as some are first at once.
    pub fn matched(&self, patterns: &[String]) {
        let known = std::fs::read_to_string(self.file(MATCHED)).unwrap_or_default();
        for pattern in patterns {
            let line = self.line(&[pattern]);
            if !known.split_inclusive('\n').any(|other| other == line) {
                self.add(MATCHED, &[pattern]);
            }
        }
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.rules.with_extension(kind)
    }

    fn line(&self, fields: &[&str]) -> String {
        let mut line = fields.join("\t");
        if let Some(folder) = &self.folder {
            line.push('\t');
            line.push_str(&plain(&folder.display().to_string()));
        }
        line.push('\n');
        line
    }

    /// Many write at once: a line is one write.
    fn add(&self, kind: &str, fields: &[&str]) {
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).open(self.file(kind));
        // Without it the report lacks a line.
        let _ = opened.and_then(|mut file| file.write_all(self.line(fields).as_bytes()));
    }
}

fn plain(text: &str) -> String {
    text.replace(['\t', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_with_the_folder_of_its_make_and_a_pattern_once() {
        let folder = std::env::temp_dir().join(format!("kernsmith-notes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rules = folder.join("x.rules");
        let read = |kind| std::fs::read_to_string(rules.with_extension(kind)).unwrap();
        let own = Notes::new(&rules, None);
        own.taken(Path::new("a.o"), "gcc", "not\tthis\n");
        own.linked(Path::new("a.ko"), "ld.bfd");
        assert_eq!(read(TAKEN), "a.o\tgcc\tnot this \n");
        assert_eq!(read(LINKED), "a.ko\tld.bfd\n");
        own.matched(&["fs/*.o".into()]);
        own.matched(&["**".into(), "fs/*.o".into()]);
        assert_eq!(read(MATCHED), "fs/*.o\n**\n");
        let some = Notes::new(&rules, Some(Path::new("/tree")));
        some.matched(&["**".into()]);
        some.matched(&["**".into()]);
        assert_eq!(read(MATCHED), "fs/*.o\n**\n**\t/tree\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
