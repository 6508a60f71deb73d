# SPDX-License-Identifier: GPL-2.0-or-later
"""A stranger's study file starts nothing: not when it is planned, nor by its words when it is run.

Each attack would make a file, the canary. Real commands, compilers and git; the source is a folder
with just enough in it to be planned, whose own programs and settings make the canary, too.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernsmith.cli import main
from kernsmith.engine import Silent, prepare
from kernsmith.study.file import read_study

pytestmark = pytest.mark.skipif(
    not shutil.which("qemu-system-x86_64") or not shutil.which("clang-22"),
    reason="a study needs QEMU and a compiler to be planned",
)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Trap:
    """A folder with a source, and a program; whoever starts anything of it makes the canary."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def canary(self) -> Path:
        return self.folder / "canary"

    def call(self, command: str, text: str, *words: str) -> Done:
        """Call kernsmith on a study with this text; `<…>` stands for places of the trap."""
        file = self.folder / "stranger.toml"
        for name, place in {"trap": self.folder / "trap", "canary": self.canary}.items():
            text = text.replace(f"<{name}>", str(place))
        file.write_text(text)
        with pytest.raises(SystemExit) as ended:
            main([command, str(file), *words])
        said = self.capture.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Done(code, said.out, said.err)


@pytest.fixture
def trap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Trap:
    made = Trap(tmp_path, capsys)
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    spring = f"#!/bin/sh\ntouch {made.canary}\necho clang version 22.0.0\n"
    tree = tmp_path / "linux"
    for name in ("Kconfig", "arch/x86/kernel/vmlinux.lds.S"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("mainmenu\n")
    (tree / "Makefile").write_text(
        f"VERSION = 7\nPATCHLEVEL = 3\nX := $(shell touch {made.canary})\n"
    )
    for program in (tmp_path / "trap", tree / "scripts/min-tool-version.sh"):
        program.parent.mkdir(exist_ok=True)
        program.write_text(spring)
        program.chmod(0o755)
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    for setting in ("core.fsmonitor", "gpg.program", "filter.x.clean", "filter.x.smudge"):
        subprocess.run([*git, "config", setting, str(tmp_path / "trap")], check=True)
    (tree / ".git/info/attributes").write_text("* filter=x\n")
    os.utime(tree / "Makefile")
    return made


HEAD = "[source]\nuse = 'linux'\nconfig = 'micro'\n"
TAIL = "\n[workloads]\nuse = ['pipe']\n[design]\nlayouts = 0\n"

# The lines of [source] that would start a program, and what is said of them.
ATTACKS = [
    ("flags = ['-wrapper', '<trap>']", "the flag '-wrapper' is not allowed"),
    ("flags = ['-O2 $(shell touch <canary>)']", "is not allowed in a study"),
    ("flags = ['-DX=$(shell${IFS}touch${IFS}<canary>)']", "is not allowed in a study"),
    ("flags = ['-O2;<trap>']", "is not allowed in a study"),
    ("flags = ['@<trap>']", "is not allowed in a study"),
    ("flags = ['-fplugin=<trap>']", "is not allowed in a study"),
    ("flags = ['-specs=<trap>']", "is not allowed in a study"),
    ("flags = ['-B<trap>']", "is not allowed in a study"),
    ("flags = ['-Xclang', '-load', '-Xclang', '<trap>']", "is not allowed in a study"),
    ("flags = ['-o', '<canary>']", "is not allowed in a study"),
    ("flags = ['-MD', '-MF', '<canary>']", "is not allowed in a study"),
    ("flags = ['-fdump-tree-all=<canary>']", "is not allowed in a study"),
    ("flags = ['-Wp,-MD,<canary>']", "is not allowed in a study"),
    ("flags = ['-mllvm', '-info-output-file=<canary>']", "is not allowed in a study"),
    ("flags = ['-mllvm', '-stats', '--config', '<trap>']", "is not allowed in a study"),
    ("compiler = '<trap>'", "the study names the program .*/trap, .* say --trust .*/trap"),
    ("compiler = 'trap'", "factor 'compiler' has no level 'trap'"),
    ("compiler = './trap'", "factor 'compiler' has no level './trap'"),
    ("compiler = '/bin/sh -c <trap>'", "factor 'compiler' has no level"),
    ("compiler = 'clang-22;<trap>'", "factor 'compiler' has no level"),
    ("linker = '<trap>'", "the study names the program .*/trap, .* say --trust .*/trap"),
    ("linker = 'lld-22 $(shell <trap>)'", "factor 'linker' has no level"),
    ("options = { LOCALVERSION = '\"$(shell <trap>)\"' }", "without characters that make"),
    ("options = { INITRAMFS_SOURCE = '\";<trap>\"' }", "without characters that make"),
    ("options = { \"HZ=1\\nCONFIG_X\" = 1 }", "cannot be printed"),
    ("[[objects]]\nmatch = ['**']\nsteps = ['<trap>']", "no shipped step, and a study names no"),
    ("[[objects]]\nmatch = ['**']\nsteps = ['pad=1;<trap>']", "no shipped step"),
    ("[[objects]]\nmatch = ['**']\ncompiler = '<trap>'", "is no compiler's name"),
    ("[[objects]]\nmatch = ['**']\nflags = ['-wrapper <trap>']", "the flag '-wrapper' is not"),
    ("[[objects]]\nmatch = ['$(shell <trap>)']\nsteps = ['pad=1']", "is no pattern of objects"),
    ("[factors]\nflags = ['none', '-wrapper <trap>']", "the flag '-wrapper' is not allowed"),
    ("[factors]\ncompiler = ['clang-22', '<trap>']", "the study names the program"),
    ("[factors]\nmarch = ['default', 'x86-64 $(shell <trap>)']", "factor 'march' has no level"),
    ("[variants]\na = {}\nb = { linker = '<trap>' }", "the study names the program"),
    ("[variants]\na = {}\nb = { CONFIG_X = '\"`<trap>`\"' }", "without characters that make"),
    ("[variants]\na = {}\nb = { flags_x = '-O2 -fplugin=<trap>' }", "is not allowed in a study"),
    ("[variants]\na = {}\nb = { source = 'git:linux@--output=<canary>' }", "does not begin with"),
]  # fmt: skip


@pytest.mark.parametrize("command", ["plan", "run"])
def test_words_that_would_start_a_program_are_refused(trap: Trap, command: str) -> None:
    for lines, told in ATTACKS:
        done = trap.call(command, HEAD + lines + TAIL)
        said = " ".join(done.stderr.split())
        assert not trap.canary.exists(), lines
        assert done.returncode == 2, (lines, done.stderr, done.stdout)
        assert re.search(told, said), (lines, said)


def test_a_config_file_with_a_value_that_make_expands_is_refused(trap: Trap) -> None:
    (trap.folder / "my.config").write_text(f'CONFIG_LOCALVERSION="$(shell touch {trap.canary})"\n')
    done = trap.call("plan", HEAD.replace("micro", "my.config") + TAIL)
    assert done.returncode == 2
    assert "my.config sets CONFIG_LOCALVERSION to" in done.stderr
    assert not trap.canary.exists()


@pytest.mark.parametrize("use", ["linux", "git:linux@HEAD"])
def test_a_plan_runs_nothing_of_the_source(trap: Trap, use: str) -> None:
    """Its Makefile, its scripts, what its repository's configuration names; and it says so."""
    text = HEAD.replace("'linux'", f"'{use}'") + "[factors]\nmtune = ['default', 'skylake']" + TAIL
    done = trap.call("plan", text, "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert [build["variant"] for build in plan["builds"]] == ["mtune=default", "mtune=skylake"]
    (sentence,) = plan["not_checked"]
    assert "scripts/min-tool-version.sh would tell" in sentence
    assert not trap.canary.exists()
    assert "not checked: whether compilers" in " ".join(trap.call("plan", text).stdout.split())


def test_the_trap_works(trap: Trap) -> None:
    """What is prepared to be run does ask the source's own script, and the canary is there."""
    file = trap.folder / "s.toml"
    file.write_text(HEAD + TAIL)
    prepare(read_study(file), Silent(), look_only=True)
    assert not trap.canary.exists()
    prepare(read_study(file), Silent())
    assert trap.canary.exists()


def test_a_program_that_the_user_names_too_may_be_started(trap: Trap) -> None:
    compiler = shutil.which("clang-22")
    text = HEAD + f"compiler = '{compiler}'\n" + TAIL
    refused = trap.call("plan", text)
    assert refused.returncode == 2
    assert f"--trust {compiler}" in " ".join(refused.stderr.split())
    assert trap.call("plan", text, "--trust", str(compiler)).returncode == 0


def test_a_plan_installs_no_packages_of_a_workload(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    (trap.folder / "bin").mkdir()
    for program in ("mmdebstrap", "sqfstar"):
        shutil.copy(trap.folder / "trap", trap.folder / "bin" / program)
    monkeypatch.setenv("PATH", f"{trap.folder / 'bin'}:{os.environ['PATH']}")
    workload = "name = 'theirs'\nprogram = 'sort'\n[root]\npackages = ['coreutils']\n"
    (trap.folder / "theirs.toml").write_text(workload)
    done = trap.call("plan", HEAD + TAIL.replace("'pipe'", "'theirs.toml'"))
    assert done.returncode == 0, done.stderr
    assert "theirs" in done.stdout
    assert not trap.canary.exists()
    assert not list((trap.folder / "cache").rglob("*.squashfs"))
