# SPDX-License-Identifier: GPL-2.0-or-later
"""What collides in the instruction cache: sentences, and folded tables of functions and sets."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document import AttributionView, CollisionsView
from kernsmith.report.page import Column, Details, Section, Table, Text, Value

USER_MODE = "user mode"


def collision_sections(one: AttributionView, baseline: str) -> list[Section]:
    """A folded part for a variant; nothing where it is not known."""
    found = one.collisions
    if found is None:
        return []
    title = (
        f"{one.variant}: what collides in L1i ({len(found.pairs)} pairs of functions, "
        f"{len(found.sets)} sets)"
    )
    words = collision_words(found, [baseline, one.variant])
    return [Details(title, [words, *collision_tables(found, ["baseline", "variant"])])]


def collision_words(found: CollisionsView, names: Sequence[str]) -> Text:
    """names: of the two that are compared, or of one that stands alone."""

    def told(side: int) -> str:
        misses = found.misses[side]
        over = sum(each.lines[side] > found.ways for each in found.sets)
        shares = f"{found.conflicts[side] / misses:.0%} conflicts" if misses else "no conflicts"
        return (
            f"{misses:,.0f} L1i misses a million instructions, {shares}, {over} of "
            f"{len(found.sets)} sets overcommitted"
        )

    figures = " ".join(f"{name}: {told(side)}." for side, name in enumerate(names))
    return Text(
        f"{figures} A conflict is a miss that a fully associative cache of the same size would not "
        "have had: placement is to blame for it. A set is overcommitted when nine of ten of its "
        f"fetches are for more than {found.ways} lines, in at least one workload. Functions are "
        "what a layout moves: symbols."
    )


def collision_tables(found: CollisionsView, names: Sequence[str]) -> list[Table]:
    """Pairs of functions, and sets. names: as in `collision_words`."""
    return [_pairs(found, names), _sets(found, names)]


def _columns(names: Sequence[str], **titles: str) -> list[Column]:
    return [
        Column(f"{title}, {name}", number) for title, number in titles.items() for name in names
    ]


def _pairs(found: CollisionsView, names: Sequence[str]) -> Table:
    columns = [Column("fetches of"), Column("evicted lines of")]
    columns += _columns(names, misses=",.1f", conflicts=",.1f")
    sides = len(names)
    rows: list[list[Value]] = [
        [
            each.evictor or USER_MODE,
            each.evicted or USER_MODE,
            *each.misses[:sides],
            *each.conflicts[:sides],
        ]
        for each in found.pairs
    ]
    return Table(columns, rows, "Who evicts whom: L1i misses for each million instructions")


def _sets(found: CollisionsView, names: Sequence[str]) -> Table:
    columns = [Column("set", "d")]
    columns += _columns(names, lines="d", fetches=",.0f", misses=",.1f", conflicts=",.1f")
    columns.append(Column(f"who misses there, {names[-1]}"))
    ordered = sorted(found.sets, key=lambda each: (-max(each.misses), each.number))
    sides = len(names)
    rows: list[list[Value]] = [
        [
            each.number,
            *each.lines[:sides],
            *each.fetches[:sides],
            *each.misses[:sides],
            *each.conflicts[:sides],
            ", ".join(each.functions),
        ]
        for each in ordered
    ]
    caption = (
        f"Sets of L1i, {found.ways} ways of {found.line_bytes} bytes each; lines: the fewest that "
        "have nine of ten fetches"
    )
    return Table(columns, rows, caption)
