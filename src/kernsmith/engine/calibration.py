# SPDX-License-Identifier: GPL-2.0-or-later
"""Fitting what a vendor does not disclose of a CPU to times of programs on it, and judging the fit.

Programs, or a kernel's workloads, are in two halves. A model that one half has calibrated is judged
on the other half, then the halves change places: `fit` takes no program that `judged` takes, and
says so when asked to. The model that is written is fitted to all; how true it is, the two
judgements tell.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tomlkit

from kernsmith.engine.events import Events
from kernsmith.errors import UserError
from kernsmith.stats.calibration import Case, better_values, error_rows


@dataclass(frozen=True)
class Knob:
    """A figure of `[decoupled]` that no vendor tells, or, of the width, that programs do not reach.

    section: its table there. word: its key; within a table of `level`, where that is not empty.
    low, high: between which it is looked for. step: by which its effect is probed. unless: a word
        whose presence in the same section makes it part of a structure, not a time.
    """

    section: str
    word: str
    low: float
    high: float
    step: float
    level: str = ""
    unless: str = ""

    @property
    def name(self) -> str:
        """As messages call it."""
        return f"{self.section}.{self.level or self.word}"


KNOBS = (
    Knob("core", "resolve_cycles", 4, 40, 1),
    Knob("core", "stall_cycles", 0, 1, 0.02),
    Knob("fetch", "decode_steer_cycles", 2, 16, 1),
    Knob("fetch", "switch_cycles", 0, 8, 0.5),
    Knob("buffers", "cycles", 0, 4, 0.25, level="l1"),
    Knob("buffers", "cycles", 0, 8, 0.5, level="l2"),
    Knob("core", "width", 2, 8, 0.25, unless="window"),
)


@dataclass(frozen=True)
class Timed:
    """A binary, or a kernel with a workload, that was timed: `case` says what of it.

    key: what `Simulate` finds it by. modelled: cycles of the whole with the model that calibration
        begins with.
    """

    case: Case
    key: str
    modelled: float


class Simulate(Protocol):
    """What a part of each takes with other models of the CPU, of which only ratios count."""

    def __call__(self, timed: Sequence[Timed], cpus: Sequence[Path]) -> np.ndarray:
        """Modelled cycles. Shape: (cpus, timed)."""
        ...


@dataclass(frozen=True)
class Fit:
    """Names and values of a model's knobs, and of which programs they were found."""

    programs: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[float, ...]
    error: float


def halves(
    programs: Sequence[str], what: str = "programs"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every second program in alphabetical order, and the others. what: a word for them.

    Raises:
        UserError: there are fewer than two, so that none is left to judge.
    """
    names = sorted(set(programs))
    if len(names) < 2:
        raise UserError(f"calibration needs two {what} or more: those that judge do not calibrate")
    return tuple(names[::2]), tuple(names[1::2])


def find_knobs(text: str, kept: Sequence[str] = ()) -> tuple[Knob, ...]:
    """The knobs that a model's file has, but for those whose names are `kept`.

    A core may be without some target buffers, or without a micro-op cache. With a window, what it
    allocates decides when results are ready.

    Raises:
        UserError: it is not the model of a decoupled front end, a name is none of its knobs', or
            none is left.
    """
    document = tomlkit.parse(text)
    tables = ((knob, _table(document, knob)) for knob in KNOBS)
    found = tuple(knob for knob, table in tables if knob.word in table and knob.unless not in table)
    if KNOBS[0] not in found:
        raise UserError(f"this CPU model has no decoupled.{KNOBS[0].name}: it cannot be calibrated")
    names = [knob.name for knob in found]
    for name in kept:
        if name not in names:
            raise UserError(f"--keep {name}: this model can be fitted by {', '.join(names)}")
    if not set(names) - set(kept):
        raise UserError("--keep leaves nothing to fit")
    return tuple(knob for knob in found if knob.name not in kept)


def read_values(text: str, kept: Sequence[str] = ()) -> tuple[float, ...]:
    """What a model's file has for each of its knobs that is not kept.

    Raises:
        UserError: see `find_knobs`.
    """
    document = tomlkit.parse(text)
    return tuple(float(_table(document, knob)[knob.word]) for knob in find_knobs(text, kept))


def with_values(text: str, values: Sequence[float], kept: Sequence[str] = ()) -> str:
    """The model's file with other values for these knobs; nothing else of it changes."""
    document = tomlkit.parse(text)
    for knob, value in zip(find_knobs(text, kept), values, strict=True):
        table = _table(document, knob)
        if table[knob.word] != value:
            table[knob.word] = float(f"{value:.6g}")
    return tomlkit.dumps(document)


def _table(document: tomlkit.TOMLDocument, knob: Knob) -> Any:
    """The table that a knob's figure is in; an empty one where there is none."""
    table: Any = document
    for name in ("decoupled", knob.section, *filter(None, [knob.level])):
        table = table.get(name)
        if not isinstance(table, dict):
            return {}
    return table


@dataclass(frozen=True)
class Calibration:
    """Fits a model to some of the programs.

    text: the model's file. timed: binaries of all programs. rounds: how often figures are probed
    anew. absolute: whether their times are in cycles of the core. kept: names of figures that stay.
    """

    text: str
    timed: Sequence[Timed]
    rounds: int
    simulate: Simulate
    events: Events
    absolute: bool = True
    kept: tuple[str, ...] = ()
    _known: dict[tuple[str, tuple[float, ...]], float] = field(default_factory=dict)

    def fit(self, programs: Sequence[str]) -> Fit:
        """Find the knobs' values by these programs alone."""
        chosen = [one for one in self.timed if one.case.program in programs]
        rows = error_rows([one.case for one in chosen], absolute=self.absolute)
        measured = np.log([one.case.measured for one in chosen])
        knobs = find_knobs(self.text, self.kept)
        bounds = (np.array([k.low for k in knobs]), np.array([k.high for k in knobs]))
        modelled = np.log([one.modelled for one in chosen])
        own = np.array(read_values(self.text, self.kept))
        first = self._cycles(chosen, [own])[0]
        values = best = np.clip(own, *bounds)
        least = np.inf
        for number in range(self.rounds + 1):
            probes = [values, *(_probe(knobs, values, place) for place in range(len(knobs)))]
            costs = self._cycles(chosen, probes if number < self.rounds else probes[:1])
            errors = rows @ (modelled + costs[0] - first - measured)
            error = float(errors @ errors)
            self.events.note(
                f"{', '.join(programs)}: round {number}, error {error:.1f}: "
                + ", ".join(f"{k.name} {v:.3g}" for k, v in zip(knobs, values, strict=True))
            )
            if error < least:
                least, best = error, values
            if number < self.rounds:
                moved = [probes[1 + i][i] - values[i] for i in range(len(knobs))]
                slopes = np.column_stack(
                    [rows @ (costs[1 + i] - costs[0]) / moved[i] for i in range(len(knobs))]
                )
                # What is bounded by zero comes out as 1e-20.
                values = np.round(better_values(values, bounds, errors, slopes), 9)
        names = tuple(knob.name for knob in knobs)
        return Fit(tuple(programs), names, tuple(map(float, best)), least)

    def judged(self, fit: Fit, programs: Sequence[str]) -> dict[str, float]:
        """Modelled cycles of programs that did not calibrate, by the key of each binary.

        Raises:
            UserError: one of them did.
        """
        if both := set(programs) & set(fit.programs):
            raise UserError(f"{', '.join(sorted(both))} calibrated this model and cannot judge it")
        chosen = [one for one in self.timed if one.case.program in programs]
        own = np.array(read_values(self.text, self.kept))
        first, now = self._cycles(chosen, [own, np.array(fit.values)])
        cycles = np.exp(np.log([one.modelled for one in chosen]) + now - first)
        return {one.key: float(c) for one, c in zip(chosen, cycles, strict=True)}

    def _cycles(self, timed: Sequence[Timed], values: Sequence[np.ndarray]) -> np.ndarray:
        """Logarithms of each one's cycles with each model. Shape: (values, timed)."""
        asked = [tuple(float(value) for value in one) for one in values]
        new = [
            each
            for each in dict.fromkeys(asked)
            if any((one.key, each) not in self._known for one in timed)
        ]
        with tempfile.TemporaryDirectory() as folder:
            cpus = [Path(folder) / f"{number}.toml" for number in range(len(new))]
            for cpu, one in zip(cpus, new, strict=True):
                cpu.write_text(with_values(self.text, one, self.kept), encoding="utf-8")
            found = np.log(self.simulate(timed, cpus)) if new else np.empty((0, len(timed)))
        for each, row in zip(new, found, strict=True):
            keys = ((one.key, each) for one in timed)
            self._known.update(zip(keys, map(float, row), strict=True))
        return np.array([[self._known[one.key, each] for one in timed] for each in asked])


@dataclass(frozen=True)
class Calibrated:
    """What came out. halves: fits of either half. whole: of all programs. cycles: of each binary,
    by its key, with the fit of that half which it is not of."""

    halves: tuple[Fit, Fit]
    whole: Fit
    cycles: Mapping[str, float]


def calibrated(
    calibration: Calibration, parts: tuple[tuple[str, ...], tuple[str, ...]]
) -> Calibrated:
    """Fit each half and judge it by the other, then fit all. parts: see `halves`."""
    one, other = (calibration.fit(part) for part in parts)
    cycles = calibration.judged(one, parts[1]) | calibration.judged(other, parts[0])
    return Calibrated((one, other), calibration.fit(sorted((*parts[0], *parts[1]))), cycles)


def _probe(knobs: Sequence[Knob], values: np.ndarray, place: int) -> np.ndarray:
    """With one figure a step further, or a step back at the upper end."""
    knob, probe = knobs[place], values.copy()
    probe[place] += knob.step if values[place] + knob.step <= knob.high else -knob.step
    return probe
