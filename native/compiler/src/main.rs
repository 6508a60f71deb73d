// SPDX-License-Identifier: GPL-2.0-or-later
//! The compiler as kbuild calls it for one kernel: `KERNEL/compiler clang-22 -c …`.
//!
//! `KERNEL/compiler` is a link to this program; beside it are `out`, kbuild's output, and `source`,
//! a link to the kernel's source. What kbuild compiles goes through ccache when there is one, with
//! paths that hold for every source ([`words`]). What it asks the compiler — whether it knows an
//! option, of which version it is — is asked once ([`probe`]). Objects of which nothing ran in training
//! take no profile ([`idle`], [`counted`]), and those that a Propeller profile says nothing of are those of
//! the kernel that it was trained on ([`clusters`]). Objects that a study has other ways for are
//! compiled in these ([`objects`], [`ways`]): by another compiler, which is told what it knows
//! ([`translate`]), or by way of their assembly ([`assembly`]).
//!
//! With `--ld` in the place of a compiler it is the linker ([`links`]).

mod archive;
mod assembly;
mod clusters;
mod counted;
mod elf;
mod failure;
mod got;
mod idle;
mod link_steps;
mod links;
mod notes;
mod objects;
mod probe;
mod registers;
mod steps;
mod translate;
mod ways;
mod words;

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use notes::Notes;
use objects::Named;
use probe::Probe;

/// The families of compilers that ccache knows.
const CACHED: [&str; 2] = [translate::CLANG, translate::GCC];

/// As a shell does when a program cannot be started.
const NOT_STARTED: u8 = 127;

/// The folder of one kernel.
struct Kernel {
    output: PathBuf,
    /// The source, as kbuild names it.
    tree: PathBuf,
    /// The rules for its objects; the file need not be there.
    rules: PathBuf,
    /// Whether it is one of kernsmith's own, which shares what was compiled with others.
    own: bool,
}

impl Kernel {
    fn of(program: &Path) -> Option<Self> {
        let folder = program.parent()?;
        Some(Self {
            output: folder.join("out"),
            tree: folder.join(words::LINK).read_link().ok()?,
            rules: folder.join(objects::FILE),
            own: true,
        })
    }

    /// What somebody else's make builds in the current folder, by rules that a variable names; ccache is
    /// as that somebody has set it up.
    fn anywhere() -> Option<Self> {
        let here = std::env::current_dir().ok()?;
        Some(Self {
            output: here.clone(),
            tree: here,
            rules: std::env::var_os(objects::VARIABLE)?.into(),
            own: false,
        })
    }

    /// Where it is written down what its rules did.
    fn notes(&self) -> Notes {
        Notes::new(&self.rules, (!self.own).then_some(&*self.output))
    }
}

fn main() -> ExitCode {
    let mut command = std::env::args_os();
    let own = command.next().map(PathBuf::from);
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == links::WORD)
    {
        return link(own.as_deref(), command.skip(1));
    }
    let kernel = own.and_then(|own| Kernel::of(&own));
    let kernel = kernel.or_else(Kernel::anywhere);
    let (Some(kernel), Some(compiler)) = (kernel, command.next()) else {
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
        return ways::compile(&compiler, words, &way, &kernel);
    }
    become_it(compilation(&compiler, words, &kernel, None))
}

/// Is the linker: of a kernel, or of somebody else's make. words: the linker's program, and its own.
fn link(own: Option<&Path>, mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let given = std::env::var_os(links::VARIABLE).map(PathBuf::from);
    let beside = own
        .and_then(Path::parent)
        .map(|folder| folder.join(links::FILE));
    let make = given.as_ref().and_then(|_| std::env::current_dir().ok());
    let (Some(rules), Some(linker)) = (given.or(beside), words.next()) else {
        eprintln!("usage: KERNEL/compiler {} LINKER WORD…", links::WORD);
        return ExitCode::from(2);
    };
    let notes = Notes::new(&rules, make.as_deref());
    links::link(&linker, words.collect(), &rules, &notes)
}

/// Becomes the program; returns only when that fails.
fn become_it(mut command: Command) -> ExitCode {
    let error = command.exec();
    eprintln!("{}: {error}", command.get_program().display());
    ExitCode::from(NOT_STARTED)
}

/// The compiler's command line, through ccache when there is one that knows it.
///
/// other: the compiler is not the kernel's own, but this one.
fn compilation(
    compiler: &OsStr,
    mut words: Vec<OsString>,
    kernel: &Kernel,
    other: Option<&Named>,
) -> Command {
    let known = other.is_none_or(|other| CACHED.contains(&other.family.as_str()));
    let cached = known && in_path("ccache").is_some();
    let mut command = Command::new(if cached {
        OsStr::new("ccache")
    } else {
        compiler
    });
    if cached {
        command.arg(compiler);
        if let Some(other) = other {
            command.env("CCACHE_COMPILERCHECK", format!("string:{}", other.content));
        }
        let here = std::env::current_dir().ok();
        if kernel.own && here.is_some() && here == kernel.output.canonicalize().ok() {
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
