# SPDX-License-Identifier: GPL-2.0-or-later
"""A batch: a folder with what a machine is to measure, and what it has measured.

Two files of lines that are only ever added, `plan` and `results` (guest/machine/batch.h has their
format), and beside them the runner and the kernels. The runner on the machine (`kernsmith-runner`)
does what is planned for the kernel that it finds itself on. A folder is all there is: it can be
copied over a network, or carried.

Each line begins with the CRC-32 of what follows, and the runner brings each to the disk before it
goes on. So whatever ends the machine: what is in the results is true, and a line that was not
written whole is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from errno import ETIMEDOUT
from math import isfinite
from statistics import median
from typing import Any
from zlib import crc32

from kernsmith.errors import KernsmithError
from kernsmith.machine.chunks import least_of
from kernsmith.machine.metrics import CHUNKS
from kernsmith.machine.session_lines import absent_in, chunks_in

FORMAT = 1
PLAN, RESULTS = "plan", "results"
ANY_KERNEL = "-"
ANY_PROCESSOR = -1

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_JUMP_SECONDS = 0.5
_SLEPT_SECONDS = 0.01
_OTHERS_SHARE, _OTHERS_SECONDS = 0.2, 0.1
_LONGEST_LINE = 400


@dataclass(frozen=True)
class Planned:
    """One trial of a plan.

    name: tells it apart from all others. kernel: the build id of the kernel that it is of, or
    `ANY_KERNEL`. processor: where it runs, or `ANY_PROCESSOR`. runs: how often; seconds: how long
    each may take.
    """

    name: str
    kernel: str
    workload: str
    rounds: int
    warmup: int
    runs: int
    seconds: int
    processor: int = ANY_PROCESSOR

    def line(self) -> str:
        """Its line in the plan."""
        for word in (self.name, self.kernel, self.workload):
            if not _NAME.fullmatch(word):
                raise KernsmithError(f"a batch cannot name {word[:80]!r}")
        return checked_line(
            f"trial {self.name} {self.kernel} {self.processor} {self.runs} {self.seconds} "
            f"{self.rounds} {self.warmup} {self.workload}"
        )


@dataclass(frozen=True)
class Run:
    """One run of a trial.

    boot: the name of the boot that it began in. status: 0, an errno, or None where it has not ended
        (yet). text: what went wrong. jump: seconds by which the wall clock was set meanwhile.
    seconds: from its beginning to its end. people: how many were logged in with a terminal or a
        display. asleep: seconds that the machine slept. others: seconds that processors worked for
        anything but the run.
    """

    boot: str
    metrics: Mapping[str, float] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    status: int | None = None
    text: str = ""
    jump: float = 0.0
    seconds: float = 0.0
    people: int = 0
    asleep: float = 0.0
    others: float = 0.0


@dataclass(frozen=True)
class Recorded:
    """What the results say of a trial. done: no run follows any more."""

    runs: tuple[Run, ...]
    done: bool

    @property
    def ok(self) -> bool:
        """Whether all of its runs ended well."""
        return self.done and all(run.status == 0 for run in self.runs)

    @property
    def failure(self) -> str:
        """What the run that failed said; empty without one."""
        failed = [run for run in self.runs if run.status]
        return (
            f"the workload failed with errno {failed[0].status} {failed[0].text}" if failed else ""
        )

    @property
    def stuck(self) -> bool:
        """Whether a run was killed when its time was over, and did not end: the kernel hangs, in
        part (guest/machine/batch.h)."""
        return not self.done and bool(self.runs) and self.runs[-1].status == ETIMEDOUT

    def died(self, boot: str) -> bool:
        """Whether it was under way when the machine left the boot that it began in.

        boot: the one that the machine is in now.
        """
        return not self.done and any(run.boot != boot for run in self.runs)

    @property
    def metrics(self) -> dict[str, float]:
        """The median of each figure over the runs, those that every run has."""
        names = list(self.runs[0].metrics) if self.runs else []
        return {
            name: median(run.metrics[name] for run in self.runs)
            for name in names
            if all(name in run.metrics for run in self.runs)
        }

    @property
    def jumps(self) -> tuple[float, ...]:
        """By how many seconds the wall clock was set while a run measured, of those where it was.

        Figures are of a clock that nobody sets: this tells that the machine's other one is not to
        be trusted.
        """
        return tuple(
            jump for run in self.runs if abs(jump := run.jump - run.asleep) > _JUMP_SECONDS
        )

    @property
    def beside(self) -> dict[str, Any]:
        """What went on beside its runs, of what there was any: `clock_jumps`, `asleep` in seconds,
        `people` who were logged in, and for how many seconds processors worked for `others`; what
        is `absent` from their figures, with the reason; and the least that each of the region's
        `chunks` took."""
        found: dict[str, Any] = {
            "clock_jumps": list(self.jumps),
            "asleep": [run.asleep for run in self.runs if run.asleep > _SLEPT_SECONDS],
            "people": max((run.people for run in self.runs), default=0),
            "others": [run.others for run in self.runs if run.others > _tolerated(run)],
            "absent": absent_in(line for run in self.runs for line in run.said),
            CHUNKS: list(least_of([chunks_in(run.said) for run in self.runs])),
        }
        return {name: value for name, value in found.items() if value}


def _tolerated(run: Run) -> float:
    """Seconds of others' work that are told of no run: they are counted in ticks."""
    return max(_OTHERS_SECONDS, _OTHERS_SHARE * run.seconds)


def checked_line(text: str) -> str:
    """A line of a batch's file."""
    data = text.encode()
    return f"{crc32(data):08x} {text}\n"


def plan_text(trials: Iterable[Planned]) -> str:
    """A whole plan."""
    return checked_line(f"batch {FORMAT}") + "".join(trial.line() for trial in trials)


def whole_lines(text: str) -> Iterator[str]:
    """What stands in those lines whose sum is right."""
    for line in text.split("\n"):
        sum, _, content = line.partition(" ")
        if content and sum == f"{crc32(content.encode()):08x}":
            yield content


def read_results(text: str) -> dict[str, Recorded]:
    """What the results say of each trial, in the order in which these began.

    Lines that were not written whole, or mean nothing here, are skipped.
    """
    runs: dict[str, dict[int, _Told]] = {}
    done = set()
    for line in whole_lines(text):
        kind, *fields = line.split(" ", 5)
        try:
            if kind == "done":
                done.add(fields[0])
            elif kind == "begin":
                told = _Told(fields[2], _clocks(fields[3], fields[4]))
                runs.setdefault(fields[0], {})[int(fields[1])] = told
            elif kind in ("metric", "said", "beside", "end"):
                runs[fields[0]][int(fields[1])].take(kind, line.split(" ", 3)[3])
        except (IndexError, KeyError, ValueError):
            continue
    return {
        name: Recorded(tuple(told.run() for _, told in sorted(each.items())), name in done)
        for name, each in runs.items()
    }


@dataclass
class _Told:
    """A run that is being read."""

    boot: str
    began: tuple[int, int]
    metrics: dict[str, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    status: int | None = None
    text: str = ""
    jump: float = 0.0
    seconds: float = 0.0
    people: int = 0
    asleep: float = 0.0
    others: float = 0.0

    def take(self, kind: str, rest: str) -> None:
        if kind == "said":
            self.said.append("".join(filter(str.isprintable, rest))[:_LONGEST_LINE])
        elif kind == "metric":
            name, _, value = rest.partition("=")
            if _NAME.fullmatch(name) and isfinite(float(value)):
                self.metrics[name] = float(value)
        elif kind == "beside":
            people, asleep, others = rest.split(" ")
            told = int(people), int(asleep) / 1e9, float(others)
            self.people, self.asleep, self.others = told
        else:
            status, raw, wall, *text = rest.split(" ", 3)
            ended = _clocks(raw, wall)
            passed = [after - before for before, after in zip(self.began, ended, strict=True)]
            self.jump = (passed[1] - passed[0]) / 1e9
            self.seconds = passed[0] / 1e9
            self.text = "".join(text)
            self.status = int(status)

    def run(self) -> Run:
        return Run(
            self.boot, self.metrics, tuple(self.said), self.status, self.text.strip(), self.jump,
            self.seconds, self.people, self.asleep, self.others,
        )  # fmt: skip


def _clocks(raw: str, wall: str) -> tuple[int, int]:
    return int(raw), int(wall)
