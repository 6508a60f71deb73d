# SPDX-License-Identifier: GPL-2.0-or-later
"""What reading a file of perf record costs, beside the route through `perf script`.

A file with branch stacks of the micro kernel is recorded, 128 MiB unless the first argument says
another number, and converted by `kernsmith profile convert` and by `llvm-profgen --perfdata`, which
has perf print it: to counts, and to a profile by function and line, for which llvm-profgen reads
the kernel's line tables in both. Seconds are of CPU time, children's included, which other load
does not change; each route has one thread. Target for counts: 20 times as fast. Needs Debian's
linux-perf.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from kernsmith import paths
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.recording import record_perf_data
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Study, plan_variants

WORKLOADS = ("pipe", "file", "fork")
SAMPLE = 824
"""Bytes of a sample with 32 branches."""


def record(kernel: Kernel, path: Path, period: int) -> int:
    """Branches of the workloads."""
    workloads = load_catalogue().select(WORKLOADS)
    with ProgressDisplay() as display:
        return record_perf_data(
            kernel, workloads, open_machine("skylake"), display, path, period=period, command=[]
        )[1]


def seconds(command: list[str | Path]) -> tuple[float, int]:
    """CPU time of a command in seconds, and the most memory that it or a child had, in MiB."""
    silent = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2)]
    words = [str(word) for word in command]
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=silent)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"failed: {words}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    source = resolve_source("debian:7.3", paths.sources())
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none",)),))
    kernel = build_kernel(make_recipe(plan_variants(study, ())[0], source))
    profgen = find_toolchain().tool("llvm-profgen")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)  # where llvm-profgen puts what perf prints
        file = folder / "perf.data"
        branches = record(kernel, file, 1 << 40)
        record(kernel, file, max(1, branches * SAMPLE // (size << 20)))
        theirs: list[str | Path] = [
            profgen,
            "--kernel",
            f"--perfdata={file}",
            f"--binary={kernel.vmlinux}",
        ]
        ours: list[str | Path] = [sys.executable, "-m", "kernsmith", "profile", "convert", file]
        ours += ["--kernel", kernel.vmlinux, "-o", "ours"]
        print(f"{file.stat().st_size / (1 << 20):.0f} MiB")
        print(f"{'to':8} {'profgen s':>10} {'MiB':>6} {'kernsmith s':>12} {'MiB':>6} {'times':>7}")
        for to, words in (
            ("counts", ["--skip-symbolization", "--use-offset=0"]),
            ("afdo", ["--format=extbinary"]),
        ):
            slow, theirs_most = seconds([*theirs, *words, "--output=theirs"])
            fast, most = min(seconds([*ours, "--to", to]) for _ in range(3))
            print(f"{to:8} {slow:10.2f} {theirs_most:6} {fast:12.2f} {most:6} {slow / fast:6.1f}x")


if __name__ == "__main__":
    main()
