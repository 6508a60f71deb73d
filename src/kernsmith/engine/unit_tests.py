# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed kernels judged by tests: those that are compiled into them, or the kernel's selftests."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith.engine.mix_tests import BAD, GOOD, Judged, MixTest
from kernsmith.engine.oracles import WORDS, Findings, select_oracles
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.machine import Job, Machine, run_once

KUNIT, SELFTESTS = "kunit", "selftests"


@dataclass(frozen=True)
class PassesUnitTests:
    """Good is a kernel that fails no test which the good one passes, and boots to the end.

    workload: the selftests; or what the guest does when unit tests are over. name: of the oracle.
    """

    machine: Machine
    workload: Workload
    repeats: int = 1
    name: str = KUNIT

    @property
    def exact(self) -> bool:
        """As the machine is."""
        return self.machine.exact

    def identity(self) -> Any:
        """The machine and the workload by content; unit tests are the kernels' own."""
        return [self.name, self.machine.fingerprint(), self.workload.amount, self.repeats]

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """See `MixTest`."""
        if not taken:
            self._failing(pair, folder.parent)
            return Judged(GOOD)
        found, seconds = self._run(pair.link(taken, folder), pair.base, folder)
        return _judged(found, self._failing(pair, folder.parent), seconds)

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """See `MixTest`."""
        found, seconds = self._run(kernel.vmlinux, kernel, folder)
        return _judged(found, _read(_kept(folder.parent)), seconds)

    def limited(self, good: Judged) -> MixTest:
        """As it is: tests that fail may take longer than those that pass."""
        return self

    def _failing(self, pair: Pair, state: Path) -> frozenset[str]:
        """The tests that the good kernel fails itself. state: the folder of all tests.

        Raises:
            UserError: it has no unit tests, or does not boot.
        """
        kept = _kept(state)
        with locked(kept.with_suffix(".lock")):
            if not kept.exists():
                folder = state / "good"
                found, _ = self._run(pair.link((), folder), pair.base, folder)
                if found.ended_badly or not any(case.result == "passed" for case in found.cases):
                    why = found.ended_badly or "no test of its own has passed"
                    hint = (
                        "; kernels with unit tests are what kernsmith verify --oracle kunit builds"
                    )
                    hint = hint if self.name == KUNIT else ""
                    raise UserError(f"--test {self.name}: of the good kernel {why}{hint}")
                names = sorted({case.name for case in found.failures})
                write_text(kept, json.dumps(names))
        return _read(kept)

    def _run(self, image: Path, base: Kernel, folder: Path) -> tuple[Findings, float]:
        (oracle,) = select_oracles([self.name])
        below = folder / self.workload.name
        job = Job(self.workload, below, words=WORDS, modules=base.guest_archive)
        ran = run_once(self.machine, image, job)
        return oracle.read(ran, self.workload.name), ran.wall_seconds


def _kept(state: Path) -> Path:
    return state / "failing.json"


def _read(path: Path) -> frozenset[str]:
    return frozenset(json.loads(path.read_text(encoding="utf-8")))


def _judged(found: Findings, known: frozenset[str], seconds: float) -> Judged:
    new = [case.name for case in found.failures if case.name not in known]
    if found.ended_badly:
        return Judged(BAD, found.ended_badly, seconds)
    if new:
        more = f" and {len(new) - 1} more" if len(new) > 1 else ""
        return Judged(BAD, f"{new[0]} fails{more}", seconds)
    return Judged(GOOD, "", seconds)
