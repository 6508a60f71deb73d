// SPDX-License-Identifier: GPL-2.0-or-later
//! Why there is no object, and whether another compiler may have one.

use std::io::Write;
use std::path::Path;

const LONGEST_REASON: usize = 300;

/// Whose failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The compiler's: another one may be able to.
    Compiler,
    /// A step's: it is told, and nothing else is tried.
    Step,
}

/// Why there is no object.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub code: u8,
    pub reason: String,
    /// All that the compiler said.
    pub said: Vec<u8>,
}

impl Failure {
    pub fn of_compiler(code: u8, reason: impl Into<String>) -> Self {
        Self::new(Kind::Compiler, code, reason.into())
    }

    pub fn of_step(reason: impl Into<String>) -> Self {
        Self::new(Kind::Step, 1, reason.into())
    }

    fn new(kind: Kind, code: u8, reason: String) -> Self {
        let said = Vec::new();
        Self {
            kind,
            code,
            reason,
            said,
        }
    }

    /// A compiler that ended with a code, or was killed, and said this.
    pub fn with_messages(code: Option<i32>, said: Vec<u8>) -> Self {
        let reason = mistake_in(&said);
        Self {
            said,
            ..Self::of_compiler(code.map_or(1, |code| (code as u8).max(1)), reason)
        }
    }

    /// Says all that the compiler said.
    pub fn tell(&self) {
        let _ = std::io::stderr().write_all(&self.said);
    }

    /// Says what a step has made of an object.
    pub fn tell_of(&self, object: &Path) {
        eprintln!("error: {}: {}", object.display(), self.reason);
    }
}

/// The first error in what a compiler said, else the last line of it.
fn mistake_in(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let found = said.lines().find(|line| line.contains(": error"));
    let line = found
        .or_else(|| said.lines().last())
        .unwrap_or("it says nothing");
    line.trim().chars().take(LONGEST_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_error_or_the_last_line() {
        let reason = |said: &str| Failure::with_messages(Some(1), said.into()).reason;
        assert_eq!(
            reason("x.c: In f:\n x.c:1: error: no\nx.c:2: error: y\n"),
            "x.c:1: error: no"
        );
        assert_eq!(reason("one\ntwo\n"), "two");
        assert_eq!(reason(""), "it says nothing");
    }

    #[test]
    fn no_failure_has_the_code_of_success() {
        for (code, expected) in [(Some(0), 1), (Some(4), 4), (Some(256), 1), (None, 1)] {
            assert_eq!(Failure::with_messages(code, Vec::new()).code, expected);
        }
    }
}
