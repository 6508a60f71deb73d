# SPDX-License-Identifier: GPL-2.0-or-later
"""What a processor took, and how a CPU model agrees with it, on a terminal."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernsmith.machine.held import Held
from kernsmith.stats.agreement import Agreement, Point, Signs
from kernsmith.stats.builds import BuildEffect
from kernsmith.stats.orders import OrderEffect


@dataclass(frozen=True)
class Subject:
    """What is measured, in words. group, build: what `stats.agreement` calls so. figure: the
    metric. baseline: the build that others are compared with. factor: whether the figure's unit is
    not the model's, so that one factor for all is fitted."""

    group: str = "program"
    build: str = "build"
    figure: str = "cycles"
    baseline: str = "O2"
    factor: bool = False


PROGRAMS = Subject()
_ENOUGH = 0.5
_TOO_NOISY = (
    "These times are too noisy to tell layouts apart: repeat with more --runs on a machine that "
    "does nothing else."
)


def print_agreement(
    agreement: Agreement, processor: str, cpu: str, console: Console, of: Subject = PROGRAMS
) -> None:
    """Tables of builds and of layouts, then the sentences that count.

    processor: what times are of. cpu: the model that is held against it.
    """
    console.print(_builds(agreement, of))
    console.print(_layouts(agreement, of))
    for sentence in agreement_sentences(agreement, processor, cpu, of):
        console.print(escape(sentence))


def points_table(points: Sequence[Point], of: Subject = PROGRAMS) -> str:
    """Every point, measured by all runs and by two halves, and modelled: CSV with a head."""
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    halves = ("first_half", "second_half")
    table.writerow((of.group, of.build, "layout", of.figure, *halves, "model_cycles"))
    for point in points:
        figures = (point.measured, point.first, point.second, point.modelled)
        names = (point.group, point.build, point.layout)
        table.writerow((*names, *(f"{figure:.9g}" for figure in figures)))
    return text.getvalue()


def print_times(
    effects: Sequence[BuildEffect], processor: str, console: Console, allowed: float | None = None
) -> None:
    """A table of builds against the baseline, by this processor alone; without builds, none.

    allowed: how well a perfect model would rank the layouts, see `stats.agreement`; where that is
        little, it is told.
    """
    if allowed is not None and allowed < _ENOUGH:
        console.print(_TOO_NOISY)
    if not effects:
        return
    table = Table("program", "build", title=f"cycles of builds against O2 on {escape(processor)}")
    for heading in ("layouts", "ratio", "95 % interval", "one binary of each", "noise, points"):
        table.add_column(heading, justify="right")
    for found in effects:
        effect = found.effect
        table.add_row(
            escape(found.group),
            escape(found.build),
            str(effect.n) if effect else "",
            f"{effect.ratio:.4f}" if effect else "",
            "{:.4f} … {:.4f}".format(*effect.ci) if effect and effect.ci else "",
            f"{found.default:.4f}" if found.default else "",
            f"{found.noise:.2f}",
        )
    console.print(table)


def print_orders(effects: Sequence[OrderEffect], processor: str, console: Console) -> None:
    """A table of orders against the default one; none where there are none."""
    if not effects:
        return
    title = f"cycles of orders against the default one on {escape(processor)}"
    table = Table("program", "build", "order", title=title)
    for heading in ("ratio", "lowest … highest", "noise, points", "model"):
        table.add_column(heading, justify="right")
    for found in effects:
        table.add_row(
            escape(found.group),
            escape(found.build),
            escape(found.order),
            f"{found.ratio:.4f}",
            "{:.4f} … {:.4f}".format(*found.bounds) if found.bounds else "",
            f"{found.noise:.2f}",
            f"{found.modelled:.4f}" if found.modelled else "",
        )
    console.print(table)


def agreement_sentences(
    agreement: Agreement, processor: str, cpu: str, of: Subject = PROGRAMS
) -> list[str]:
    """What the figures say, a sentence each."""
    factor = "one factor for all is" if of.factor else "no factor"
    told = [
        f"{cpu} against {processor}: {of.figure} within {100 * agreement.cycles:.1f} % on average "
        f"({of.group}s and {of.build}s; {factor} fitted)."
    ]
    if agreement.ratios:
        told.append(
            f"{of.build.capitalize()}s against the baseline: off by {agreement.mean_error:.1f} "
            f"percentage points on average, {agreement.worst_error:.1f} at worst; "
            f"{_signs(agreement.builds)}."
        )
    if agreement.ranks:
        told.append(
            f"Layouts of one {of.build}: rank correlation {agreement.correlation:.2f} on average, "
            f"where noise allows {agreement.allowed:.2f}; {_signs(agreement.layouts)}; the ratio "
            f"of two is off by {agreement.layout_error:.2f} percentage points on average, where "
            f"two are {agreement.layout_difference:.2f} apart."
        )
        if agreement.allowed < _ENOUGH:
            told.append(_TOO_NOISY)
    return told


def in_view_sentence(cpu: str, held: Held | None, programs: Sequence[str]) -> str:
    """That some of these programs were in view when the model was made; else empty.

    cpu: the model's name. held: what its file says of its truth.
    """
    known = [name for name in programs if held and held.of == "programs" and name in held.names]
    if held is None or not known:
        return ""
    return (
        f"{', '.join(known)} calibrated {cpu} or were in view when it was made, so these do not "
        "judge it: by figures that each had no part in, builds are off by "
        f"{held.ratio_points:.1f} percentage points on average, {held.worst_points:.1f} at worst."
    )


def _signs(signs: Signs) -> str:
    if not signs.pairs:
        return "no pair differs by more than noise"
    return (
        f"of {signs.pairs} pairs that differ by more than noise {signs.right} have the right sign"
    )


def _builds(agreement: Agreement, of: Subject) -> Table:
    title = f"{of.figure} of {of.build}s against {of.baseline}"
    table = Table(of.group, of.build, title=escape(title))
    for heading in ("this processor", "model", "off by, points", "noise, points"):
        table.add_column(heading, justify="right")
    for ratio in agreement.ratios:
        table.add_row(
            escape(ratio.group),
            escape(ratio.build),
            f"{ratio.measured:.4f}",
            f"{ratio.modelled:.4f}",
            f"{100 * (ratio.modelled - ratio.measured):+.2f}",
            f"{ratio.noise:.2f}",
        )
    return table


def _layouts(agreement: Agreement, of: Subject) -> Table:
    table = Table(of.group, of.build, title="layouts of the same objects")
    for heading in (
        "layouts", "spread", "model's spread", "rank correlation", "noise allows",
        "two differ by, points", "off by", "noise",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for rank in agreement.ranks:
        table.add_row(
            escape(rank.group),
            escape(rank.build),
            str(rank.layouts),
            f"{rank.spread:.2f} %",
            f"{rank.modelled_spread:.2f} %",
            f"{rank.correlation:.2f}",
            f"{rank.allowed:.2f}",
            f"{rank.difference:.2f}",
            f"{rank.error:.2f}",
            f"{rank.noise:.2f}",
        )
    return table
