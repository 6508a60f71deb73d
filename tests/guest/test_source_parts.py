# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads that work on parts of a kernel's source: which, and that nothing else is read."""

import json
import os
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.guest.beside import MOST_BYTES
from kernsmith.guest.own import described, lacks_root, parse_own_workload, shipped_files
from kernsmith.guest.source_parts import SourceParts

TABLE = """\
name = "reader"
program = "cat"
[root]
image = "tree"
[source]
use = "debian:7.3"
parts = ["arch/x86/boot", "include/linux/*.h"]
"""
FILES = ("Makefile", "arch/x86/boot/a.c", "arch/x86/boot/deep/b.S", "include/linux/c.h")
NOT_ASKED = ("arch/x86/kernel.c", "include/linux/d.txt", "include/linux/sub/e.h")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that seems to have been fetched."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    entry = paths.sources() / "debian-7.3"
    for name in (*FILES, *NOT_ASKED):
        (entry / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (entry / "tree" / name).write_text(name)
    known = {"name": "linux-7.3.4", "version": "7.3.4", "digest": "sha256:0", "origin": "Debian"}
    (entry / "source.json").write_text(json.dumps(known | {"path": "tree"}))
    return entry / "tree"


def parts(*names: str) -> SourceParts:
    return SourceParts(use="debian:7.3", parts=list(names))


def test_what_is_asked_for_lies_by_its_paths_and_nothing_else(source: Path) -> None:
    (source / "arch/x86/boot/a.c").chmod(0o755)
    members = parts("arch/x86/boot", "include/linux/*.h").members(Path("x"), "workload", None)
    files = {each.name: each.content for each in members if each.content is not None}
    assert files == {
        f"workload/source/{name}": name.encode() for name in FILES if name != "Makefile"
    }
    folders = [each.name for each in members if each.content is None]
    assert folders[:3] == ["workload/source", "workload/source/arch", "workload/source/arch/x86"]
    assert [each.name for each in members if each.executable] == [
        "workload/source/arch/x86/boot/a.c"
    ]
    seen: set[str] = {"workload"}
    for each in members:
        assert str(Path(each.name).parent) in seen, "a folder comes before what is in it"
        seen |= {each.name} if each.content is None else set()


def test_a_part_that_the_source_does_not_have(source: Path) -> None:
    with pytest.raises(UserError, match=r"mine\.toml: source\.parts: .* has no 'arch/arm'"):
        parts("arch/arm").members(Path("mine.toml"), "workload", None)


def test_more_than_a_guest_holds_is_not_read(source: Path) -> None:
    large = source / "arch/x86/boot/large"
    large.touch()
    os.truncate(large, MOST_BYTES + 1)
    with pytest.raises(UserError, match=r"mine\.toml: source\.parts: .* more than 256 MiB"):
        parts("arch/x86/boot").members(Path("mine.toml"), "workload", None)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"debian:7.3"', '"git:/home@HEAD"', "source.use: 'git:/home@HEAD' is no source of Debian"),
        ('"debian:7.3"', '"/etc"', "source.use: '/etc' is no source of Debian's"),
        ('"arch/x86/boot"', '"/etc/passwd"', "source.parts: '/etc/passwd' is no path below"),
        ('"arch/x86/boot"', '"../../key"', "source.parts: '../../key' is no path below a source"),
        ('"arch/x86/boot"', '"*/x86/boot"', "source.parts: '*/x86/boot' is no path below"),
        ('"arch/x86/boot"', '"."', "source.parts: '.' is no path below a source"),
        ('"arch/x86/boot"', '"a**b"', "source.parts: 'a**b' is no path below a source"),
        ('"arch/x86/boot"', r'"a\u0000b"', "source.parts: 'a\\x00b' is no path below a source"),
        ("[source]", "[source]\nof = 1", "source.of: there is no such key: allowed are use, parts"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "reader.toml"
    assert old in TABLE
    path.write_text(TABLE.replace(old, new))
    with pytest.raises(UserError) as error:
        parse_own_workload(path)
    assert told in str(error.value) and str(path) in str(error.value)


def test_to_look_at_a_workload_fetches_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "nothing"))
    path = tmp_path / "reader.toml"
    path.write_text(TABLE)
    assert lacks_root(path)
    assert described(path).name == "reader"
    assert not (tmp_path / "nothing").exists()


def test_the_shipped_image_differs_in_its_jobs_alone() -> None:
    one, jobs = (parse_own_workload(shipped_files(name)[0]) for name in ("bzimage", "bzimage-jobs"))
    assert (one.arguments, jobs.arguments) == (["bzimage.sh", "1"], ["bzimage.sh", "4"])
    assert one.source == jobs.source and one.root == jobs.root and one.set_up == jobs.set_up
