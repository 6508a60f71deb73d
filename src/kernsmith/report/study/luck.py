# SPDX-License-Identifier: GPL-2.0-or-later
"""The change itself, and where the code happened to land: told apart, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kernsmith.stats.means import geometric_mean

INSTRUCTIONS = "kernel_instructions"
OVERALL = "overall"

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Luck:
    """What one binary of each variant would have said, beside what is true over layouts.

    change, default_change: of the metric over layouts, and from default layout to default layout,
        in per cent of the baseline.
    spread: by variant, the lowest and the highest layout in per cent of the mean of all of them.
    sentence: both in words.
    """

    variant: str
    metric: str
    change: float
    default_change: float | None
    spread: Mapping[str, tuple[float, float]]
    sentence: str


def add_luck(document: Document) -> dict[str, Any]:
    """The document with a key `luck`: one entry a variant and metric."""
    return {**document, "luck": [asdict(luck) for luck in find_luck(document)]}


def find_luck(document: Document) -> list[Luck]:
    """For each variant: the study's own metric, and its instructions."""
    primary = document["study"]["metric"]
    return [
        _luck(document, verdict)
        for metric in dict.fromkeys((primary, INSTRUCTIONS))
        for verdict in document["verdicts"]
        if verdict["workload"] == OVERALL and verdict["metric"] == metric and verdict["ci"]
    ]


def luck_lines(document: Document, variant: str) -> list[str]:
    """What stands below a variant's verdict: where its code landed, and its instructions."""
    lines = []
    primary = document["study"]["metric"]
    for luck in document["luck"]:
        if luck["variant"] == variant and luck["metric"] == primary:
            lines.append(f"where the code landed: {luck['sentence']}")
    for verdict in document["verdicts"]:
        mine = verdict["variant"] == variant and verdict["workload"] == OVERALL
        if mine and verdict["metric"] == INSTRUCTIONS != primary:
            lines.append(f"instructions, which layout hardly touches: {verdict['sentence']}")
    return lines


def mix_by_layout(document: Document, metric: str) -> dict[str, list[tuple[int, float]]]:
    """By variant, (block, geometric mean over workloads) of each random layout."""
    names = {w["name"] for w in document["workloads"]}
    cells: dict[tuple[str, int], dict[str, float]] = {}
    for run in document["runs"]:
        if run["layout"] != "default" and metric in run["metrics"]:
            cell = cells.setdefault((run["variant"], run["block"]), {})
            cell[run["workload"]] = run["metrics"][metric]
    values: dict[str, list[tuple[int, float]]] = {}
    for (variant, block), cell in sorted(cells.items()):
        if set(cell) == names and min(cell.values()) > 0:
            values.setdefault(variant, []).append((block, geometric_mean(list(cell.values()))))
    return values


def _luck(document: Document, verdict: Mapping[str, Any]) -> Luck:
    spread = {}
    for variant, values in mix_by_layout(document, verdict["metric"]).items():
        mean = geometric_mean([value for _, value in values])
        ends = min(value for _, value in values), max(value for _, value in values)
        spread[variant] = (100 * (ends[0] / mean - 1), 100 * (ends[1] / mean - 1))
    default = verdict["default_ratio"]
    return Luck(
        variant=verdict["variant"],
        metric=verdict["metric"],
        change=100 * (verdict["ratio"] - 1),
        default_change=None if default is None else 100 * (default - 1),
        spread=spread,
        sentence=_sentence(verdict, spread),
    )


def _sentence(verdict: Mapping[str, Any], spread: Mapping[str, tuple[float, float]]) -> str:
    widest = max((high - low for low, high in spread.values()), default=0.0)
    words = (
        "layout alone changes nothing"
        if widest == 0
        else f"layout alone moves one and the same kernel by up to {_size(widest)}"
    )
    if verdict["default_ratio"] is None:
        return words
    said = 100 * (verdict["default_ratio"] - 1)
    return f"{words}; one binary of each would have said {said:+.2f} %: {_opinion(verdict, said)}"


def _opinion(verdict: Mapping[str, Any], said: float) -> str:
    low, high = (100 * (bound - 1) for bound in verdict["ci"])
    change = 100 * (verdict["ratio"] - 1)
    if not verdict["significant"]:
        allowed = low <= said <= high
        return "layouts neither confirm nor deny it" if allowed else "layout, not the change"
    if low <= said <= high or abs(said - change) < 0.005:
        return "about right this time"
    if said * change <= 0:
        return "the wrong way round"
    times = said / change
    if times > 1:
        return f"{times:.1f} times the change, the rest is layout"
    return f"only {times:.0%} of the change, layout hides the rest"


def _size(per_cent: float) -> str:
    return f"{per_cent:.2f} %" if per_cent >= 0.01 else f"{per_cent:.2g} %"
