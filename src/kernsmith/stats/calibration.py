# SPDX-License-Identifier: GPL-2.0-or-later
"""Fitting a model's undisclosed figures to measured times: Gauss-Newton between bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

# How exact each kind of error is asked to be: an error of this size counts as one.
CYCLES = 0.10
RATIO = 0.01
LAYOUT = 0.005
LEVEL = 1.0


@dataclass(frozen=True)
class Case:
    """A binary: its program and build, whether it is of the baseline, and its measured cycles."""

    program: str
    build: str
    baseline: bool
    measured: float


def error_rows(cases: Sequence[Case], *, absolute: bool = True) -> np.ndarray:
    """What counts as an error, as rows over the logarithms (modelled - measured) of all cases.

    For each program: the mean over the baseline's layouts, in units of `CYCLES`; each other build's
    mean less that, in units of `RATIO`; each layout less its build's mean, in units of `LAYOUT`,
    all of a build's together weighing as much as one ratio.

    absolute: whether the times' unit is the model's. If not, the first kind is each mean less that
        of all programs, which counts only in units of `LEVEL`: it stays where nothing moves it.

    Shape: (errors, cases).
    """
    rows: list[np.ndarray] = []
    builds: dict[tuple[str, str], list[int]] = {}
    for number, case in enumerate(cases):
        builds.setdefault((case.program, case.build), []).append(number)
    base = {program: of for (program, _), of in builds.items() if cases[of[0]].baseline}
    common = np.zeros(len(cases))
    if base and not absolute:
        common = np.mean([_mean(len(cases), members) for members in base.values()], axis=0)
        rows.append(common / LEVEL)
    for (program, _), members in builds.items():
        mean = _mean(len(cases), members)
        if cases[members[0]].baseline:
            rows.append((mean - common) / CYCLES)
        elif program in base:
            rows.append((mean - _mean(len(cases), base[program])) / RATIO)
        for number in members if len(members) > 1 else ():
            layout = -mean
            layout[number] += 1
            rows.append(layout / (LAYOUT * np.sqrt(len(members))))
    return np.array(rows).reshape(len(rows), len(cases))


def _mean(count: int, members: Sequence[int]) -> np.ndarray:
    row = np.zeros(count)
    row[list(members)] = 1 / len(members)
    return row


def better_values(
    values: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    errors: np.ndarray,
    slopes: np.ndarray,
) -> np.ndarray:
    """A Gauss-Newton step from `values`, at most half of each range between its bounds.

    values: (figures,). bounds: the lowest and the highest. errors: (errors,). slopes: (errors,
    figures), of the errors.
    """
    low, high = bounds
    reach = (high - low) / 2
    least = np.maximum(low - values, -reach)
    most = np.minimum(high - values, reach)
    free = most - least > 1e-12
    step = np.zeros(len(values))
    if free.any():
        # A little damping, in parts of each range: figures that nothing depends on stay.
        scale = reach[free]
        system = np.vstack([slopes[:, free] * scale, 0.05 * np.eye(int(free.sum()))])
        wanted = np.concatenate([-errors, np.zeros(int(free.sum()))])
        bounds = least[free] / scale, most[free] / scale
        found = scipy.optimize.lsq_linear(system, wanted, bounds)
        step[free] = found.x * scale
    result: np.ndarray = values + step
    return result
