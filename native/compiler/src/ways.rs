// SPDX-License-Identifier: GPL-2.0-or-later
//! One object in the way that rules say: by kbuild's compiler or another one, by way of its assembly
//! or not; and by the fallback, where the other compiler cannot.
//!
//! Of each object with another compiler a line is written beside the rules ([`TAKEN`]): the object,
//! the program that compiled it, and why that was the fallback.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::assembly::{self, beside};
use crate::objects::{Named, Way, object_of};
use crate::translate::{family_of, translate};
use crate::{Kernel, NOT_STARTED, become_it, compilation, got, note, registers};

/// What the rules' file is called with this in the place of its suffix.
const TAKEN: &str = "taken";
/// The family whose objects look addresses up in a table, which a kernel has not, and have variables
/// where registers are meant.
const MENDED: &str = "tcc";
const LONGEST_REASON: usize = 300;

/// Why there is no object.
struct Failure {
    code: u8,
    reason: String,
    /// All that the compiler said.
    said: Vec<u8>,
}

impl Failure {
    fn new(code: u8, reason: impl Into<String>) -> Self {
        let (reason, said) = (reason.into(), Vec::new());
        Self { code, reason, said }
    }
}

/// Makes the object. compiler: the one that kbuild calls, by these words.
pub fn compile(compiler: &OsStr, mut words: Vec<OsString>, way: &Way, kernel: &Kernel) -> ExitCode {
    words.extend(way.flags.iter().map(OsString::from));
    let Some(other) = &way.compiler else {
        let command = |words| compilation(compiler, words, kernel, None);
        if by_assembly(way) {
            return ExitCode::from(assembly::compile(compiler, &words, way, command));
        }
        return become_it(command(words));
    };
    let object = object_of(&words).unwrap_or_default().to_owned();
    let name = object.display();
    let Err(first) = compile_by(other, &words, way, kernel) else {
        take_down(&kernel.rules, &object, other, "");
        return ExitCode::SUCCESS;
    };
    let Some(fallback) = &way.fallback else {
        let _ = std::io::stderr().write_all(&first.said);
        eprintln!(
            "error: {name}: {} cannot compile it ({}), and no fallback is named",
            other.program, first.reason
        );
        return ExitCode::from(first.code);
    };
    let Err(second) = compile_by(fallback, &words, way, kernel) else {
        take_down(&kernel.rules, &object, fallback, &first.reason);
        return ExitCode::SUCCESS;
    };
    let _ = std::io::stderr().write_all(&second.said);
    eprintln!(
        "error: {name}: neither {} ({}) nor its fallback {} ({}) can compile it",
        other.program, first.reason, fallback.program, second.reason
    );
    ExitCode::from(second.code)
}

fn by_assembly(way: &Way) -> bool {
    !way.steps.is_empty() || !way.assembler.is_empty()
}

/// Makes the object by a compiler that is not kbuild's: under another name first, so that it is
/// there as a whole or not at all.
fn compile_by(
    other: &Named,
    words: &[OsString],
    way: &Way,
    kernel: &Kernel,
) -> Result<(), Failure> {
    let words = translate(words, family_of(words), &other.family)
        .map_err(|reason| Failure::new(1, reason))?;
    let program = OsStr::new(&other.program);
    if by_assembly(way) {
        let command = |words| compilation(program, words, kernel, Some(other));
        return match assembly::compile(program, &words, way, command) {
            0 => Ok(()),
            code => Err(Failure::new(code, "its messages are above")),
        };
    }
    let object = PathBuf::from(object_of(&words).unwrap_or_default());
    let whole = beside(&object, "other.o");
    let renamed = |word: &OsString| {
        let is_object = word.as_os_str() == object.as_os_str();
        if is_object {
            whole.clone().into()
        } else {
            word.clone()
        }
    };
    let words = words.iter().map(renamed).collect();
    let done = compilation(program, words, kernel, Some(other)).output();
    let done = done.map_err(|error| Failure::new(NOT_STARTED, error.to_string()))?;
    let finished = if done.status.success() {
        finish(&whole, &object, other)
    } else {
        Err(mistake_in(&done.stderr))
    };
    let Err(reason) = finished else {
        let _ = std::io::stderr().write_all(&done.stderr);
        return Ok(());
    };
    let _ = std::fs::remove_file(&whole);
    Err(Failure {
        code: done.status.code().map_or(1, |code| (code as u8).max(1)),
        reason,
        said: done.stderr,
    })
}

/// Puts a compiled object into its place.
fn finish(whole: &Path, object: &Path, other: &Named) -> Result<(), String> {
    if other.family == MENDED {
        let code = std::fs::read(whole).map_err(|error| error.to_string())?;
        let code = registers::made_weak(got::without_table(code)?)?;
        std::fs::write(whole, code).map_err(|error| error.to_string())?;
    }
    std::fs::rename(whole, object).map_err(|error| error.to_string())
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

/// Notes who has compiled an object.
fn take_down(rules: &Path, object: &OsStr, by: &Named, reason: &str) {
    let reason = reason.replace(['\t', '\n'], " ");
    let line = format!("{}\t{}\t{reason}\n", object.display(), by.program);
    note(&rules.with_extension(TAKEN), &line);
}
