# SPDX-License-Identifier: GPL-2.0-or-later
"""Two kernels of objects that are names only: mixing them writes down which were taken."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.exchange import Exchange, NotExchangeable
from kernsmith.kernel.mixed import Pair
from kernsmith.machine import Boot, Job, Outcome
from kernsmith.machine.protocol import Metric

NAMES = tuple(f"fs/{number:03}.o" for number in range(100))


@dataclass(frozen=True)
class MadePair(Pair):
    """linked: what was taken of the bad kernel, for each link. exchanges: of objects of which
    functions can be taken."""

    linked: list[frozenset[str]] = field(default_factory=list)
    exchanges: dict[str, Exchange] = field(default_factory=dict)

    objects = NAMES
    suspects = NAMES

    def check(self) -> None:
        """They fit."""

    @property
    def base(self) -> Kernel:
        return self.good

    def exchange(self, name: str) -> Exchange:
        if name not in self.exchanges:
            raise NotExchangeable("it is made up")
        return self.exchanges[name]

    def link(self, taken: Collection[str], target: Path, order: Sequence[str] = ()) -> Path:
        self.linked.append(frozenset(taken))
        target.mkdir(parents=True, exist_ok=True)
        drawn = hashlib.sha256("".join(order).encode()).hexdigest()
        image = target / "vmlinux"
        image.write_text("".join(f"{line}\n" for line in (drawn, *sorted(taken))))
        return image


def made_pair(folder: Path, own: str = "") -> MadePair:
    """own: what stands in the bad kernel's image as it was built."""
    kernels = []
    for name in ("good", "bad"):
        kernel = Kernel(name * 10, folder / name, {"variant": {"name": name}})
        kernel.output.joinpath("fs").mkdir(parents=True)
        for each in NAMES:
            (kernel.output / each).write_bytes(b"")
        kernel.system_map.write_text(
            "0000000000000001 T _stext\n0000000000000002 t f\n0000000000000003 t g\n"
            "0000000000000004 t h\n0000000000000009 T _etext\n"
        )
        kernel.vmlinux.write_text(own if name == "bad" else "")
        kernels.append(kernel)
    return MadePair(*kernels)


@dataclass(frozen=True)
class Counting:
    """A machine on which each object of these costs so many per cent; a layout costs up to 0.1."""

    costs: Mapping[str, float]
    name: str = "counting"
    exact: bool = True
    apart: bool = True
    slots: int = 2
    profiles: bool = False
    cpu: Path | None = None
    metrics: tuple[Metric, ...] = ()
    assumptions: tuple[str, ...] = ()

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        return {"costs": dict(self.costs)}

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[CountingSession]:
        yield CountingSession(self, image)


@dataclass
class CountingSession:
    machine: Counting
    image: Path
    boots: list[Boot] = field(default_factory=list)

    def run(self, job: Job) -> Outcome:
        drawn, *taken = self.image.read_text().split()
        luck = int(drawn[:4], 16) / 0xFFFF / 10
        cost = sum(self.machine.costs.get(name, 0.0) for name in taken)
        boot = Boot(0, (), job.folder / "console", "", "ok", "", wall_seconds=1.0)
        figures = {"kernel_instructions": (1e6 * (1 + luck / 100) * (1 + cost / 100), "")}
        return Outcome("ok", "", figures, boot.console, 1.0, boot)
