// SPDX-License-Identifier: GPL-2.0-or-later
//! The compiler as kbuild calls it for one kernel: `KERNEL/compiler clang-22 -c …`.
//!
//! `KERNEL/compiler` is a link to this program; beside it are `out`, kbuild's output, and `source`,
//! a link to the kernel's source. What kbuild compiles goes through ccache when there is one, with
//! paths that hold for every source ([`words`]). What it asks the compiler — whether it knows an
//! option, of which version it is — is asked once ([`probe`]). Objects of which nothing ran in training
//! take no profile ([`idle`], [`counted`]), and those that a Propeller profile says nothing of are those of
//! the kernel that it was trained on ([`clusters`]). Objects that a study has other ways for are
//! compiled in these ([`objects`]), by way of their assembly where it has steps ([`assembly`]).

mod assembly;
mod clusters;
mod counted;
mod idle;
mod objects;
mod probe;
mod steps;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use probe::Probe;

/// As a shell does when a program cannot be started.
const NOT_STARTED: u8 = 127;

/// The folder of one kernel.
struct Kernel {
    output: PathBuf,
    /// The source, as kbuild names it.
    tree: PathBuf,
    /// The rules for its objects; the file need not be there.
    rules: PathBuf,
    /// Whether what is compiled goes through ccache.
    cached: bool,
    /// What ccache is to know of the compiler, where that is another one than the kernel's.
    content: Option<String>,
}

impl Kernel {
    fn of(program: &Path) -> Option<Self> {
        let folder = program.parent()?;
        Some(Self {
            output: folder.join("out"),
            tree: folder.join(words::LINK).read_link().ok()?,
            rules: folder.join(objects::FILE),
            cached: true,
            content: None,
        })
    }

    /// What somebody else's make builds in the current folder, by rules that a variable names; its
    /// cache is that somebody's business.
    fn anywhere() -> Option<Self> {
        let here = std::env::current_dir().ok()?;
        Some(Self {
            output: here.clone(),
            tree: here,
            rules: std::env::var_os(objects::VARIABLE)?.into(),
            cached: false,
            content: None,
        })
    }
}

fn main() -> ExitCode {
    let mut command = std::env::args_os();
    let kernel = command.next().and_then(|own| Kernel::of(Path::new(&own)));
    let kernel = kernel.or_else(Kernel::anywhere);
    let (Some(mut kernel), Some(mut compiler)) = (kernel, command.next()) else {
        eprintln!("usage: KERNEL/compiler COMPILER WORD…  (KERNEL/source: a link to the source)");
        return ExitCode::from(2);
    };
    let mut words: Vec<OsString> = command.collect();
    if let Some(probe) = Probe::new(&compiler, &words, &kernel) {
        return probe.answer();
    }
    if let Some(list) = std::env::var_os(idle::LIST) {
        idle::without_profile(&mut words, Path::new(&list));
    }
    let named = [counted::PROFILE, counted::LIST].map(std::env::var_os);
    if let [Some(profile), Some(list)] = named {
        counted::with_profile(
            &mut words,
            Path::new(&profile),
            Path::new(&list),
            &kernel.output,
        );
    }
    if let Some(way) = objects::way_of(&words, &kernel.rules) {
        if let [other, content, ..] = way.compiler.as_slice() {
            compiler = other.into();
            kernel.content = Some(format!("string:{content}"));
        }
        words.extend(way.flags.iter().map(OsString::from));
        if !way.steps.is_empty() || !way.assembler.is_empty() {
            let command = |words| compilation(&compiler, words, &kernel);
            return assembly::compile(&compiler, &words, &way, command);
        }
    }
    let mut command = compilation(&compiler, words, &kernel);
    // Becomes the compiler; returns only when that fails.
    let error = command.exec();
    eprintln!("{}: {error}", command.get_program().display());
    ExitCode::from(NOT_STARTED)
}

/// The compiler's command line, through ccache when there is one.
fn compilation(compiler: &OsStr, mut words: Vec<OsString>, kernel: &Kernel) -> Command {
    let cached = kernel.cached && in_path("ccache").is_some();
    let mut command = Command::new(if cached {
        OsStr::new("ccache")
    } else {
        compiler
    });
    if cached {
        command.arg(compiler);
        if let Some(content) = &kernel.content {
            command.env("CCACHE_COMPILERCHECK", content);
        }
        let here = std::env::current_dir().ok();
        if here.is_some() && here == kernel.output.canonicalize().ok() {
            if words.iter().any(|word| words::brings_in_files(word)) {
                command.env("CCACHE_DISABLE", "1");
            }
            for word in &mut words {
                words::relative_to_link(word, &kernel.tree);
            }
            clusters::leave_out(&mut words, &kernel.tree);
        }
    }
    command.args(words);
    command
}

/// The program that a command's first word means.
fn in_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let name = name.as_ref();
    if name.components().count() > 1 {
        return name.exists().then(|| name.into());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
}
