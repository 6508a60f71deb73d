# SPDX-License-Identifier: GPL-2.0-or-later
"""What the model's cycles are worth: said beside every verdict on them."""

from __future__ import annotations

from kernsmith.document import HeldView, VerdictView
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.report.page import Column, Details, Section, Table, Text, Verdict

_SOURCE = (
    "A prototype measurement on one Emerald Rapids processor: SQLite and Lua as one user program, "
    "cycles of its time stamp counter, geometric means over random layouts; model_cycles of the "
    "same binaries with that processor's published geometry."
)

ROWS = (
    ("-Os against -O2", "1.023", "0.979 (wrong sign)"),
    ("-O3 against -O2", "1.004", "0.997"),
    ("-falign-functions=64 against -O2", "1.002", "0.978"),
    ("instrumented profile-guided optimisation against -O2", "0.834", "0.786"),
    ("16 random layouts of the same objects: spread", "3.2 %", "1.6 %"),
    ("the same: rank correlation with the processor", "1", "0.19"),
)


def caution(cpu: str, held: HeldView | None) -> str:
    """What a figure of this model is worth, in sentences. cpu: its name."""
    if held is None:
        return (
            f"model_cycles is a model, and {cpu or 'this one'} was never held against a processor. "
            "Of others that were, a sum of penalties had the sign of -Os wrong, made 0.786 of a "
            "gain that is 0.834, and ranked random layouts hardly better than chance (rank "
            "correlation 0.19); one in time, fitted to that processor, is nearer (docs/silicon.md)."
        )
    names = f" ({', '.join(held.names)})" if held.names else ""
    return (
        f"model_cycles is a model: held against {held.processor} in {held.measured}, on "
        f"{held.programs} {held.of}{names}, its ratios between builds were off by "
        f"{held.ratio_points:.1f} percentage points on average and {held.worst_points:.1f} at "
        f"worst; layouts of one build it ranked with a correlation of "
        f"{held.rank_correlation:.2f}, where noise allows {held.rank_allowed:.2f} "
        "(docs/silicon.md)."
    )


def model_words(verdict: VerdictView) -> str:
    """The second uncertainty of a verdict on the model, which no number of layouts makes less."""
    if verdict.metric != MODEL_CYCLES:
        return ""
    if verdict.model_points is None:
        return "of a model that was never held against a processor"
    return f"± {verdict.model_points:.1f} points of the model (docs/silicon.md)"


def caution_sections(cpu: str, held: HeldView | None) -> list[Section]:
    """The caution that stands beside a headline; of a model that nobody tested, the table of one
    that was.
    """
    said: list[Section] = [Verdict(caution(cpu, held), "warning")]
    if held is not None:
        return said
    columns = [Column("what"), Column("processor"), Column("model_cycles")]
    table = Table(columns, [list(row) for row in ROWS], "A sum of penalties against a processor")
    return [
        *said,
        Details("What a sum of penalties said and the processor did", [table, Text(_SOURCE)]),
    ]
