// SPDX-License-Identifier: GPL-2.0-or-later
//! Steps on the assembly of one object: a text goes in, another one comes out.
//!
//! A step is named `NAME` or `NAME=ARGUMENT`. One whose name begins with `/` is a program of the
//! user's, which reads the assembly on standard input and writes it on standard output.

mod align;
mod entries;
mod jumps;
mod loops;
mod operands;
mod pad;
mod prefetch;
mod swap;
mod text;

use std::io::Write;
use std::process::{Command, Stdio};

/// Of a program's output, so many lines are shown when it fails.
const SHOWN: usize = 5;

/// The text behind a step. assemble: makes an object of a text.
pub fn apply(
    step: &str,
    text: String,
    assemble: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<String, String> {
    let (name, argument) = step.split_once('=').unwrap_or((step, ""));
    match name {
        "align-jumps" => jumps::padded(&text, assemble),
        "pad" => argument
            .parse()
            .map(|seed| pad::with_nops(&text, seed))
            .map_err(|_| format!("pad takes a number as its seed, not {argument:?}")),
        "align-loops" => align::aligned(&text, argument),
        "prefetch" => argument
            .parse::<u32>()
            .map(|bytes| prefetch::ahead(&text, bytes.into()))
            .map_err(|_| format!("prefetch takes a number of bytes, not {argument:?}")),
        "no-prefetch" => Ok(prefetch::without(&text)),
        "count-entries" => Ok(entries::counted(&text)),
        "swap-comparison" => swap::swapped(&text, argument),
        program if program.starts_with('/') => filtered(program, text),
        _ => Err(format!("there is no step {name:?}")),
    }
}

/// What a program makes of a text.
pub fn filtered(program: &str, text: String) -> Result<String, String> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let input = child.stdin.take();
    let writer = std::thread::spawn(move || {
        // A program that ends before it has read all says by its exit code whether that is right.
        input.map(|mut input| input.write_all(text.as_bytes()))
    });
    let done = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let _ = writer.join();
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(format!(
            "it ended with {}:\n{}",
            done.status,
            last_lines(&said)
        ));
    }
    String::from_utf8(done.stdout).map_err(|_| "it wrote something that is no text".into())
}

/// The end of what a program said, as it is shown.
pub fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN)..];
    shown.iter().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    fn apply(step: &str, text: String) -> Result<String, String> {
        super::apply(step, text, |_| Err("no assembler".into()))
    }

    #[test]
    fn steps_are_told_by_their_names() {
        assert!(apply("pad=1", String::new()).is_ok());
        assert!(apply("pad=x", String::new()).unwrap_err().contains("seed"));
        assert!(apply("prefetch=64", String::new()).is_ok());
        let said = apply("prefetch=far", String::new()).unwrap_err();
        assert!(said.contains("number of bytes"), "{said}");
        assert!(apply("nop", String::new()).unwrap_err().contains("no step"));
    }

    #[test]
    fn a_program_is_a_filter() {
        let long = "movl\n".repeat(100_000);
        assert_eq!(apply("/bin/cat", long.clone()), Ok(long));
        let said = apply("/bin/false", "x".into()).unwrap_err();
        assert!(said.contains("exit status: 1"), "{said}");
        assert!(
            apply("/nowhere/x", String::new())
                .unwrap_err()
                .contains("cannot be started")
        );
    }
}
