# SPDX-License-Identifier: GPL-2.0-or-later
"""How long suites of workloads take on the machine tcg: `python bench/suites.py KERNEL SET …`.

Without words, those of the fast guest on the kernel of the config `micro`. Every workload once, as
many guests at once as a study has; a row of a Markdown table for each set, and which workload of it
took longest. `--snapshots` has guests go on from these.
"""

import argparse
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import Table, Tcg, open_machine
from kernsmith.study import Study, plan_variants
from kernsmith.study.study import DEFAULT_CPU
from kernsmith.threads import each_of, threads

FAST = ("lab", "neper", "unixbench", "lmbench")
"""Suites of the fast guest."""


@dataclass(frozen=True)
class Ran:
    """How long a workload took, in seconds of the wall clock, and why it failed, if it did."""

    name: str
    seconds: float
    reason: str


def run_set(machine: Tcg, kernel: Kernel, workloads: tuple[Workload, ...], folder: Path) -> str:
    """The row of a set."""

    def ran(workload: Workload) -> Ran:
        outcome = run_once(machine, kernel.vmlinux, Job(workload, folder / workload.name))
        return Ran(workload.name, outcome.wall_seconds, outcome.reason)

    used, began = _processor_seconds(), time.monotonic()
    with threads(machine.slots) as pool:
        outcomes = each_of(pool, ran, workloads)
    wall, used = time.monotonic() - began, _processor_seconds() - used
    failed = ", ".join(f"{each.name}: {each.reason}" for each in outcomes if each.reason)
    longest = max(outcomes, key=lambda each: each.seconds)
    told = f"{longest.name}, {longest.seconds:.1f} s"
    return f"{len(outcomes)} | {wall:.0f} | {used:.0f} | {failed or told} |"


def micro() -> Kernel:
    """The kernel of the config `micro`; of the cache, or built."""
    source = resolve_source("debian:7.3", paths.sources())
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none",)),))
    return build_kernel(make_recipe(plan_variants(study, ())[0], source))


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", nargs="?", help="the beginning of a key, or a vmlinux")
    parser.add_argument("sets", nargs="*", metavar="SET", default=FAST)
    parser.add_argument("--snapshots", action="store_true", help="go on from snapshots")
    words = parser.parse_args()
    catalogue = load_catalogue().including(words.sets)
    kernel = named_kernel(words.kernel) if words.kernel else micro()
    symbols = parse_config((kernel.output / ".config").read_text())
    settings = {"time_limit": 1800, "snapshots": words.snapshots}
    machine = open_machine(DEFAULT_CPU, Table.model_validate(settings))
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    snapshots = "with snapshots" if words.snapshots else "without snapshots"
    print(f"load averages before: {load}; {machine.slots} guests at once; {snapshots}\n")
    print("| suite | workloads | seconds | of processors | the longest |")
    print("| --- | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as name:
        for each in words.sets:
            chosen = catalogue.select([each])
            lacking = [work for work in chosen if work.missing(symbols, loads=False)]
            able = tuple(work for work in chosen if work not in lacking)
            if not able:
                print(f"| `{each}` | 0 | | | no workload of it runs on this kernel |", flush=True)
                continue
            row = run_set(machine, kernel, able, Path(name) / each)
            left = f"cannot run: {', '.join(work.name for work in lacking)} |" if lacking else ""
            print(f"| `{each}` | {row} {left}", flush=True)


if __name__ == "__main__":
    main()
