// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes: what kbuild and Kconfig ask a compiler by compiling nothing, or a line of text.
//!
//! Configuring one kernel asks some 300 times whether an option is known, and starting clang takes
//! 40 ms. The answer to equal questions is equal as long as the compiler and the assembler are, so
//! it is kept: a file for each question, in the folder that `KERNSMITH_PROBES` names. Nothing is
//! kept when that is not set, nor of what reads files that are no part of the question.
//!
//! # The file
//!
//! Five stretches, each with its length in front (8 bytes, little-endian): the question itself,
//! so that equal hashes do no harm; the exit code, one byte; standard output; standard error; and
//! the file that was to be written, behind one byte 1, or nothing when there was none.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use super::words::{find, replace};
use super::{Kernel, NOT_STARTED, in_path};

const FOLDER: &str = "KERNSMITH_PROBES";
const NOTHING: &str = "/dev/null";
const INPUT: &str = "-";

/// Asked without any input.
const REQUESTS: [&str; 4] = ["--version", "-v", "-dumpmachine", "-dumpversion"];

/// Words that begin like this name files that are read or written beside input and output.
const WITH_FILES: [&str; 9] = [
    "@",
    "-M",
    "-Wp,",
    "-fplugin",
    "-imacros",
    "-include",
    "-save-temps",
    "-specs",
    "--config",
];

/// Variables that compilers obey.
const OBEYED: [&str; 9] = [
    "COMPILER_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_MESSAGES",
    "LIBRARY_PATH",
];

/// What compilers say when the host is at fault, and the next time it may not be: a full disk, no
/// memory, a signal.
const HOST_AT_FAULT: [&str; 7] = [
    "No space left",
    "Disk quota",
    "allocate",
    "out of memory",
    "temporary file",
    "signal",
    "Killed",
];

/// A question to a compiler.
pub struct Probe {
    compiler: OsString,
    words: Vec<OsString>,
    /// Standard input, where that is the text to compile.
    text: Option<Vec<u8>>,
    /// The file to write.
    target: Option<PathBuf>,
    /// Where the answer is kept, and the question as it is written there.
    kept: Option<(PathBuf, Vec<u8>)>,
}

/// What a compiler answered.
struct Answer {
    code: u8,
    out: Vec<u8>,
    err: Vec<u8>,
    file: Option<Vec<u8>>,
}

impl Probe {
    /// None when this is an ordinary compilation.
    pub fn new(compiler: &OsStr, words: &[OsString], kernel: &Kernel) -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(FOLDER)?);
        let (input, target) = input_and_target(words)?;
        let mut probe = Self {
            compiler: compiler.into(),
            words: words.into(),
            text: None,
            target,
            kept: None,
        };
        if input == Some(INPUT) {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text).ok()?;
            probe.text = Some(text);
        }
        probe.kept = probe.question(kernel).map(|question| {
            let mut hasher = DefaultHasher::new();
            hasher.write(&question);
            (folder.join(format!("{:016x}", hasher.finish())), question)
        });
        Some(probe)
    }

    /// Everything that the answer depends on; none when that cannot be told.
    fn question(&self, kernel: &Kernel) -> Option<Vec<u8>> {
        let text = self.text.as_deref().unwrap_or_default();
        if find(text, b"include").is_some() || find(text, b"incbin").is_some() {
            return None;
        }
        let program = in_path(&self.compiler)?;
        let mut begin = [0; 2];
        File::open(&program).ok()?.read_exact(&mut begin).ok()?;
        if begin == *b"#!" {
            return None; // a script may start anything
        }
        let mut question = identity(&program)?;
        for helper in ["as", "ld"] {
            if let Some(path) = in_path(helper) {
                question.extend(identity(&path)?);
            }
        }
        for name in OBEYED {
            if let Some(value) = std::env::var_os(name) {
                part(&mut question, name.as_bytes());
                part(&mut question, value.as_bytes());
            }
        }
        let target = self.target.as_deref().map(Path::as_os_str);
        for word in &self.words {
            if Some(word.as_os_str()) == target {
                part(&mut question, b"");
                continue;
            }
            let mut word = word.clone();
            replace(&mut word, &kernel.output, "out");
            replace(&mut word, &kernel.tree, "source");
            part(&mut question, word.as_bytes());
        }
        part(&mut question, text);
        Some(question)
    }

    /// Writes the answer, which is asked for when it is not known, and returns its exit code.
    pub fn answer(self) -> ExitCode {
        let known = self.kept.as_ref().and_then(|(path, question)| {
            let answer = Answer::read(&std::fs::read(path).ok()?, question)?;
            if let (Some(target), Some(file)) = (&self.target, &answer.file) {
                std::fs::write(target, file).ok()?;
            }
            Some(answer)
        });
        let answer = match known {
            Some(answer) => answer,
            None => match self.ask() {
                Ok(answer) => answer,
                Err(error) => {
                    eprintln!("{}: {error}", self.compiler.display());
                    return ExitCode::from(NOT_STARTED);
                }
            },
        };
        // A reader that has gone wants no answer.
        let _ = std::io::stdout().write_all(&answer.out);
        let _ = std::io::stderr().write_all(&answer.err);
        ExitCode::from(answer.code)
    }

    /// Whether an answer has nothing to do with the state of the host, or the place of the file.
    fn holds_elsewhere(&self, answer: &Answer) -> bool {
        if answer.code == 0 {
            return self.target.is_none() || answer.file.is_some();
        }
        let folder = self.target.as_deref().and_then(Path::parent);
        let is_there = folder.is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir());
        let mut faults = HOST_AT_FAULT.iter();
        is_there && !faults.any(|said| find(&answer.err, said.as_bytes()).is_some())
    }

    fn ask(&self) -> std::io::Result<Answer> {
        let mut child = Command::new(&self.compiler)
            .args(&self.words)
            .stdin(match self.text {
                Some(_) => Stdio::piped(),
                None => Stdio::inherit(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let (Some(text), Some(mut input)) = (&self.text, child.stdin.take()) {
            // A compiler that refuses an option need not read its input.
            let _ = input.write_all(text);
        }
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output()?;
        let regular = self.target.as_ref().filter(|target| target.is_file());
        let written = regular.map(std::fs::read);
        let answer = Answer {
            code: status.code().map_or(NOT_STARTED, |code| code as u8),
            out: stdout,
            err: stderr,
            file: written.and_then(Result::ok),
        };
        if let (Some((path, question)), Some(_)) = (&self.kept, status.code())
            && self.holds_elsewhere(&answer)
        {
            // Without it, the next one asks again.
            let _ = answer.keep(path, question);
        }
        Ok(answer)
    }
}

impl Answer {
    fn read(bytes: &[u8], question: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut next = || {
            let (length, behind) = rest.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (stretch, behind) = behind.split_at_checked(length)?;
            rest = behind;
            Some(stretch)
        };
        if next()? != question {
            return None;
        }
        let (code, out, err, file) = (next()?, next()?, next()?, next()?);
        let complete = rest.is_empty();
        complete.then_some(Self {
            code: *code.first()?,
            out: out.into(),
            err: err.into(),
            file: file.split_first().map(|(_, file)| file.into()),
        })
    }

    fn keep(&self, path: &Path, question: &[u8]) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        part(&mut bytes, question);
        part(&mut bytes, &[self.code]);
        part(&mut bytes, &self.out);
        part(&mut bytes, &self.err);
        let file = self.file.iter().flat_map(|file| [&[1], file.as_slice()]);
        part(&mut bytes, &file.flatten().copied().collect::<Vec<u8>>());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let whole = path.with_extension(std::process::id().to_string());
        std::fs::write(&whole, bytes)?;
        std::fs::rename(whole, path)
    }
}

/// One stretch of a file: its length, then itself.
fn part(bytes: &mut Vec<u8>, stretch: &[u8]) {
    bytes.extend((stretch.len() as u64).to_le_bytes());
    bytes.extend(stretch);
}

/// What changes when a program is another one: its path, inode, size and time.
fn identity(program: &Path) -> Option<Vec<u8>> {
    let real = program.canonicalize().ok()?;
    let facts = real.metadata().ok()?;
    let mut bytes = Vec::new();
    part(&mut bytes, real.as_os_str().as_bytes());
    for fact in [
        facts.ino(),
        facts.size(),
        facts.mtime() as u64,
        facts.mtime_nsec() as u64,
    ] {
        bytes.extend(fact.to_le_bytes());
    }
    Some(bytes)
}

/// The input of a probe and the file that it writes; none when this is no probe.
fn input_and_target(words: &[OsString]) -> Option<(Option<&'static str>, Option<PathBuf>)> {
    let (mut input, mut target) = (None, None);
    let (mut asked, mut compiled, mut shown) = (false, false, false);
    let mut words = words.iter().map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word? {
            "-o" => {
                let path = words.next()??;
                target = Some(path)
                    .filter(|path| *path != NOTHING)
                    .map(PathBuf::from);
                shown = true;
            }
            NOTHING if input.replace(NOTHING).is_none() => {}
            INPUT if input.replace(INPUT).is_none() => {}
            "-c" | "-S" => compiled = true,
            "-E" | "-fsyntax-only" => (compiled, shown) = (true, true),
            request if REQUESTS.contains(&request) || request.starts_with("-print-") => {
                asked = true;
            }
            other if reads_more(other) => return None,
            _ => {}
        }
    }
    match input {
        None if asked && !compiled => Some((None, target)),
        Some(input) if compiled && shown => Some((Some(input), target)),
        _ => None,
    }
}

/// Whether the answer depends on more than the words: a second input, other files, the host's CPU.
fn reads_more(word: &str) -> bool {
    WITH_FILES.iter().any(|start| word.starts_with(start))
        || ["profile", "native"].iter().any(|part| word.contains(part))
        || word == NOTHING
        || word == INPUT
        || !word.starts_with('-') && Path::new(word).is_file()
}
