// SPDX-License-Identifier: GPL-2.0-or-later
//! One object in the way that rules say: by kbuild's compiler or another one, by way of its assembly
//! or not; and by the fallback, where the other compiler cannot.
//!
//! Of each object with another compiler a line is written beside the rules ([`crate::notes`]): the object,
//! the program that compiled it, and why that was the fallback. A step that fails is no reason for the fallback.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::assembly::{self, beside};
use crate::failure::{Failure, Kind};
use crate::objects::{Named, Way, object_of};
use crate::translate::{family_of, translate};
use crate::{Kernel, NOT_STARTED, become_it, compilation, got, registers};

/// The family whose objects look addresses up in a table, which a kernel has not, and have variables
/// where registers are meant. It writes no assembly.
const MENDED: &str = "tcc";

/// With these the compiler names other files after the object, and a name of its own would be theirs.
const NAMED_AFTER_IT: [&str; 7] = [
    "-fprofile-",
    "-ftest-coverage",
    "--coverage",
    "-gsplit-dwarf",
    "-save-temps",
    "-fstack-usage",
    "-fdump-",
];

/// Makes the object. compiler: the one that kbuild calls, by these words.
pub fn compile(compiler: &OsStr, mut words: Vec<OsString>, way: &Way, kernel: &Kernel) -> ExitCode {
    kernel.notes().matched(&way.patterns);
    words.extend(way.flags.iter().map(OsString::from));
    let object = PathBuf::from(object_of(&words).unwrap_or_default());
    let Some(other) = &way.compiler else {
        return by_own(compiler, words, way, kernel, &object);
    };
    let name = object.display();
    let first = match compile_by(other, &words, way, kernel, &object) {
        Ok(()) => {
            kernel.notes().taken(&object, &other.program, "");
            return ExitCode::SUCCESS;
        }
        Err(failure) if failure.kind == Kind::Step => return ended(&failure, &object),
        Err(failure) => failure,
    };
    let Some(fallback) = &way.fallback else {
        first.tell();
        eprintln!(
            "error: {name}: {} cannot compile it ({}), and no fallback is named",
            other.program, first.reason
        );
        return ExitCode::from(first.code);
    };
    let second = match compile_by(fallback, &words, way, kernel, &object) {
        Ok(()) => {
            let notes = kernel.notes();
            notes.taken(&object, &fallback.program, &first.reason);
            return ExitCode::SUCCESS;
        }
        Err(failure) if failure.kind == Kind::Step => return ended(&failure, &object),
        Err(failure) => failure,
    };
    second.tell();
    eprintln!(
        "error: {name}: neither {} ({}) nor its fallback {} ({}) can compile it",
        other.program, first.reason, fallback.program, second.reason
    );
    ExitCode::from(second.code)
}

/// Makes the object by kbuild's own compiler.
fn by_own(
    compiler: &OsStr,
    words: Vec<OsString>,
    way: &Way,
    kernel: &Kernel,
    object: &Path,
) -> ExitCode {
    let command = |words| compilation(compiler, words, kernel, None);
    if by_assembly(way) {
        return match assembly::compile(compiler, &words, way, command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => ended(&failure, object),
        };
    }
    if names_files_after_it(&words) {
        return become_it(command(words));
    }
    let whole = beside(object, "own.o");
    let code = match command(renamed(&words, object, &whole)).status() {
        Ok(status) if status.success() => match std::fs::rename(&whole, object) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}: {error}", object.display());
                1
            }
        },
        Ok(status) => status.code().map_or(1, |code| code as u8),
        Err(error) => {
            eprintln!("{}: {error}", compiler.display());
            NOT_STARTED
        }
    };
    let _ = std::fs::remove_file(&whole);
    ExitCode::from(code)
}

/// Tells a failure; returns its exit code.
fn ended(failure: &Failure, object: &Path) -> ExitCode {
    failure.tell();
    if failure.said.is_empty() {
        failure.tell_of(object);
    }
    ExitCode::from(failure.code)
}

fn by_assembly(way: &Way) -> bool {
    !way.steps.is_empty() || !way.assembler.is_empty()
}

fn names_files_after_it(words: &[OsString]) -> bool {
    words.iter().any(|word| {
        let starts = |start: &&str| word.as_bytes().starts_with(start.as_bytes());
        NAMED_AFTER_IT.iter().any(starts)
    })
}

/// The words with another file for the object.
fn renamed(words: &[OsString], object: &Path, whole: &Path) -> Vec<OsString> {
    let change = |word: &OsString| {
        let is_object = word.as_os_str() == object.as_os_str();
        if is_object {
            whole.into()
        } else {
            word.clone()
        }
    };
    words.iter().map(change).collect()
}

/// Makes the object by a compiler that is not kbuild's: under another name first, so that it is
/// there as a whole or not at all.
fn compile_by(
    other: &Named,
    words: &[OsString],
    way: &Way,
    kernel: &Kernel,
    object: &Path,
) -> Result<(), Failure> {
    let refused = |reason: String| Failure::of_compiler(1, reason);
    if by_assembly(way) && other.family == MENDED {
        let reason = "writes no assembly for steps or another assembler";
        return Err(refused(format!("{} {reason}", other.program)));
    }
    let words = translate(words, family_of(words), &other.family).map_err(refused)?;
    let program = OsStr::new(&other.program);
    let command = |words| compilation(program, words, kernel, Some(other));
    if by_assembly(way) {
        return assembly::compile(program, &words, way, command);
    }
    let whole = beside(object, "other.o");
    let done = command(renamed(&words, object, &whole)).output();
    let done = done.map_err(|error| Failure::of_compiler(NOT_STARTED, error.to_string()))?;
    let finished = if done.status.success() {
        finish(&whole, object, other).map_err(refused)
    } else {
        Err(Failure::with_messages(
            done.status.code(),
            done.stderr.clone(),
        ))
    };
    match finished {
        Ok(()) => {
            let _ = std::io::stderr().write_all(&done.stderr);
            Ok(())
        }
        Err(failure) => {
            let _ = std::fs::remove_file(&whole);
            Err(failure)
        }
    }
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
