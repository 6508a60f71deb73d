# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine whose runs end as a script says: for tests of what starts, shares and repeats them.

It is no kind of machine, so that no study file can name it. Run as a program, it does a whole study
on a ledger: one of several workers, which can be killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernsmith import paths, process
from kernsmith.engine import Silent
from kernsmith.engine.making import Link
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.run import measure
from kernsmith.files import write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.source import Source
from kernsmith.layout import PlacedOrder, layout_name, random_order
from kernsmith.ledger import Ledger, now
from kernsmith.machine import Boot, Job, Outcome
from kernsmith.machine.protocol import Images, Metric
from kernsmith.study import Design, Layout, Study, Variant, plan_trials, plan_variants
from made_trace import HOT, ROUNDS, make_kernel, write_trace

WORKLOADS = tuple(Workload(name, ("lab",), "", 1, 1, ()) for name in ("pipe", "fork", "mmap"))
CYCLES = Metric("model_cycles", "cycles", "", "modelled")


@dataclass(frozen=True)
class Scripted:
    """script: for a workload, how its first, second … run in the whole study ends: `ok`, `panic`,
    `hang`, `failed`, `pause` (ok, after a while), `slow` (waits for a program, for minutes) or
    `crash` (this process is killed). What it does not name is ok.

    folder: holds the script, so that several processes share it, and a log with a line a run;
        also model_cycles by the name of the image's folder, where these are not by workload, and
        kernel_instructions likewise, those of all others by an empty name; and `luck`: how many
        rounds of the trace more the first, second … boot of a workload executes, over and over;
        `dearer` likewise: how many times the cycles it takes.
    """

    folder: Path
    exact: bool = True
    apart: bool = True
    slots: int = 2
    name: str = "scripted"
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()
    profiles: bool = False
    cpu: Path | None = None  # with one, it writes the trace of made_trace
    metrics: tuple[Metric, ...] = (CYCLES,)
    assumptions: tuple[str, ...] = ()

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        return {"scripted": True}

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[ScriptedSession]:
        session = ScriptedSession(self, image)
        yield session
        session.boots = [
            replace(boot, status="ok", wall_seconds=boot.wall_seconds or 1.0)
            for boot in session.boots
        ]

    def started(self) -> list[str]:
        """A line for each run: image, workload, replicate."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@dataclass
class ScriptedSession:
    machine: Scripted
    image: Path
    boots: list[Boot] = field(default_factory=list)

    def run(self, job: Job) -> Outcome:
        name, machine = job.workload.name, self.machine
        script = json.loads((machine.folder / "script.json").read_text())
        line = f"{self.image.parent.name} {name} {job.replicate}\n".encode()
        log = os.open(machine.folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        # Two that begin at once are the first and the second, and not both the first.
        fcntl.flock(log, fcntl.LOCK_EX)
        before = sum(began.split()[1] == name for began in machine.started())
        os.write(log, line)
        os.close(log)
        ending = dict(enumerate(script.get(name, ()))).get(before, "ok")
        if ending == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if ending == "slow":
            process.run(["sleep", "300"], timeout=600)
        if ending == "pause":
            time.sleep(0.05)
        status = "ok" if ending in ("slow", "pause") else ending
        if machine.apart or not self.boots:
            ended = 1.0 if machine.apart else None
            console = machine.folder / "console"
            self.boots.append(
                Boot(len(self.boots), ("/opt/bin/boot",), console, now(), "", "", ended)
            )
        cycles = script.get("cycles", {}).get(self.image.parent.name, 1e6 + len(name))
        metrics = {"model_cycles": (cycles, "cycles")} if status == "ok" else {}
        if metrics and (counts := script.get("instructions")):
            executed = counts.get(self.image.parent.name, counts[""])
            metrics["kernel_instructions"] = (executed, "instructions")
        luck = script.get("luck", [0])
        rounds = ROUNDS + luck[job.workload.boot % len(luck)]
        metrics = {each: (value * rounds / ROUNDS, unit) for each, (value, unit) in metrics.items()}
        if metrics and (dearer := script.get("dearer")):
            cycles, unit = metrics["model_cycles"]
            metrics["model_cycles"] = cycles * dearer[job.workload.boot % len(dearer)], unit
        reason = "" if status == "ok" else "as the script says"
        console, trace, profile = job.folder / "console", None, None
        if job.profile and status == "ok":
            profile = job.folder / "counts"
            write_text(profile, "1\nffffffff81000000-ffffffff8100001b:1\n0\n")
        if job.trace and status == "ok":
            trace = job.folder / "trace"
            write_trace(trace, job.trace, rounds)
        return Outcome(status, reason, metrics, console, 0.1, self.boots[-1], profile, trace)

    def run_together(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        outcomes = []
        for job in jobs:
            assert job.image is not None
            self.image = job.image
            outcomes.append(self.run(job))
        return outcomes


@dataclass(frozen=True)
class Made:
    """Kernels and images that need no building."""

    folder: Path

    def kernel(self, variant: Variant) -> Kernel | None:
        key = f"kernel-{variant.label}"
        return Kernel(key, self.folder, {"variant": {"name": variant.name}})

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        return self.folder / f"{variant.label}-{layout}" / "vmlinux"

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        return None


@dataclass(frozen=True)
class MadeTraced(Made):
    """The kernel of made_trace, for all variants; its folder is that of the kernel."""

    def kernel(self, variant: Variant) -> Kernel | None:
        source = {"name": "linux-7.3", "digest": "sha256:0"}
        told = {"variant": {"name": "made"}, "build_id": "made", "source": source}
        return Kernel("a" * 64, self.folder, told)

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        link = self.order(variant, layout)
        return self.folder / (link.name if link and layout.seed else "") / "vmlinux"

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        names = tuple(random_order(HOT, layout.seed))
        return Link("a" * 64, layout_name("random", names), PlacedOrder(names, {}))


LABELS = ("label", ("a", "b"))


def prepared(
    machine: Scripted,
    design: Design,
    cpu: str = "skylake",
    factor: tuple[str, tuple[str, ...]] = LABELS,
) -> Prepared:
    """A study of two labels, or of other levels, on three workloads."""
    study = Study(
        source="x",
        config="lab",
        factors=(factor,),
        machine=machine.name,
        cpu=cpu,
        design=design,
    )
    names = [workload.name for workload in WORKLOADS]
    variants = plan_variants(study, names)
    trials = plan_trials(study, variants, names)
    source = Source("linux", Path(), "7.3", "sha256:0", "test")
    return Prepared(
        study, study.digest, {"x": source}, WORKLOADS, (), machine, machine, variants, trials
    )


def traced(machine: Scripted) -> MadeTraced:
    """The kernel that machines with a CPU model take traces of; in the store."""
    folder = paths.kernels() / ("a" * 20)
    if not folder.exists():
        make_kernel(folder)
    return MadeTraced(folder)


def runs(machine: Scripted, ledger: str, design: Design) -> list[tuple[str, int, int | None]]:
    """Do the study: status, attempt and boot of each trial's run, in plan order."""
    opened = Ledger(ledger)
    try:
        plan = prepared(machine, design)
        measured = measure(plan, Made(machine.folder), opened, Silent())
        found = [item.run for item in measured if item.run is not None]
        assert len(found) == len(plan.trials)
        return [(run.status, run.attempt, run.boot) for run in found]
    finally:
        opened.close()


if __name__ == "__main__":
    folder, ledger, layouts = sys.argv[1:]
    try:
        done = runs(Scripted(Path(folder)), ledger, Design(layouts=int(layouts)))
    except KeyboardInterrupt:
        sys.exit(130)
    print(json.dumps(done))
