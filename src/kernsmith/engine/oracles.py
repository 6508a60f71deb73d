# SPDX-License-Identifier: GPL-2.0-or-later
"""What "works" means beside booting: a kernel's own unit tests, and its own watchdogs over its
workloads.

An oracle is a fragment of a config (`configs/oracles/`) that is laid over a kernel's config, and a
way to read what a kernel that is built so says on its console.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.kernel.config import parse_config
from kernsmith.machine import Outcome
from kernsmith.machine.ktap import FAILED, PASSED, SKIPPED, Case, read_ktap
from kernsmith.paths import shipped

WORDS = ("loglevel=7",)
"""On the kernel's command line: what it says goes to the console."""

BOOT_SECONDS = 1200.0
"""The time limit of a boot: tests take minutes, and with watchdogs everything takes longer."""

MISSING = "tests without a result"
"""The name of the failure that tests without a result are; how many is what it says."""

_SAID = 4
"""So many lines of a report are kept at most."""
_STAMP = re.compile(r"^(?:<\d{1,3}>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?")
_SHOWS = re.compile(r"CPU: |Call Trace:|Modules linked in:|[-=]{3}")
# With what the kernel's reports begin (lib/ubsan.c, mm/kasan/report.c, kernel/locking/lockdep.c,
# lib/bug.c, kernel/panic.c, and the architectures where they fault).
_SPLAT = re.compile(
    r"(?:UBSAN: |BUG: |WARNING: |Oops: |INFO: (?:possible|trying|inconsistent|rcu|task) "
    r"|general protection fault|possible circular locking|DEBUG_LOCKS_WARN_ON).*"
)


@dataclass(frozen=True)
class Findings:
    """What one boot has shown. ended_badly: why the boot or its workload has no good end."""

    cases: tuple[Case, ...]
    ended_badly: str = ""

    @property
    def failures(self) -> tuple[Case, ...]:
        """What is wrong, each by a name that it has in every kernel."""
        return tuple(case for case in self.cases if case.result == FAILED)


@dataclass(frozen=True)
class Oracle:
    """One.

    description: one sentence. tests: whether tests print their results; otherwise what the kernel
    says while workloads run is looked at. selftests: whether these are the kernel's selftests,
    which are programs; other tests run while the kernel boots.
    """

    name: str
    description: str
    tests: bool = False
    selftests: bool = False

    @property
    def fragment(self) -> Path:
        """The file of its config symbols."""
        return shipped("configs", "oracles", f"{self.name}.config")

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The config symbols that its kernels have besides, without `CONFIG_`, and their values."""
        return tuple(parse_config(self.fragment.read_text(encoding="utf-8")).items())

    def read(self, outcome: Outcome, workload: str) -> Findings:
        """What a boot has shown."""
        bad = "" if outcome.ok else f"{workload}: {outcome.status}: {outcome.reason}"
        console = outcome.console.read_text(encoding="utf-8", errors="replace")
        return Findings(
            cases_of_tests(console) if self.tests else cases_of_reports(console, workload), bad
        )


ORACLES = (
    Oracle("kunit", "the kernel's own unit tests, which run while it boots", tests=True),
    Oracle("selftests", "the kernel's own selftests, on itself", tests=True, selftests=True),
    Oracle("lockdep", "the order of locks, and sleeping where one may not, under the workloads"),
    Oracle("ubsan", "what C leaves undefined, under the workloads"),
    Oracle("kasan", "memory out of bounds or freed, under the workloads"),
)


def cases_of_tests(console: str) -> tuple[Case, ...]:
    """The results of the tests in a console's text; without any, that is a failure."""
    report = read_ktap(console)
    if not report.cases:
        return (Case("no test has run", FAILED),)
    if report.missing:
        said = f"{report.missing} that were planned"
        return (*report.cases, Case(MISSING, FAILED, (said,)))
    return report.cases


def cases_of_reports(console: str, workload: str) -> tuple[Case, ...]:
    """Passed when the kernel has reported nothing; else each report, once, without what differs
    from kernel to kernel (addresses, numbers, processes)."""
    seen: dict[str, tuple[str, ...]] = {}
    lines = console.splitlines()
    for place, line in enumerate(lines):
        if match := _SPLAT.search(line):
            behind = lines[place + 1 : place + _SAID]
            seen.setdefault(_without_numbers(match[0]), (match[0].strip(), *_explained(behind)))
    if not seen:
        return (Case(workload, PASSED),)
    return tuple(Case(name, FAILED, said) for name, said in seen.items())


def _explained(lines: Sequence[str]) -> Iterator[str]:
    """What a report says of itself before it shows the processor and the stack."""
    for line in lines:
        text = _STAMP.sub("", line).strip()
        if not text or _SPLAT.search(line) or _SHOWS.match(text):
            return
        yield text


def _without_numbers(line: str) -> str:
    line = re.sub(r"\+0x[0-9a-f]+/0x[0-9a-f]+", "", line)
    return re.sub(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b", "N", line).strip()


def select_oracles(names: Sequence[str]) -> tuple[Oracle, ...]:
    """Those with these names, each once, in the order in which they are listed here.

    Raises:
        UserError: a name that none has.
    """
    known = {oracle.name: oracle for oracle in ORACLES}
    for name in names:
        if name not in known:
            raise UserError(f"there is no oracle {name!r}: allowed are {', '.join(known)}")
    return tuple(oracle for oracle in ORACLES if oracle.name in names)


def count(cases: Sequence[Case]) -> tuple[int, int, int]:
    """How many passed, failed and were skipped."""
    results = [case.result for case in cases]
    return (
        results.count(PASSED), results.count(FAILED), results.count(SKIPPED)
    )  # fmt: skip
