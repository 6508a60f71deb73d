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
from kernsmith.machine import Job, Machine, run_to_judge
from kernsmith.machine.ktap import FAILED, PASSED

KUNIT, SELFTESTS = "kunit", "selftests"


@dataclass(frozen=True)
class PassesUnitTests:
    """Good is a kernel that passes all tests which the good one passes, and boots to the end.

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
            self._known(pair, folder.parent)
            return Judged(GOOD)
        found, seconds = self._run(pair.link(taken, folder), pair.base, folder)
        return self._known(pair, folder.parent).judge(found, seconds)

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """See `MixTest`."""
        found, seconds = self._run(kernel.vmlinux, kernel, folder)
        return Known.read(_kept(folder.parent)).judge(found, seconds)

    def limited(self, good: Judged) -> MixTest:
        """As it is: tests that fail may take longer than those that pass."""
        return self

    def _known(self, pair: Pair, state: Path) -> Known:
        """What tests say of the good kernel. state: the folder of all tests.

        Raises:
            UserError: it has no unit tests, or does not boot.
        """
        kept = _kept(state)
        with locked(kept.with_suffix(".lock")):
            if not kept.exists():
                folder = state / "good"
                found, _ = self._run(pair.link((), folder), pair.base, folder)
                if found.ended_badly or not _named(found, PASSED):
                    why = found.ended_badly or "no test of its own has passed"
                    hint = (
                        "; kernels with unit tests are what kernsmith verify --oracle kunit builds"
                    )
                    hint = hint if self.name == KUNIT else ""
                    raise UserError(f"--test {self.name}: of the good kernel {why}{hint}")
                Known.of(found).write(kept)
        return Known.read(kept)

    def _run(self, image: Path, base: Kernel, folder: Path) -> tuple[Findings, float]:
        (oracle,) = select_oracles([self.name])
        below = folder / self.workload.name
        archive = base.guest_archive
        job = Job(self.workload, below, words=WORDS, modules=archive, counted=False)
        ran = run_to_judge(self.machine, image, job)
        return oracle.read(ran, self.workload.name), ran.wall_seconds


@dataclass(frozen=True)
class Known:
    """Names of the tests that the good kernel fails, and of those that it passes."""

    failing: frozenset[str]
    passing: frozenset[str]

    @classmethod
    def of(cls, found: Findings) -> Known:
        """What it has shown."""
        return cls(_named(found, FAILED), _named(found, PASSED))

    def write(self, path: Path) -> None:
        """Keep it."""
        names = {"failing": sorted(self.failing), "passing": sorted(self.passing)}
        write_text(path, json.dumps(names))

    @classmethod
    def read(cls, path: Path) -> Known:
        """What was kept."""
        names = json.loads(path.read_text(encoding="utf-8"))
        return cls(frozenset(names["failing"]), frozenset(names["passing"]))

    def judge(self, found: Findings, seconds: float) -> Judged:
        """What another kernel has shown."""
        if found.ended_badly:
            return Judged(BAD, found.ended_badly, seconds)
        ended = _named(found, PASSED) | _named(found, FAILED)
        wrong = [f"{case.name} fails" for case in found.failures if case.name not in self.failing]
        wrong += [f"{name} is skipped or missing" for name in sorted(self.passing - ended)]
        if wrong:
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            return Judged(BAD, f"{wrong[0]}{more}", seconds)
        return Judged(GOOD, "", seconds)


def _kept(state: Path) -> Path:
    return state / "tests-of-good.json"


def _named(found: Findings, result: str) -> frozenset[str]:
    return frozenset(case.name for case in found.cases if case.result == result)
