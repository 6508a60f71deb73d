# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts of a study, corrected for all that is compared in it.

Two families. *Primary*: the headline metrics over the whole mix of workloads, of all variants;
Holm keeps the rate of studies with any false verdict among them at alpha. *Exploratory*: all else
(single workloads, other metrics and mixes, levels and terms of a factorial design); Benjamini &
Yekutieli keep the share of false ones among those that are called significant at alpha. Both hold
whatever the dependence between the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, log, nan
from typing import Literal

from kernsmith.stats.design import FactorAnalysis
from kernsmith.stats.effect import Effect, t_interval
from kernsmith.stats.multiple import (
    Corrected,
    benjamini_yekutieli_with_levels,
    holm_with_levels,
)
from kernsmith.stats.observations import Default
from kernsmith.stats.sequential import always_valid_interval

Family = Literal["primary", "exploratory"]


@dataclass(frozen=True)
class Verdict:
    """The effect of a variant on one metric of one workload, or of the mix of all.

    workload: its name, or `overall`, `overall-trained`, `overall-held-out`, or
        `overall-of-` with the name of what some variants were made for.
    default: of the default layouts: what one would have got from one binary each.
    trained: whether the profile was trained on this workload; None for mixes.
    baseline, treated: logarithms of each layout, of mixes their mean over workloads.
    family, tests: what it is corrected with, and how many tests these are.
    p_corrected: in its family; None where there is no p.
    ci_corrected: the interval of that decision: it leaves 1 out exactly where the verdict is
        significant (see `stats.multiple`). ``effect.ci`` is of this verdict by itself.
    """

    variant: str
    workload: str
    metric: str
    effect: Effect
    default: Default | None
    trained: bool | None
    baseline: tuple[float, ...]
    treated: tuple[float, ...]
    family: Family
    tests: int = 1
    p_corrected: float | None = None
    ci_corrected: tuple[float, float] | None = None

    @property
    def significant(self) -> bool:
        """Whether the ratio differs from 1, corrected for the other tests of the family."""
        return self.p_corrected is not None and self.p_corrected < self.effect.alpha

    @property
    def always_valid(self) -> bool:
        """Whether the figures hold however often the study was looked at."""
        return self.effect.always_valid

    @property
    def default_ratio(self) -> float | None:
        """Treated / baseline in the default layouts."""
        return self.default.ratio if self.default else None

    @property
    def default_baseline(self) -> float | None:
        """The baseline's figure in the default layout."""
        return self.default.baseline if self.default else None

    @property
    def default_treated(self) -> float | None:
        """The variant's figure in the default layout."""
        return self.default.treated if self.default else None


@dataclass(frozen=True)
class Judgement:
    """All that the statistics say of a study. factors: empty for fewer than two factors."""

    verdicts: tuple[Verdict, ...]
    factors: tuple[FactorAnalysis, ...]


def correct(
    verdicts: Sequence[Verdict], factors: Sequence[FactorAnalysis], alpha: float
) -> Judgement:
    """Correct the primary family, and all else together, in the order given."""
    primary = [_p(each.effect) for each in verdicts if each.family == "primary"]
    others = [_p(each.effect) for each in verdicts if each.family == "exploratory"]
    for analysis in factors:
        others += [_p(each.effect) for each in analysis.levels]
        others += [row.p for row in analysis.table]
    by_holm = iter(holm_with_levels(primary, alpha))
    by_rate = iter(benjamini_yekutieli_with_levels(others, alpha))
    tests = {"primary": _count(primary), "exploratory": _count(others)}
    found = [
        _corrected(each, next(by_holm if each.family == "primary" else by_rate), tests[each.family])
        for each in verdicts
    ]
    return Judgement(
        tuple(found),
        tuple(
            replace(
                analysis,
                levels=tuple(
                    replace(each, p_corrected=_known(next(by_rate).p)) for each in analysis.levels
                ),
                table=tuple(replace(row, p_corrected=next(by_rate).p) for row in analysis.table),
            )
            for analysis in factors
        ),
    )


def _corrected(verdict: Verdict, correction: Corrected, tests: int) -> Verdict:
    effect = verdict.effect
    return replace(
        verdict,
        tests=tests,
        p_corrected=_known(correction.p),
        ci_corrected=_interval(effect, correction.level) if effect.p is not None else None,
    )


def _interval(effect: Effect, level: float) -> tuple[float, float] | None:
    """Of an effect at another level than its own."""
    if effect.error is None:
        return None
    shift = log(effect.ratio)
    if effect.always_valid:
        return always_valid_interval(shift, effect.error, effect.n, level)
    assert effect.df is not None
    return t_interval(shift, effect.error, effect.df, level)


def _p(effect: Effect) -> float:
    return nan if effect.p is None else effect.p


def _known(p: float) -> float | None:
    return None if isnan(p) else p


def _count(p_values: Sequence[float]) -> int:
    return sum(not isnan(p) for p in p_values)
