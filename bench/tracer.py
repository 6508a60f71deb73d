# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tracer costs: ratios to plain TCG within one run, in the region of interest.

The region's time is the difference between a long and a short run of one workload, so that boot
and set-up drop out; each figure is the best of three, taken in turn. Targets: 1.5 with the
front-end model as a sum of penalties, 1.6 with one that is simulated in time, 8 with its data side
(the depth `core`), 2.0 with the branch profile too. The tracer has three threads, the guest's among
them: with fewer free processors they wait for each other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import NamedTuple

from kernsmith import paths, process
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.machine import Job
from kernsmith.machine.tcg import Table, Tcg, open_machine
from kernsmith.study import Study, plan_variants
from kernsmith.study.study import FRONTEND, Depth

WORKLOADS = ("pipe", "file", "fork")
LONGER = 40
TURNS = 3


class Mode(NamedTuple):
    """How the tracer runs. cpu: its model; none for QEMU alone. output: what it writes, too.
    depth: of the simulation.
    """

    name: str
    cpu: str
    output: str = ""
    target: float = inf
    depth: Depth = FRONTEND


Machines = Mapping[tuple[str, Depth], Tcg]
"""By the CPU models and depths of modes."""

PENALTIES = str(Path(__file__).parents[1] / "tests/data/penalties.toml")
"""A sum of penalties; all shipped models are in time."""

PLAIN = Mode("plain", "")
MODES = (
    Mode("model", PENALTIES, target=1.5),
    Mode("in time", "emeraldrapids", target=1.6),
    Mode("core", "emeraldrapids", target=8.0, depth="core"),
    Mode("profile", PENALTIES, "profile", target=2.0),
    Mode("trace", PENALTIES, "trace"),
)


def seconds(machines: Machines, image: Path, work: Workload, folder: Path, mode: Mode) -> float:
    """Wall time of one boot, in seconds."""
    machine = machines[mode.cpu, mode.depth]
    files = {output: folder / output for output in ("out", mode.output) if output}
    command = machine.command(image, Job(work, folder), machine.guest.path, files)
    if mode == PLAIN:
        command = command[: command.index("-plugin")]
    return process.run(command, log=folder / "console", timeout=600).seconds


def region(machines: Machines, image: Path, work: Workload, folder: Path, mode: Mode) -> float:
    """Wall time of the additional rounds of a long run, in seconds."""
    long = replace(work, rounds=work.rounds * LONGER)
    taken = [seconds(machines, image, each, folder, mode) for each in (long, work)]
    return taken[0] - taken[1]


def main() -> None:
    source = resolve_source("debian:7.3", paths.sources())
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none",)),))
    image = build_kernel(make_recipe(plan_variants(study, ())[0], source)).vmlinux
    machines = {
        (mode.cpu, mode.depth): open_machine(mode.cpu, Table.model_validate({"depth": mode.depth}))
        for mode in MODES
    }
    machines[PLAIN.cpu, PLAIN.depth] = machines[MODES[0].cpu, MODES[0].depth]
    print(f"{'workload':12} {'plain s':>8}", *(f"{mode.name:>9}" for mode in MODES))
    targets = (f"{mode.target:8.2f}x" if mode.target < inf else f"{'':9}" for mode in MODES)
    print(f"{'at most':12} {'':8}", *targets)
    with tempfile.TemporaryDirectory() as name:
        for work in load_catalogue().select(WORKLOADS):
            modes = (PLAIN, *MODES)
            taken = [
                [region(machines, image, work, Path(name), mode) for mode in modes]
                for _ in range(TURNS)
            ]
            plain, *best = map(min, zip(*taken, strict=True))
            ratios = [seconds / plain for seconds in best]
            print(f"{work.name:12} {plain:8.2f}", *(f"{ratio:8.2f}x" for ratio in ratios))


if __name__ == "__main__":
    main()
