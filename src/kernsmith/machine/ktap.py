# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of tests that a kernel, or a program on it, prints: KTAP.

The format is the kernel's (Documentation/dev-tools/ktap.rst, version 1): a plan (`1..N`), a line
of result for each test (`ok 1 name`, `not ok 2 name # SKIP why`), tests of a test farther right
(by two columns, says the document; by four or a tab, in what KUnit has printed), and what tests say
in lines that begin with `#`. On a console, lines of the kernel's log stand between them.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Literal

from kernsmith.machine.interleaved import told_apart

Result = Literal["passed", "failed", "skipped"]
PASSED: Result = "passed"
FAILED: Result = "failed"
SKIPPED: Result = "skipped"

_MOST_LETTERS = 1000
_MOST_SAID = 20
"""So many lines are kept of what a test said: the last ones."""
# What printk writes in front: a level, and a time.
_STAMP = re.compile(r"^(?:<\d{1,3}>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? ?)?")
_RESULT = re.compile(r"^(\s*)(not )?ok (\d{1,9})(?: -)?(?: +([^#]*?))? *(?:# ?(\w+)(?: +(.*))?)?$")
_PLAN = re.compile(r"^(\s*)1\.\.(\d{1,9})(?: +# SKIP\b.*)?$")
_SUBTEST = re.compile(r"^(\s*)# Subtest: (.+)$")
_SAID = re.compile(r"^(\s*)# (.*)$")
# How lines begin that are no rest of another one.
_BEGINS = re.compile(r"^\s*(?:(?:not )?ok \d|1\.\.\d|# |K?TAP version )")
# How they do in which a test may quote the kernel's log.
_QUOTES = re.compile(r"^\s*# (?!S)")
# Failing is what a test of the second kind does where all is well.
_SKIP, _EXPECTED = "SKIP", ("TODO", "XFAIL")


@dataclass(frozen=True)
class Case:
    """One test that has no tests of its own.

    name: the names of those that it is in before its own, with dots between them.
    said: the last lines that it printed.
    """

    name: str
    result: Result
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All that was printed. missing: of how many tests that were planned there is no result,
    because what ran them ended before."""

    cases: tuple[Case, ...]
    missing: int

    def of(self, result: Result) -> tuple[Case, ...]:
        """The tests with a result."""
        return tuple(case for case in self.cases if case.result == result)


@dataclass
class _Level:
    """Tests of one test.

    column: where their lines begin. name: of what they are parts of. planned, seen: how many.
    failed: whether one failed.
    """

    column: int
    name: str = ""
    planned: int = 0
    seen: int = 0
    failed: bool = False

    @property
    def missing(self) -> int:
        return max(0, self.planned - self.seen)


class _Levels:
    """Tests of tests, the outermost first. missing: results, of those that have ended."""

    def __init__(self) -> None:
        self._open: list[_Level] = []
        self.missing = 0

    def at(self, column: int) -> _Level:
        """The tests whose lines begin there, after the end of those that are farther right."""
        self.end(column + 1)
        if not self._open or self._open[-1].column < column:
            self._open.append(_Level(column))
        return self._open[-1]

    def anew(self, column: int) -> _Level:
        """Other tests whose lines begin there, after the end of those that did."""
        self.end(column)
        return self.at(column)

    def end(self, column: int) -> list[_Level]:
        """End all tests from a column on, and return them."""
        ended = [level for level in self._open if level.column >= column]
        self.missing += sum(level.missing for level in ended)
        del self._open[len(self._open) - len(ended) :]
        return ended

    def name(self, last: str) -> str:
        """Of a test in the innermost ones."""
        return ".".join(filter(None, [*(level.name for level in self._open), last]))


def read_ktap(text: str) -> Report:
    """The results in a console's text, whole or cut anywhere; other lines are passed over."""
    cases: list[Case] = []
    levels = _Levels()
    said: deque[str] = deque(maxlen=_MOST_SAID)
    for line in told_apart(text, _BEGINS, _QUOTES):
        line = _STAMP.sub("", line[:_MOST_LETTERS].rstrip(), count=1).expandtabs()
        if match := _SUBTEST.match(line):
            levels.anew(len(match[1])).name = match[2]
            said.clear()
        elif match := _PLAN.match(line):
            level = levels.at(len(match[1]))
            if level.planned or level.seen:
                level = levels.anew(len(match[1]))
            level.planned = int(match[2])
        elif match := _RESULT.match(line):
            ended = levels.end(len(match[1]) + 1)
            # A heading alone is no test.
            below = [each for each in ended if each.seen or each.planned]
            level, result = levels.at(len(match[1])), _result(match[2], match[5])
            level.seen += 1
            level.failed |= result == FAILED
            # What has tests of its own fails by them, or by what it does before and after them.
            told = any(each.failed or each.missing for each in below)
            if not below or (result == FAILED and not told):
                cases.append(Case(levels.name(match[4] or match[3]), result, tuple(said)))
            said.clear()
        elif match := _SAID.match(line):
            said.append(match[2])
    levels.end(0)
    return Report(tuple(cases), levels.missing)


def _result(negated: str | None, directive: str | None) -> Result:
    word = (directive or "").upper()
    if word == _SKIP:
        return SKIPPED
    return FAILED if negated and word not in _EXPECTED else PASSED
