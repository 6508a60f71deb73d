# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts by address → counts by function and line, by LLVM's own converter."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernsmith import process
from kernsmith.files import replacing
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts, body_text

PROFGEN_SECONDS = 900.0


def symbolized(
    counts: BranchCounts,
    image: Path,
    toolchain: Toolchain,
    target: Path,
    log: Path | None,
    *,
    form: str = "extbinary",
    program: bool = False,
) -> Path:
    """The counts as they are, by function and line, written by llvm-profgen; returns `target`.

    image: what they are counts of: a kernel, a module (see `kernel.module_code`), or, with
        `program`, that.
    form: `extbinary`, which compilers read, or `text`, which people do.
    log: where the converter's words are kept.

    Raises:
        ProcessFailed: llvm-profgen ended with an error.
    """
    with tempfile.TemporaryDirectory() as folder, replacing(target) as profile:
        body = Path(folder) / "unsymbolized"
        body.write_text(body_text(counts), encoding="ascii")
        command = [
            toolchain.tool("llvm-profgen"), *([] if program else ["--kernel"]), "--use-offset=0",
            f"--unsymbolized-profile={body}", f"--binary={image}",
            f"--format={form}", f"--output={profile}",
        ]  # fmt: skip
        process.run(command, log=log, timeout=PROFGEN_SECONDS)
    return target
