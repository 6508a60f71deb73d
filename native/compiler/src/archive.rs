// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of all objects of a kernel, in their order: a thin archive, as kbuild makes it, or a linker
//! script in its place.

use std::path::Path;

/// The list that `ld` and `lld` take in the place of an archive of objects (ld's manual, "Implicit
/// Linker Scripts").
pub fn input_list(lines: &str) -> String {
    let quoted: String = lines.lines().map(|line| format!("\"{line}\"\n")).collect();
    format!("INPUT(\n{quoted})\n")
}

/// The names of the members of a thin archive, or of the list in its place.
pub fn members(archive: &Path) -> Result<Vec<String>, String> {
    let bytes =
        std::fs::read(archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    let found = match bytes.strip_prefix(b"!<thin>\n") {
        Some(rest) => thin(rest),
        None => listed(&bytes),
    };
    let folder = archive.parent().unwrap_or(Path::new(""));
    let names = found.ok_or_else(|| format!("{} is no thin archive", archive.display()))?;
    Ok(names
        .iter()
        .map(|name| folder.join(name).to_string_lossy().into_owned())
        .collect())
}

fn listed(bytes: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?.strip_prefix("INPUT(")?;
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    Some(names.map(String::from).collect())
}

/// Headers of 60 bytes; only tables have content (binutils, `bfd/doc`, "Archives").
fn thin(mut rest: &[u8]) -> Option<Vec<String>> {
    let (mut names, mut table) = (Vec::new(), "");
    while !rest.is_empty() {
        let (header, behind) = rest.split_at_checked(60)?;
        let header = std::str::from_utf8(header).ok()?;
        let (name, size) = (header[..16].trim_end(), header[48..58].trim_end());
        rest = behind;
        if name == "/" || name == "//" || name == "/SYM64/" {
            let size: usize = size.parse().ok()?;
            let content = rest.get(..size)?;
            rest = rest.get(size + size % 2..).unwrap_or_default();
            if name == "//" {
                table = std::str::from_utf8(content).ok()?;
            }
            continue;
        }
        let long = name.strip_prefix('/').map(|at| at.parse::<usize>());
        names.push(match long {
            Some(at) => table.get(at.ok()?..)?.split_once("/\n")?.0.into(),
            None => name.trim_end_matches('/').into(),
        });
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_thin_archives_are_read_in_their_order() {
        let header = |name: &str, size: usize| format!("{name:<16}{:<32}{size:<10}`\n", "0");
        let table = "init/main.o/\nfs/pipe.o/\n";
        let mut archive = String::new();
        archive += &header("/", 5);
        archive += "abcde\n";
        archive += &header("//", table.len());
        archive += table;
        archive += &header("/13", 4000);
        archive += &header("/0", 7);
        archive += &header("a.o/", 7);
        assert_eq!(
            thin(archive.as_bytes()).unwrap(),
            ["fs/pipe.o", "init/main.o", "a.o"]
        );
        assert_eq!(thin(&archive.as_bytes()[..100]), None);
        let list = input_list("init/main.o\nfs/pipe.o\n");
        assert_eq!(
            listed(list.as_bytes()).unwrap(),
            ["init/main.o", "fs/pipe.o"]
        );
    }
}
