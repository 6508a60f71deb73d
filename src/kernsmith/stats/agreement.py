# SPDX-License-Identifier: GPL-2.0-or-later
"""How well a model's figures agree with measured ones, and how well noise lets them agree.

Every measured value is known twice, from two halves of its runs. What the halves do not agree on is
noise, and no model is judged by it: signs are counted only where both halves tell the same one, and
a rank correlation is seen beside the highest that a perfect model would reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy


@dataclass(frozen=True)
class Measured:
    """One binary. measured, first, second: of all runs and of two halves.

    group: what binaries are compared within (a program). build, layout: which one it is there.
    """

    group: str
    build: str
    layout: str
    measured: float
    first: float
    second: float


@dataclass(frozen=True)
class Point(Measured):
    """One binary with a model's figure beside what was measured."""

    modelled: float


def with_modelled(measured: Sequence[Measured], modelled: Sequence[float]) -> list[Point]:
    """Both side by side, in their order."""
    return [Point(**vars(one), modelled=of) for one, of in zip(measured, modelled, strict=True)]


@dataclass(frozen=True)
class Ratio:
    """A build against the baseline: geometric means over the layouts that both have."""

    group: str
    build: str
    measured: float
    modelled: float
    noise: float

    @property
    def error(self) -> float:
        """How far the model is off, in percentage points."""
        return 100 * abs(self.modelled - self.measured)


@dataclass(frozen=True)
class Ranks:
    """Layouts of one build. correlation: Spearman's, of model and measurement.

    allowed: what a perfect model would have on average, from the correlation of the halves
        (Spearman 1904: the square root of the reliability; Spearman 1910 and Brown 1910: that of
        all runs, from their halves). Zero when the halves do not correlate.
    spread: standard deviation of log measured values over layouts, in per cent.
    error: how far the model is off in the ratio of two layouts, mean over all pairs of them, in
        percentage points. difference: how far their ratio is from 1, which is the error of a model
        that knows nothing of layouts. noise: that of such a ratio.
    """

    group: str
    build: str
    layouts: int
    correlation: float
    allowed: float
    spread: float
    modelled_spread: float
    error: float
    difference: float
    noise: float

    @property
    def share(self) -> float | None:
        """The correlation as a share of what noise allows; None where it allows none."""
        return self.correlation / self.allowed if self.allowed else None


@dataclass(frozen=True)
class Signs:
    """Pairs that measurement tells apart, and those of them that the model orders the same way."""

    pairs: int
    right: int

    @property
    def share(self) -> float | None:
        """None when there is no such pair."""
        return self.right / self.pairs if self.pairs else None


@dataclass(frozen=True)
class Agreement:
    """A model against measurements.

    cycles: mean of |modelled / measured - 1| over groups' and builds' geometric means, after one
        factor for all (the clock's rate). Ratios are errors in percentage points.
    """

    cycles: float
    factor: float
    ratios: tuple[Ratio, ...]
    builds: Signs
    ranks: tuple[Ranks, ...]
    layouts: Signs

    @property
    def mean_error(self) -> float:
        """Of ratios, in percentage points."""
        return float(np.mean([ratio.error for ratio in self.ratios])) if self.ratios else math.nan

    @property
    def worst_error(self) -> float:
        """Of ratios, in percentage points."""
        return max((ratio.error for ratio in self.ratios), default=math.nan)

    @property
    def correlation(self) -> float:
        """Mean over builds of the rank correlation of layouts."""
        return self._over_ranks("correlation")

    @property
    def allowed(self) -> float:
        """Mean over builds of what noise allows."""
        return self._over_ranks("allowed")

    @property
    def layout_error(self) -> float:
        """Mean over builds of the error of two layouts' ratio, in percentage points."""
        return self._over_ranks("error")

    @property
    def layout_difference(self) -> float:
        """Mean over builds of how far two layouts are apart, in percentage points."""
        return self._over_ranks("difference")

    def _over_ranks(self, what: str) -> float:
        values = [getattr(rank, what) for rank in self.ranks]
        return float(np.mean(values)) if values else math.nan


def judge(points: Sequence[Point], baseline: str, factor: float | None = None) -> Agreement:
    """Hold a model against measurements.

    factor: measured units a modelled cycle, as the calibration has found it; None takes the one
        that fits these points best.

    Raises:
        ValueError: no point, or a figure that is not positive.
    """
    if not points or any(min(p.measured, p.first, p.second, p.modelled) <= 0 for p in points):
        raise ValueError("agreement needs points with positive figures")
    builds: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        builds.setdefault((point.group, point.build), []).append(point)
    logs = [_mean(b, "measured") - _mean(b, "modelled") for b in builds.values()]
    shift = float(np.median(logs)) if factor is None else math.log(factor)
    return Agreement(
        cycles=float(np.mean([abs(math.expm1(shift - log)) for log in logs])),
        factor=math.exp(shift),
        ratios=tuple(_ratios(builds, baseline)),
        builds=_build_signs(builds),
        ranks=tuple(_ranks(key, layouts) for key, layouts in builds.items() if len(layouts) > 3),
        layouts=_layout_signs(list(builds.values())),
    )


def allowed_by_noise(rows: Sequence[Measured]) -> float | None:
    """How well a perfect model would rank layouts: see `Ranks`, mean over builds with four layouts
    or more; None where there is no such build."""
    builds: dict[tuple[str, str], list[Point]] = {}
    for point in with_modelled(rows, [row.measured for row in rows]):
        builds.setdefault((point.group, point.build), []).append(point)
    found = [_ranks(key, points).allowed for key, points in builds.items() if len(points) > 3]
    return float(np.mean(found)) if found else None


def _mean(points: Sequence[Point], what: str) -> float:
    return float(np.mean([math.log(getattr(point, what)) for point in points]))


def _common(one: Sequence[Point], other: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The points of both whose layouts both have."""
    names = {p.layout for p in one} & {p.layout for p in other}
    return [p for p in one if p.layout in names], [p for p in other if p.layout in names]


def _differences(one: Sequence[Point], other: Sequence[Point]) -> dict[str, float]:
    one, other = _common(one, other)
    kinds = ("measured", "first", "second", "modelled")
    return {kind: _mean(one, kind) - _mean(other, kind) for kind in kinds}


def _ratios(builds: dict[tuple[str, str], list[Point]], baseline: str) -> list[Ratio]:
    found = []
    for (group, build), points in builds.items():
        base = builds.get((group, baseline))
        if build != baseline and base and _common(points, base)[0]:
            by = _differences(points, base)
            noise = 100 * abs(by["first"] - by["second"]) / 2
            ratio = (math.exp(by["measured"]), math.exp(by["modelled"]))
            found.append(Ratio(group, build, *ratio, noise))
    return found


def _told_apart(first: float, second: float) -> bool:
    """Whether two estimates of one difference have a sign that is more than their own noise."""
    return first * second > 0 and abs(first + second) > 2 * abs(first - second)


def _build_signs(builds: dict[tuple[str, str], list[Point]]) -> Signs:
    pairs = right = 0
    for one, other in combinations(builds, 2):
        if one[0] != other[0] or not _common(builds[one], builds[other])[0]:
            continue
        by = _differences(builds[one], builds[other])
        if _told_apart(by["first"], by["second"]):
            pairs += 1
            right += by["measured"] * by["modelled"] > 0
    return Signs(pairs, right)


def _layout_signs(builds: Sequence[Sequence[Point]]) -> Signs:
    pairs = right = 0
    for points in builds:
        for one, other in combinations(points, 2):
            by = _differences([one], [_named(other, one.layout)])
            if _told_apart(by["first"], by["second"]):
                pairs += 1
                right += by["measured"] * by["modelled"] > 0
    return Signs(pairs, right)


def _named(point: Point, layout: str) -> Point:
    return Point(
        point.group, point.build, layout, point.measured, point.first, point.second, point.modelled
    )


def _ranks(key: tuple[str, str], points: Sequence[Point]) -> Ranks:
    def column(kind: str) -> np.ndarray:
        return np.log([getattr(point, kind) for point in points])

    measured, modelled = column("measured"), column("modelled")
    first, second = column("first"), column("second")
    halves = spearman(first, second)
    reliability = 2 * halves / (1 + halves) if halves > 0 else 0.0
    return Ranks(
        *key,
        len(points),
        spearman(measured, modelled),
        math.sqrt(reliability),
        100 * float(measured.std(ddof=1)),
        100 * float(modelled.std(ddof=1)),
        100 * float(np.mean(np.abs(_pairwise(modelled) - _pairwise(measured)))),
        100 * float(np.mean(np.abs(_pairwise(measured) - 1))),
        50 * float(np.mean(np.abs(_pairwise(first) - _pairwise(second)))),
    )


def _pairwise(logs: np.ndarray) -> np.ndarray:
    """The ratio of each to each one in front of it."""
    one, other = np.tril_indices(len(logs), -1)
    ratios: np.ndarray = np.exp(logs[one] - logs[other])
    return ratios


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation; 0 when one of them does not vary."""
    ranks = scipy.stats.rankdata(one), scipy.stats.rankdata(other)
    if any(r.std() == 0 for r in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])
