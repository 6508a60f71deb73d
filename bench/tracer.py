# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracer costs: ratios to plain TCG within one run, in the region of interest.

The region's time is the difference between a long and a short run of one workload, so that boot
and set-up drop out; each figure is the best of three, taken in turn. Targets: 1.5 with the
front-end model, 2.0 with the branch profile too.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from kernsmith import paths, process
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.machine import Job
from kernsmith.machine.tcg import Tcg, open_machine
from kernsmith.study import Study, plan_variants

WORKLOADS = ("pipe", "file", "fork")
LONGER = 40
TURNS = 3
MODES = ("plain", "model", "profile", "trace")


def seconds(machine: Tcg, image: Path, work: Workload, folder: Path, mode: str) -> float:
    """Wall time of one boot, in seconds. mode: one of `MODES`."""
    files = {"out": folder / "counters"}
    if mode == "profile":
        files["profile"] = folder / "counts"
    if mode == "trace":
        files["trace"] = folder / "trace"
    command = machine.command(image, Job(work, folder), machine.guest.path, files)
    if mode == "plain":
        command = command[: command.index("-plugin")]
    return process.run(command, log=folder / "console", timeout=600).seconds


def region(machine: Tcg, image: Path, work: Workload, folder: Path, mode: str) -> float:
    """Wall time of the additional rounds of a long run, in seconds."""
    long = replace(work, rounds=work.rounds * LONGER)
    return seconds(machine, image, long, folder, mode) - seconds(machine, image, work, folder, mode)


def main() -> None:
    source = resolve_source("debian:7.3", paths.sources())
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none",)),))
    image = build_kernel(make_recipe(plan_variants(study, ())[0], source)).vmlinux
    machine = open_machine("skylake")
    print(f"{'workload':12} {'plain s':>8}", *(f"{mode:>9}" for mode in MODES[1:]))
    with tempfile.TemporaryDirectory() as name:
        for work in load_catalogue().select(WORKLOADS):
            taken = [
                {mode: region(machine, image, work, Path(name), mode) for mode in MODES}
                for _ in range(TURNS)
            ]
            best = {mode: min(turn[mode] for turn in taken) for mode in MODES}
            plain = best["plain"]
            ratios = [best[mode] / plain for mode in MODES[1:]]
            print(f"{work.name:12} {plain:8.2f}", *(f"{ratio:8.2f}x" for ratio in ratios))


if __name__ == "__main__":
    main()
