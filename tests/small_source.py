# SPDX-License-Identifier: GPL-2.0-or-later
"""A source that looks like a kernel's, small enough to be made in each test."""

import subprocess
from pathlib import Path

MAKEFILE = (
    "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION = -rc1\nNAME = Some Name\n"
)


def small_tree(folder: Path) -> Path:
    (folder / "kernel").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "Kconfig").write_text("mainmenu\n")
    (folder / "kernel" / "fork.c").write_text("int fork;\n")
    (folder / "link").symlink_to("Makefile")
    return folder


def git_in(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def small_repository(folder: Path) -> Path:
    small_tree(folder)
    git_in(folder, "init", "-q")
    git_in(folder, "add", "-A")
    git_in(folder, "commit", "-qm", "one")
    return folder
