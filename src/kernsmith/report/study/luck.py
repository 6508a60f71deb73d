# SPDX-License-Identifier: GPL-2.0-or-later
"""The change itself, and where the code happened to land: in words."""

from __future__ import annotations

from collections.abc import Mapping

from kernsmith.document import StudyDocument, VerdictView
from kernsmith.document.study import INSTRUCTIONS, OVERALL, sample_of


def luck_lines(document: StudyDocument, variant: str) -> list[str]:
    """What stands below a variant's verdict: where its code landed, and its instructions."""
    primary = document.study.metric
    several = document.boots > 1
    lines = [
        f"{'luck' if several else 'where the code landed'}: {luck.sentence}"
        for luck in document.luck
        if (luck.variant, luck.metric) == (variant, primary)
    ]
    lines += [
        f"where its text ends: {end.sentence}"
        for end in document.text_ends
        if end.variant == variant
    ]
    if primary != INSTRUCTIONS:
        untouched = "" if several else ", which layout hardly touches"
        lines += [
            f"instructions{untouched}: {verdict.sentence}"
            for verdict in document.verdicts_of(variant, INSTRUCTIONS)
            if verdict.workload == OVERALL
        ]
    return lines


def luck_sentence(
    verdict: VerdictView, spread: Mapping[str, tuple[float, float]], boots: int = 1
) -> str:
    """How far layout moves one kernel, and how wrong one binary of each would have been.

    spread: by variant, see `LuckView`. The verdict must have an interval. boots: that layouts are
    dealt out to; the luck of several is in their spread.
    """
    cause, moves = (
        ("luck", "layout and boot move") if boots > 1 else ("layout", "layout alone moves")
    )
    widest = max((high - low for low, high in spread.values()), default=0.0)
    words = (
        f"{cause} alone changes nothing"
        if widest == 0
        else f"{moves} one and the same kernel by up to {_size(widest)}"
    )
    if verdict.default_ratio is None:
        return words
    said = 100 * (verdict.default_ratio - 1)
    opinion = _opinion(verdict, said, cause, sample_of(boots))
    return f"{words}; one binary of each would have said {said:+.2f} %: {opinion}"


def _opinion(verdict: VerdictView, said: float, cause: str, sample: str) -> str:
    inside = _inside(verdict, said)
    change = 100 * (verdict.ratio - 1)
    if not verdict.significant:
        return f"{sample} neither confirm nor deny it" if inside else f"{cause}, not the change"
    if inside or abs(said - change) < 0.005:
        return "about right this time"
    if said * change <= 0:
        return "the wrong way round"
    times = said / change
    if times > 1:
        return f"{times:.1f} times the change, the rest is {cause}"
    return f"only {times:.0%} of the change, {cause} hides the rest"


def _inside(verdict: VerdictView, said: float) -> bool:
    low, high = verdict.ci or (None, None)
    above = low is None or 100 * (low - 1) <= said
    return above and (high is None or said <= 100 * (high - 1))


def _size(per_cent: float) -> str:
    return f"{per_cent:.2f} %" if per_cent >= 0.01 else f"{per_cent:.2g} %"
