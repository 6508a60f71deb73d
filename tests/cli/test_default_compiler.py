# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command takes the newest clang that is installed, whatever its number is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.kernel.toolchain import find_toolchain

COMPARED = ["compare", "--source", "debian:7.3", "default", "march=no-such-cpu"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """All programs of this system, but clang only as `clang-77`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    newest = find_toolchain()
    for programs in reversed(os.get_exec_path()):
        for program in Path(programs).glob("*"):
            (folder / program.name).unlink(missing_ok=True)
            (folder / program.name).symlink_to(program)
    for clang in folder.glob("clang*"):
        clang.unlink()
    for name, program in (("clang", newest.compiler.program), ("ld.lld", newest.linker.program)):
        (folder / f"{name}-77").symlink_to(Path(str(shutil.which(program))).resolve())
    return folder


def _kernsmith(path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kernsmith", *words],
        cwd=path.parent,
        env=os.environ | {"PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_compare_takes_the_newest_clang(path: Path) -> None:
    done = _kernsmith(path, *COMPARED)
    assert "clang-77 does not take -march=no-such-cpu" in done.stderr, done.stderr


def test_bisect_takes_the_newest_clang(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commits of a source that wants a newer clang than any: the command tells which it has."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "linux"
    (tree / "scripts").mkdir(parents=True)
    (tree / "scripts/min-tool-version.sh").write_text("echo 99.0.0\n")
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for sublevel in ("1", "2"):
        text = f"VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = {sublevel}\nEXTRAVERSION =\n"
        (tree / "Makefile").write_text(text)
        (tree / "Kconfig").write_text("config HZ\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", sublevel], check=True)
    done = _kernsmith(
        path, "bisect", "--good", "HEAD~1", "--bad", "HEAD", "--source", str(tree),
        "--config", "micro", "--workload", "pipe", "--layouts", "2",
        "--ledger", f"sqlite:///{tmp_path}/ledger.sqlite",
    )  # fmt: skip
    assert "needs llvm 99.0.0 or newer" in done.stderr, done.stderr
    assert "clang-77 is " in done.stderr
