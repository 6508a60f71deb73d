// SPDX-License-Identifier: GPL-2.0-or-later
//! Programs of LLVM's, and what they make of small files.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::PathBuf;
use std::process::Command;

/// The newest of LLVM's programs of a name.
pub fn tool(name: &str) -> String {
    let names = (19..40).rev().map(|version| format!("{name}-{version}"));
    let found = names.chain([name.to_owned()]).find(|name| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|output| output.status.success())
    });
    found.unwrap_or_else(|| panic!("{name} is not installed: apt-get install clang llvm"))
}

/// What a program prints, which must end well.
pub fn run(program: &str, words: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {words:?}: {said}");
    output.stdout
}

/// A folder for the files of a test, which goes with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kernsmith-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Where a file of this name is.
    pub fn place(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
