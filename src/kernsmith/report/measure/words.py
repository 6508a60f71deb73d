# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparisons of commands and of kernels in sentences, and what speaks against them."""

from __future__ import annotations

from collections.abc import Iterator

from kernsmith.engine.comparable_runs import LeftOut
from kernsmith.engine.measure import Comparison, Measured
from kernsmith.stats.nested import Drift, Outlier

_MOST = 5


def comparison_sentence(each: Comparison) -> str:
    """Whether a command, or a kernel, takes less time than another, and how sure that is."""
    effect, robust = each.found.effect, each.found.robust
    who = f"{each.command}: " if each.command else ""
    change = 100.0 * (effect.ratio - 1.0)
    if effect.p is None or effect.ci is None:
        size = f"{change:+.3g} % against {each.baseline}"
        return f"{who}{each.treated} takes {size}; one run has no spread"
    low, high = (100.0 * (bound - 1.0) for bound in effect.ci)
    sure = f"{100 * (1 - effect.alpha):g} % CI {low:+.3g} … {high:+.3g} %"
    if robust is not None:
        sure += f"; robust {100.0 * (robust.ratio - 1.0):+.3g} %"
    tail = f"p = {effect.p:.2g}"
    if each.p_corrected is not None and f"{each.p_corrected:.2g}" != f"{effect.p:.2g}":
        tail += f" ({each.p_corrected:.2g} corrected)"
    if not each.significant:
        return (
            f"{who}no significant difference of {each.treated} to {each.baseline} ({sure}), {tail}"
        )
    word = "less" if change < 0 else "more"
    size = f"{abs(change):.3g} % {word} time than {each.baseline}"
    return f"{who}{each.treated} takes {size} ({sure}), {tail}"


def scope_sentence(each: Comparison) -> str:
    """What the figures do not speak of; empty where layouts were repeated."""
    fixed = each.found.units.fixed
    if each.of == "command":
        return (
            "the interval is of runs in this boot of this kernel: in another boot, with other "
            "pages, the ratio may be another"
            if "boot" in fixed
            else ""
        )
    if "boot" in fixed:
        return (
            f"{each.baseline} or {each.treated} was measured in one boot only: boots differ, too; "
            "boot each a few times, and measure the same in each"
        )
    if "layout" in fixed:
        return (
            "each kernel is one layout of its code: where functions happen to lie is in the ratio"
        )
    return ""


def cautions(measured: Measured) -> list[str]:
    """What speaks against the figures; of what concerns several comparisons once."""
    found = [each.warning for each in measured.conditions if each.warning]
    if not measured.kernel.running.build_id:
        found.append("the kernel tells no build id: it is known by its version only")
    for name, number in measured.failed.items():
        if number:
            found.append(f"{number} of {len(measured.runs[name])} runs of {name} failed, and count")
    found += [sentence for each in measured.left_out for sentence in _left_out(each)]
    for each in measured.comparisons:
        found.append(scope_sentence(each))
        if each.found.robust_differs:
            found.append(
                f"the robust estimate for {each.treated} lies outside the interval: some units "
                "are far from the others"
            )
        found += [_drift(drift, each) for drift in each.found.drifts]
        found += [_outlier(outlier, each) for outlier in each.found.outliers[:_MOST]]
        if (more := len(each.found.outliers) - _MOST) > 0:
            found.append(f"{more} more outliers in {each.baseline} and {each.treated}")
    return list(dict.fromkeys(sentence for sentence in found if sentence))


def _left_out(each: LeftOut) -> Iterator[str]:
    of = f"of {each.command} on {each.kernel}"
    without = "kernels are compared without them"
    if each.failed:
        yield f"{each.failed} runs {of} failed: {without}"
    if each.elsewhere:
        yield f"{each.elsewhere} runs {of} were in another folder: {without}"
    if each.unknown:
        yield f"in which folder {each.unknown} runs {of} were, the ledger does not say"


def _drift(drift: Drift, each: Comparison) -> str:
    where = "over the runs of a boot" if drift.within == "boots" else "over the study"
    return (
        f"{_name(drift.variant, each)} moves by {drift.percent:+.3g} % {where}: p = {drift.p:.2g}"
    )


def _outlier(outlier: Outlier, each: Comparison) -> str:
    which = f" {outlier.key[-1]}" if outlier.level == "run" else ""
    return (
        f"{outlier.level}{which} of {_name(outlier.variant, each)} is {outlier.percent:+.3g} % off "
        "its like; it counts"
    )


def _name(variant: str, each: Comparison) -> str:
    """Commands are named by themselves, kernels by their keys."""
    return variant if each.of == "command" else f"{each.command} on {variant[:12]}"
