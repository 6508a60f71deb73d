# SPDX-License-Identifier: GPL-2.0-or-later
"""What an oracle says of variants, from what the boots of their twins have shown.

What the baseline does wrong as well is no fault of a variant's; what it does right, a variant must
do as well. So a baseline that shows nothing leaves nothing to be said of any variant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernsmith.document import FaultView, VerifiedView
from kernsmith.engine.oracles import MISSING, Findings, Oracle, count
from kernsmith.machine.ktap import FAILED, PASSED, Case


@dataclass(frozen=True)
class Heard:
    """What the twin of a variant has shown.

    kernel: its key; empty where there is none. found: in each of its boots. reason: why it could
    not be asked; empty where it could. alike: whether it has the tests that the baseline's has,
    because it is of the same source and config.
    """

    variant: str
    kernel: str
    found: tuple[Findings, ...] = ()
    reason: str = ""
    seconds: float = 0.0
    alike: bool = True

    @property
    def cases(self) -> tuple[Case, ...]:
        """Of all boots."""
        return tuple(case for each in self.found for case in each.cases)

    @property
    def ended_badly(self) -> tuple[str, ...]:
        """How boots have ended that have no good end."""
        return tuple(each.ended_badly for each in self.found if each.ended_badly)


def answers(
    oracle: Oracle, baseline: Heard | None, others: Sequence[Heard]
) -> Iterator[VerifiedView]:
    """Of the baseline first, in which nothing is new, then of the others.

    baseline: None where it could not be built.
    """
    silent = "it could not be built"
    if baseline is not None:
        silent = _silent(oracle, baseline)
        yield _view(oracle, baseline, (), silent)
    for heard in others:
        if baseline is None or silent:
            yield _view(oracle, heard, (), f"the baseline could not be asked: {silent}")
            continue
        new = () if heard.reason else _new(oracle, heard, baseline)
        yield _view(oracle, heard, new, heard.reason if new else _silent(oracle, heard))


def _silent(oracle: Oracle, heard: Heard) -> str:
    """Why what it has shown says nothing; empty where it does."""
    if heard.reason or heard.ended_badly:
        return heard.reason or "; ".join(heard.ended_badly)
    passed, _, _ = count(heard.cases)
    return "no test has passed" if oracle.tests and not passed else ""


def _new(oracle: Oracle, heard: Heard, baseline: Heard) -> tuple[FaultView, ...]:
    """What it does wrong and the baseline does not: a bad end, tests that fail, and of tests that
    the baseline has passed those that have no good end here."""
    faults = {bad: FaultView(bad, ()) for bad in heard.ended_badly}
    known = {_told(case) for case in baseline.cases if case.result == FAILED}
    for case in heard.cases:
        if case.result == FAILED and _told(case) not in known:
            faults[case.name] = FaultView(case.name, case.said)
    if oracle.tests and heard.alike:
        results = {case.name: case.result for case in heard.cases}
        for name in (case.name for case in baseline.cases if case.result == PASSED):
            if (here := results.get(name)) not in (PASSED, FAILED):
                said = f"passed in the baseline, and {here or 'without a result'} here"
                faults.setdefault(name, FaultView(name, (said,)))
    return tuple(faults.values())


def _told(case: Case) -> tuple[str, ...]:
    """What a failure is known by: its name, and where it stands for others, how many."""
    return (case.name, *(case.said if case.name == MISSING else ()))


def _view(oracle: Oracle, heard: Heard, new: tuple[FaultView, ...], reason: str) -> VerifiedView:
    passed, failed, skipped = count(heard.cases)
    return VerifiedView(
        heard.variant,
        oracle.name,
        heard.kernel,
        passed,
        failed,
        skipped,
        new,
        reason,
        heard.seconds,
    )
