// SPDX-License-Identifier: GPL-2.0-or-later
//! An object by way of its assembly: compile to that, hand it through steps, assemble.
//!
//! The compiler's part goes through ccache like any compilation; steps and assembler take some
//! hundredths of a second. The object appears whole or not at all: it is made under a name of its
//! own and renamed.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::NOT_STARTED;
use crate::failure::Failure;
use crate::objects::{Way, object_of};
use crate::steps::{apply, last_lines};
use crate::translate::{CLANG as FOR_CLANG, family_of};

const GNU: &str = "gnu";
const CLANG: &str = "clang";

/// What an assembler must be told of a compilation, too: the target.
const TARGET: [&[u8]; 4] = [b"--target=", b"-m64", b"-m32", b"-m16"];

/// Makes the object. `command` gives the compiler's command line for words.
pub fn compile(
    compiler: &OsStr,
    words: &[OsString],
    way: &Way,
    command: impl Fn(Vec<OsString>) -> Command,
) -> Result<(), Failure> {
    let object = PathBuf::from(object_of(words).unwrap_or_default());
    let assembly = beside(&object, "step.s");
    let done = command(compiling(words, &object, &assembly, way)).output();
    let done = done.map_err(|error| Failure::of_compiler(NOT_STARTED, error.to_string()))?;
    if !done.status.success() {
        let _ = std::fs::remove_file(&assembly);
        return Err(Failure::with_messages(done.status.code(), done.stderr));
    }
    let _ = std::io::stderr().write_all(&done.stderr);
    let whole = beside(&object, "step.o");
    let assemble = |text: &str| {
        std::fs::write(&assembly, text).map_err(|error| error.to_string())?;
        assembled(compiler, words, way, &assembly, &whole)?;
        std::fs::read(&whole).map_err(|error| error.to_string())
    };
    let made = stepped(&assembly, way, assemble).and_then(|()| {
        let said = assembled(compiler, words, way, &assembly, &whole)?;
        eprint!("{said}");
        std::fs::rename(&whole, &object).map_err(|error| error.to_string())
    });
    let _ = std::fs::remove_file(&whole);
    match made {
        Ok(()) => {
            let _ = std::fs::remove_file(&assembly);
            Ok(())
        }
        // What no step has changed, the compiler wrote.
        Err(reason) if way.steps.is_empty() => Err(Failure::of_compiler(1, reason)),
        Err(reason) => Err(Failure::of_step(reason)),
    }
}

/// The words that make assembly.
fn compiling(words: &[OsString], object: &Path, assembly: &Path, way: &Way) -> Vec<OsString> {
    let mut changed: Vec<OsString> = words
        .iter()
        .map(|word| match word.as_bytes() {
            b"-c" => "-S".into(),
            name if name == object.as_os_str().as_bytes() => assembly.into(),
            _ => word.clone(),
        })
        .collect();
    if family_of(words) == FOR_CLANG {
        // ccache preprocesses with these words, for which `-S` is one too many, and kbuild makes an
        // error of that: nothing would ever be cached.
        changed.push("-Wno-unused-command-line-argument".into());
        if way.assembler.first().is_some_and(|kind| kind == GNU) {
            changed.push("-fno-integrated-as".into());
        }
    }
    changed
}

/// Hands the assembly through all steps, in place.
fn stepped(
    assembly: &Path,
    way: &Way,
    assemble: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<(), String> {
    let kept = |what: &str| format!("{what}; the assembly is kept in {}", assembly.display());
    let mut text = std::fs::read_to_string(assembly).map_err(|error| kept(&error.to_string()))?;
    for step in &way.steps {
        let before = text.clone();
        text = apply(step, text, &assemble)
            .map_err(|reason| kept(&format!("step {step}: {reason}")))?;
        if text.trim().is_empty() && !before.trim().is_empty() {
            return Err(kept(&format!(
                "step {step}: nothing is left of the assembly"
            )));
        }
    }
    std::fs::write(assembly, text).map_err(|error| kept(&error.to_string()))
}

/// Assembles; returns what the assembler said.
fn assembled(
    compiler: &OsStr,
    words: &[OsString],
    way: &Way,
    assembly: &Path,
    whole: &Path,
) -> Result<String, String> {
    let mut command = assembler(compiler, words, way);
    command.arg("-c").arg("-o").arg(whole).arg(assembly);
    let done = command
        .output()
        .map_err(|error| format!("the assembler cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() {
        return Ok(said);
    }
    let made = if way.steps.is_empty() {
        "the compiler".into()
    } else {
        format!("the steps {}", way.steps.join(", "))
    };
    Err(format!(
        "what {made} made is no assembly for {}:\n{}the file is kept: {}",
        command.get_program().display(),
        last_lines(&said),
        assembly.display()
    ))
}

/// The assembler's command line, without its files: the compiler's own unless that is another than
/// the rules ask for.
fn assembler(compiler: &OsStr, words: &[OsString], way: &Way) -> Command {
    let kind = way.assembler.first().map(String::as_str);
    let clang = family_of(words) == FOR_CLANG;
    let other = way
        .assembler
        .get(1)
        .filter(|_| kind == Some(CLANG) && !clang);
    let mut command = Command::new(other.map_or(compiler, OsStr::new));
    let target = |word: &&OsString| {
        TARGET
            .iter()
            .any(|start| word.as_bytes().starts_with(start))
    };
    command.args(words.iter().filter(target));
    if clang || other.is_some() {
        command.arg("-Wno-unused-command-line-argument");
        command.arg(if kind == Some(GNU) {
            "-fno-integrated-as"
        } else {
            "-fintegrated-as"
        });
    }
    if kind.is_none() {
        let for_assembler = |word: &&OsString| word.as_bytes().starts_with(b"-Wa,");
        command.args(words.iter().filter(for_assembler));
    }
    command
}

/// `fs/.pipe.o.step.s` beside `fs/pipe.o`.
pub fn beside(object: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(object.file_name().unwrap_or_default());
    name.push(".");
    name.push(suffix);
    object.with_file_name(name)
}
