# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith delegate` in somebody's make, which compiles again what other words compiled."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith.cli.delegate import cc, ld
from kernsmith.errors import UserError

MAKEFILE = """\
OBJECTS := fs/a.o fs/b.o lib/c.o arch/x86/entry/vdso/d.o
cmd = $(CC) -O2 -Wp,-MMD,$@.d -c -o $@ $<
all: $(OBJECTS)
%.o: %.c FORCE
	@[ -e $@ ] && [ "$$(cat $@.cmd)" = '$(cmd)' ] || \\
		{ echo "CC $@"; $(cmd) && echo '$(cmd)' > $@.cmd; }
FORCE:
"""
OBJECTS = ["fs/a.o", "fs/b.o", "lib/c.o", "arch/x86/entry/vdso/d.o"]
PROGRAM = "int {0}(int x) {{ return x ? x * 3 : {0}(x + 1); }}\n"

Printed = Callable[..., str]


@pytest.fixture
def printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printed:
    """What a command of the delegate prints for make."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))

    def call(program: str = "gcc", **options: object) -> str:
        assert cc(program, show=True, **options) == 0  # type: ignore[arg-type]
        return capsys.readouterr().out.strip()

    return call


class Tree:
    """A folder that is made as kbuild makes one: what was compiled by other words, again."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path / "ccache.log"
        path.mkdir()
        (path / "Makefile").write_text(MAKEFILE)
        for name in OBJECTS:
            file = (path / name).with_suffix(".c")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(PROGRAM.format(file.stem))

    def make(self, told: str) -> tuple[list[str], list[str]]:
        """The objects that make compiles, and what ccache says of each."""
        self.log.unlink(missing_ok=True)
        cache = {"CCACHE_DIR": str(self.path.parent / "ccache"), "CCACHE_STATSLOG": str(self.log)}
        done = subprocess.run(
            ["make", f"CC={told}"], cwd=self.path, env={**os.environ, **cache},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        said = self.log.read_text() if self.log.exists() else ""
        kinds = re.findall(r"^(cache_miss|direct_cache_hit)$", said, re.MULTILINE)
        return re.findall(r"^CC (\S+)$", done.stdout, re.MULTILINE), sorted(kinds)


def rules_in(told: str) -> Path:
    """The file that make's words name."""
    found = re.search(r"KERNSMITH_OBJECTS=(\S+)", told)
    assert found
    return Path(found[1])


def report(rules: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kernsmith", "delegate", "report", str(rules), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("ccache"), reason="there is no ccache")
def test_with_another_map_only_what_it_changes_is_compiled(
    printed: Printed, tmp_path: Path
) -> None:
    tree = Tree(tmp_path / "tree")
    first = printed(step=("fs/*.o:pad=1",))
    assert tree.make(first) == (OBJECTS, ["cache_miss"] * 4)
    assert tree.make(first) == ([], [])
    second = printed(step=("fs/*.o:pad=1", "lib/*.o:pad=2"))
    assert rules_in(second) != rules_in(first)
    objects, kinds = tree.make(second)
    assert objects == OBJECTS, "make sees other words"
    assert kinds == ["cache_miss", *["direct_cache_hit"] * 3], "lib/c.o goes to assembly now"
    third = printed(step=("fs/*.o:pad=3", "lib/*.o:pad=2"))
    assert tree.make(third) == (OBJECTS, ["direct_cache_hit"] * 4), "steps are behind the compiler"
    assert (tree.path / "fs/a.o.d").read_text().split()[1:] == ["fs/a.c"]


def test_an_edited_program_is_another_map(printed: Printed, tmp_path: Path) -> None:
    tree, program = Tree(tmp_path / "tree"), tmp_path / "filter"
    program.write_text("#!/bin/sh\nexec cat\n")
    program.chmod(0o755)
    first = printed(step=(f"fs/*.o:{program}",))
    assert printed(step=(f"fs/*.o:{program}",)) == first
    tree.make(first)
    before = (tree.path / "fs/a.o").read_bytes()
    program.write_text("#!/bin/sh\nexec sed 's/^a:/&\\n\\tnop/'\n")
    second = printed(step=(f"fs/*.o:{program}",))
    assert second != first
    objects, _ = tree.make(second)
    assert objects == OBJECTS
    assert (tree.path / "fs/a.o").read_bytes() != before


def test_patterns_that_no_object_fits_are_told_of_each_tree(
    printed: Printed, tmp_path: Path
) -> None:
    """What is in user space has whole names only."""
    pattern = "arch/x86/entry/vdso/*.o"
    told = printed(by=("fs/*.o:clang-22", f"{pattern}:clang-22"), fallback="gcc")
    rules = rules_in(told)
    said = report(rules).stdout
    assert "fs/*.o" in said, "nothing was made by it"
    one, other = Tree(tmp_path / "one"), Tree(tmp_path / "other")
    one.make(told)
    found = json.loads(report(rules, "--json").stdout)
    assert found["unmatched"] == [pattern]
    assert [each["object"] for each in found["objects"]] == OBJECTS[:2]
    assert pattern in report(rules).stdout
    (other.path / "Makefile").write_text(MAKEFILE.replace("fs/b.o ", ""))
    other.make(told)
    asked = report(rules)
    assert asked.returncode == 2
    assert f"was used in {one.path}, {other.path}: name one by --tree" in asked.stderr
    assert json.loads(report(rules, "--json", "--tree", str(one.path)).stdout) == found
    alone = json.loads(report(rules, "--json", "--tree", str(other.path)).stdout)
    assert [each["object"] for each in alone["objects"]] == ["fs/a.o"]


def test_flags_that_objects_must_share_are_refused(printed: Printed, tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    for flag, reason in [
        ("-fshort-enums", "types would differ"),
        ("-mregparm=1", "called in two ways"),
        ("-DX=1", "a macro may change structures"),
    ]:
        study.write_text(
            f'[source]\nuse = "debian:7.3"\n[[objects]]\nmatch = ["fs/*.o"]\nflags = ["{flag}"]\n'
        )
        with pytest.raises(UserError, match=rf"objects fs/\*\.o: .*{flag}: .*{reason}"):
            printed(study=study)


def test_the_assembler_has_a_short_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kernsmith", "delegate", "cc", "clang-22", "--print"]
    environment = {**os.environ, "KERNSMITH_CACHE": str(tmp_path)}
    for option in ("--assem", "--assembler"):
        done = subprocess.run(
            [*command, "--step", "fs/*.o:pad=1", option, "gnu"], env=environment,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert rules_in(done.stdout).read_text() == "fs/*.o\t\t\tgnu\tpad=1\t\n"


def test_a_linker_needs_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine with GNU ld and nothing else."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("ld.bfd", "ldd"):
        (folder / program).symlink_to(shutil.which(program) or "")
    monkeypatch.setenv("PATH", str(folder))
    assert ld("ld.bfd", step=("first=fs/*.o",), others="bfd", show=True) == 0
    assert capsys.readouterr().out.strip().endswith("--ld ld.bfd")
