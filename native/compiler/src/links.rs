// SPDX-License-Identifier: GPL-2.0-or-later
//! The linker as kbuild calls it: `KERNEL/compiler --ld ld.lld-22 …`. Some links are another
//! linker's, or have their order of objects and their linker script changed by steps.
//!
//! # The file
//!
//! A line that begins with `#` is none. A rule a line, three fields with tabs between them, each a list of words with blanks between them:
//! kinds of links ([`Kind`]); the linker, or nothing; steps ([`crate::link_steps`]). Of several
//! rules for a link all hold: the last linker, the steps of all.
//!
//! What another linker than kbuild's has linked is written down beside the rules ([`Notes`]).
//! What a link of such a kind writes appears whole or not at all: it is made under another name and renamed.
//! Everything that kbuild does with it afterwards it does with the finished file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::archive::{input_list, members};
use crate::assembly::beside;
use crate::link_steps::{apply, is_of_order};
use crate::notes::Notes;
use crate::objects::object_of;
use crate::{NOT_STARTED, become_it};

/// The first word of such a call, in the place of a compiler.
pub const WORD: &str = "--ld";
/// The file of a kernel, in its folder.
pub const FILE: &str = "links.rules";
/// The variable that names the file where no kernel's folder does.
pub const VARIABLE: &str = "KERNSMITH_LINKS";

/// What kbuild has linked: a list of all objects of a kernel.
const ARCHIVE: &str = "vmlinux.a";

/// Kinds of links, as rules name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The kernel, each time that it is linked on the way to its tables of symbols.
    Vmlinux,
    /// `.ko` files.
    Modules,
    /// Several objects as one.
    Relocatable,
    /// Boot code, vDSO.
    Others,
}

impl Kind {
    fn of(words: &[OsString]) -> Option<Self> {
        let target = Path::new(object_of(words)?);
        let name = target.file_name()?.to_str()?;
        let alone = target
            .parent()
            .is_none_or(|folder| folder.as_os_str().is_empty());
        Some(if name.ends_with(".ko") {
            Self::Modules
        } else if words
            .iter()
            .any(|word| word == "-r" || word == "--relocatable")
        {
            Self::Relocatable
        } else if alone && (name.starts_with(".tmp_vmlinux") || name.starts_with("vmlinux")) {
            Self::Vmlinux
        } else {
            Self::Others
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::Vmlinux => "vmlinux",
            Self::Modules => "modules",
            Self::Relocatable => "relocatable",
            Self::Others => "others",
        }
    }
}

/// How one link is done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Way {
    linker: Option<String>,
    steps: Vec<String>,
}

fn way_of(kind: Kind, rules: &str) -> Option<Way> {
    let (mut way, mut found) = (Way::default(), false);
    for line in rules.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t').map(|field| field.split_whitespace());
        let mut next = || fields.next().into_iter().flatten().map(String::from);
        if next().any(|word| word == kind.word()) {
            found = true;
            way.linker = next().next().or(way.linker);
            way.steps.extend(next());
        }
    }
    found.then_some(way)
}

/// Links. linker: the one that kbuild calls, by these words.
pub fn link(linker: &OsStr, words: Vec<OsString>, rules: &Path, notes: &Notes) -> ExitCode {
    let kind = Kind::of(&words);
    let text = std::fs::read_to_string(rules).unwrap_or_default();
    let Some(way) = kind.and_then(|kind| way_of(kind, &text)) else {
        let mut command = Command::new(linker);
        command.args(words);
        return become_it(command);
    };
    let target = PathBuf::from(object_of(&words).unwrap_or_default());
    match stepped(&words, &target, &way.steps) {
        Ok((words, kept)) => {
            let other = way.linker.as_deref();
            let code = whole(other.map_or(linker, OsStr::new), &words, &target);
            if code == 0 {
                for file in kept {
                    let _ = std::fs::remove_file(file);
                }
                if let Some(other) = other {
                    notes.linked(&target, other);
                }
            }
            ExitCode::from(code)
        }
        Err(reason) => {
            eprintln!("error: {}: {reason}", target.display());
            ExitCode::FAILURE
        }
    }
}

/// Links to a file of another name, and renames it; returns the exit code.
fn whole(linker: &OsStr, words: &[OsString], target: &Path) -> u8 {
    let made = beside(target, "link");
    let renamed = |word: &OsString| {
        let is_target = word.as_os_str() == target.as_os_str();
        if is_target {
            made.clone().into()
        } else {
            word.clone()
        }
    };
    let done = Command::new(linker)
        .args(words.iter().map(renamed))
        .status();
    let code = match done {
        Ok(status) if status.success() => match std::fs::rename(&made, target) {
            Ok(()) => return 0,
            Err(error) => {
                eprintln!("error: {}: {error}", target.display());
                1
            }
        },
        Ok(status) => status.code().map_or(1, |code| code as u8),
        Err(error) => {
            eprintln!(
                "error: {}: {} cannot be started: {error}",
                target.display(),
                linker.display()
            );
            NOT_STARTED
        }
    };
    let _ = std::fs::remove_file(&made);
    code
}

/// The words with a changed script and a changed list of objects in the place of kbuild's, and the
/// files that hold them.
fn stepped(
    words: &[OsString],
    target: &Path,
    steps: &[String],
) -> Result<(Vec<OsString>, Vec<PathBuf>), String> {
    let mut words = words.to_vec();
    let mut kept = Vec::new();
    let (of_order, of_script): (Vec<_>, Vec<_>) = steps.iter().partition(|step| is_of_order(step));
    if !of_script.is_empty() {
        let (at, start, script) = script_in(&words).ok_or("it has no linker script for steps")?;
        let text = std::fs::read_to_string(&script)
            .map_err(|error| format!("{}: {error}", script.display()))?;
        let file = beside(target, "step.lds");
        keep(&file, &changed(text, &of_script, &file)?)?;
        words[at] = OsString::from_vec([start.as_bytes(), file.as_os_str().as_bytes()].concat());
        kept.push(file);
    }
    if !of_order.is_empty() {
        let is_archive = |word: &OsString| Path::new(word).file_name() == Some(OsStr::new(ARCHIVE));
        let at = words.iter().position(is_archive);
        let at = at.ok_or_else(|| {
            let whole = "link-time optimisation, CONFIG_X86_KERNEL_IBT and CONFIG_KLP_BUILD make one object of all";
            format!("{ARCHIVE} is not linked, and its objects have no order: {whole}")
        })?;
        let objects = members(Path::new(&words[at]))?;
        let file = beside(target, "step.objects");
        let ordered = changed(format!("{}\n", objects.join("\n")), &of_order, &file)?;
        check_same(&objects, &ordered)?;
        keep(&file, &input_list(&ordered))?;
        words[at] = file.clone().into();
        kept.push(file);
    }
    Ok((words, kept))
}

fn changed(mut text: String, steps: &[&String], file: &Path) -> Result<String, String> {
    for step in steps {
        let before = text.clone();
        text = apply(step, text).map_err(|reason| {
            let _ = std::fs::write(file, &before);
            format!(
                "step {step}: {reason}; what it was given is kept in {}",
                file.display()
            )
        })?;
    }
    Ok(text)
}

fn keep(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Where the words name the linker script: the place, what stands before its name in that word, and
/// the name.
fn script_in(words: &[OsString]) -> Option<(usize, &'static str, PathBuf)> {
    for (at, word) in words.iter().enumerate() {
        for start in ["--script=", "-T"] {
            match word.as_bytes().strip_prefix(start.as_bytes()) {
                Some([]) => return Some((at + 1, "", words.get(at + 1)?.into())),
                Some(name) => return Some((at, start, OsStr::from_bytes(name).into())),
                None => {}
            }
        }
    }
    None
}

fn check_same(objects: &[String], ordered: &str) -> Result<(), String> {
    let mut before: Vec<&str> = objects.iter().map(String::as_str).collect();
    let mut after: Vec<&str> = ordered.lines().collect();
    before.sort_unstable();
    after.sort_unstable();
    if before == after {
        return Ok(());
    }
    let lost = before.iter().find(|name| !after.contains(name));
    let strange = after.iter().find(|name| !before.contains(name));
    Err(match (lost, strange) {
        (Some(name), _) => format!("steps on the order: {name} is not in it any more"),
        (_, Some(name)) => format!("steps on the order: {name:?} is no object of the kernel"),
        _ => "steps on the order: an object is in it twice".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn links_are_told_by_what_they_write() {
        for (text, kind) in [
            (
                "-m elf_x86_64 -o vmlinux --script=x.lds vmlinux.a",
                Some(Kind::Vmlinux),
            ),
            ("-o .tmp_vmlinux1 vmlinux.a", Some(Kind::Vmlinux)),
            ("-o vmlinux.unstripped vmlinux.a", Some(Kind::Vmlinux)),
            ("-r -o vmlinux.o vmlinux.a", Some(Kind::Relocatable)),
            ("-r -o fs/ext4/ext4.o a.o b.o", Some(Kind::Relocatable)),
            (
                "-r -T module.lds -o fs/ext4/ext4.ko ext4.o ext4.mod.o",
                Some(Kind::Modules),
            ),
            (
                "-o arch/x86/boot/compressed/vmlinux x.o",
                Some(Kind::Others),
            ),
            ("--version", None),
        ] {
            assert_eq!(Kind::of(&words(text)), kind, "{text}");
        }
    }

    #[test]
    fn rules_that_hold_add_up() {
        let rules = "modules relocatable\tld.bfd\t\nvmlinux\t\tfirst=fs/*.o\nvmlinux\tld.lld\talign=.text:64\n";
        let way = |kind| way_of(kind, rules);
        let vmlinux = way(Kind::Vmlinux).unwrap();
        assert_eq!(vmlinux.linker.as_deref(), Some("ld.lld"));
        assert_eq!(vmlinux.steps, ["first=fs/*.o", "align=.text:64"]);
        assert_eq!(
            way(Kind::Modules).unwrap().linker.as_deref(),
            Some("ld.bfd")
        );
        assert_eq!(way(Kind::Others), None);
    }

    #[test]
    fn scripts_are_found_in_all_their_ways() {
        for (text, found) in [
            ("-o x --script=a.lds y", (2, "--script=", "a.lds")),
            ("-o x -T a.lds y", (3, "", "a.lds")),
            ("-Ta.lds y", (0, "-T", "a.lds")),
        ] {
            let (at, start, name) = script_in(&words(text)).unwrap();
            assert_eq!((at, start, name.to_str().unwrap()), found, "{text}");
        }
        assert!(script_in(&words("-o x y")).is_none());
    }

    #[test]
    fn an_order_has_every_object_once() {
        let objects = ["a.o".to_string(), "b.o".to_string()];
        assert_eq!(check_same(&objects, "b.o\na.o\n"), Ok(()));
        for (ordered, told) in [
            ("a.o\n", "b.o is not in it"),
            ("a.o\nb.o\nc.o\n", "\"c.o\" is no object"),
            ("a.o\nb.o\nb.o\n", "twice"),
        ] {
            let said = check_same(&objects, ordered).unwrap_err();
            assert!(said.contains(told), "{said}");
        }
    }
}
