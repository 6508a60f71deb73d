# SPDX-License-Identifier: GPL-2.0-or-later
"""An analysis in sentences: what came out, and what its assumptions mean for the reader."""

from __future__ import annotations

from math import isnan

from kernsmith.stats.analysis import Options, Sensitivity, StratumAnalysis
from kernsmith.stats.assumptions import (
    Check,
    Drift,
    EqualVariance,
    Independence,
    Normality,
    RunOrder,
)
from kernsmith.stats.pairwise import Comparison
from kernsmith.stats.power import sd_bounds

FEW = 5
"""Groups smaller than this get a sentence on what they cannot support."""
_FEW_RESIDUALS = 20
_MOST_PAIRS = 12
_MOST_DRIFTS = 5


def verdict_sentences(found: StratumAnalysis, options: Options) -> tuple[str, ...]:
    """The stratum's verdict; the first sentence is the answer."""
    if len(found.groups) == 1:
        return (f"There is one group only, {found.groups[0].name!r}: nothing to compare it with.",)
    if len(found.groups) == 2:
        sentences = [pair_sentence(found.comparisons[0], options)]
    else:
        baseline = found.groups[0].name
        pairs = [pair for pair in found.comparisons if pair.a == baseline]
        sentences = [_overall(found, options.alpha)]
        sentences += [pair_sentence(pair, options) for pair in pairs][:_MOST_PAIRS]
    sentences += _interactions(found, options.alpha)
    smallest = min(group.n for group in found.groups)
    if smallest <= FEW and not isnan(found.p):
        sentences.append(_few(smallest, found.sensitivity))
    return tuple(sentences)


def check_sentence(check: Check, found: StratumAnalysis) -> str:
    """What an assumption's standing means. found: whose assumption it is."""
    match check:
        case Normality():
            return _normality(check)
        case EqualVariance():
            return _equal_variance(check, found)
        case Independence():
            return _independence(check)
        case Drift():
            return _drift(check)
        case RunOrder():
            return _run_order(check)
    return (
        "without raw data neither normality, nor independence, nor outliers, nor the order of "
        "the runs can be checked: the figures below take them on trust"
    )


def method_reason(found: StratumAnalysis) -> str:
    """Why the comparisons have the intervals that they have."""
    variance = next(check for check in found.checks if isinstance(check, EqualVariance))
    return check_sentence(variance, found)


def _overall(found: StratumAnalysis, alpha: float) -> str:
    if found.method == "Games-Howell" and isnan(found.welch.p):
        return _without_welch(found, alpha)
    if isnan(found.p):
        return "Whether the groups differ cannot be tested: there is no spread within them to see."
    fisher = found.anova
    assert fisher is not None
    if found.method == "Games-Howell":
        shown, df = found.welch.statistic, f"{found.welch.df[0]:g}, {found.welch.df[1]:.1f}"
        name = "Welch's F"
    else:
        shown, df, name = fisher.f, f"{fisher.df_between}, {fisher.df_within}", "F"
    return (
        f"The groups {_differ(found.p, alpha)}: {name}({df}) = {shown:.6g}, p = {found.p:.3g}, "
        f"ω² = {max(0.0, fisher.omega_squared):.3f}."
    )


def _without_welch(found: StratumAnalysis, alpha: float) -> str:
    """Groups that scatter differently, one of them not at all."""
    why = "Welch's test needs a spread in every group"
    if isnan(found.p):
        return f"Whether the groups differ as a whole cannot be tested: {why}."
    ranks = found.kruskal_wallis
    return (
        f"The groups {_differ(found.p, alpha)}: Kruskal-Wallis H({ranks.df[0]:g}) = "
        f"{ranks.statistic:.6g}, p = {found.p:.3g}; {why}."
    )


def _differ(p: float, alpha: float) -> str:
    return "differ" if p < alpha else "do not differ significantly"


def pair_sentence(pair: Comparison, options: Options) -> str:
    """In per cent of the baseline's mean; in the unit of the values where that is 0."""
    relative = not isnan(pair.percent)
    unit = " %" if relative else ""
    size = pair.percent if relative else pair.difference
    if isnan(pair.p):
        return f"{pair.b}: {size:+.3g}{unit} against {pair.a}; without a spread no test."
    low = pair.percent_low if relative else pair.low
    high = pair.percent_high if relative else pair.high
    interval = f"{100 * (1 - options.alpha):g} % CI {low:+.3g} … {high:+.3g}{unit}"
    if pair.p < options.alpha:
        word = "lower" if pair.difference < 0 else "higher"
        return (
            f"{pair.b} is {abs(size):.3g}{unit} {word} than {pair.a} ({interval}), "
            f"p = {pair.p:.3g}."
        )
    return (
        f"No significant difference between {pair.b} and {pair.a} ({interval}), p = {pair.p:.3g}."
    )


def _interactions(found: StratumAnalysis, alpha: float) -> list[str]:
    return [
        f"{row.term} interact: F = {row.f:.4g}, p = {row.p:.3g}; the effect of one depends on the "
        "level of the other, so neither has an effect by itself that could be quoted."
        for row in found.factorial
        if " × " in row.term and row.p < alpha
    ]


def _few(n: int, sensitivity: Sensitivity | None) -> str:
    if n == 1:
        return "A group of one has no spread: it leans on the spread of the others."
    low, high = sd_bounds(n)
    text = (
        f"n = {n} supports little: each group's standard deviation may truly be between "
        f"{low:.2f} and {high:.2f} times the one shown (95 %), and normality, independence and "
        "outliers cannot be judged"
    )
    if sensitivity is not None and sensitivity.detectable_80 > 0:
        text += f"; differences below {sensitivity.detectable_80:.2g} % would mostly be missed"
    return text + "."


def _normality(check: Normality) -> str:
    if check.standing == "unknown":
        return "too few values, or no spread in them: normality cannot be tested"
    if check.standing == "violated":
        return (
            "the residuals are not normal; means of many values bear that, small groups do not: "
            "look at Kruskal-Wallis and the box plot"
        )
    text = "nothing speaks against normal residuals"
    if check.values < _FEW_RESIDUALS:
        text += f", but {check.values} values could hardly show it"
    return text


def _equal_variance(check: EqualVariance, found: StratumAnalysis) -> str:
    if check.standing == "unknown":
        return "too few values, or no spread in them: equal variance cannot be tested"
    if check.standing == "holds":
        return "nothing speaks against equal variances: Fisher's test and Tukey-Kramer are used"
    text = f"the groups scatter differently{_used_with_unequal(found)}"
    if check.p_of_equal_logs is not None:
        text += (
            "; on logarithms they are equal "
            f"(p = {check.p_of_equal_logs:.2g}): the spread grows with the mean, so compare the "
            "ratios"
        )
    return text


def _used_with_unequal(found: StratumAnalysis) -> str:
    if found.method != "Games-Howell":
        lone = "a group of one has no variance of its own"
        return f", but {lone}: Fisher's test and Tukey-Kramer are used"
    if isnan(found.welch.p):
        return ", and Welch's test needs a spread in every group: ranks and Games-Howell are used"
    return ": Welch's test and Games-Howell are used"


def _independence(check: Independence) -> str:
    if check.standing == "unknown":
        return "too few neighbours in run order: independence cannot be tested"
    if check.standing == "holds":
        return "neighbouring runs do not resemble each other more than others"
    if check.alike:
        return (
            "neighbouring runs resemble each other: they are worth fewer runs than their number, "
            "and the intervals below are too narrow"
        )
    return "neighbouring runs alternate more than chance does: the intervals are too wide"


def _drift(check: Drift) -> str:
    if check.standing == "unknown":
        return "too few runs a group to see a drift"
    drifting = [
        f"{group} moves by {change:+.3g} from its first run to its last"
        for group, change in check.drifting[:_MOST_DRIFTS]
    ]
    if not drifting:
        return "no group drifts over its runs"
    return "; ".join(drifting) + ": the machine changed while it was measured"


def _run_order(check: RunOrder) -> str:
    if check.standing == "unknown":
        return "there is no order to judge"
    known = "" if check.order_known else " (the rows' order is taken for the runs' order)"
    changes = f"{check.figure:.0f}"
    if check.one_after_another:
        return (
            "each group was measured in one go, one group after another: group and time are "
            "confounded, and whatever changed between the blocks (temperature, boot, layout, "
            f"daemons) counts as an effect of the group{known}; interleave the runs"
        )
    if check.standing == "violated":
        return (
            f"the runs were measured in long blocks, {changes} changes of group where a random "
            f"order has about {check.expected:.0f}: group and time are partly confounded{known}"
        )
    return (
        f"the groups are interleaved, {changes} changes (a random order: {check.expected:.0f})"
        f"{known}"
    )
