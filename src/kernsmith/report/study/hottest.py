# SPDX-License-Identifier: GPL-2.0-or-later
"""The hottest functions in a report, with links to pages of coverage where there are some."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from kernsmith.document import StudyDocument
from kernsmith.report.page import Code, Column, Details, Link, Section, Table, Text

COVERAGE = "coverage"
"""The folder of the pages of coverage, beside a report."""


def coverage_beside(report: Path) -> str:
    """The way from a report to the index of coverage beside it; empty when there is none."""
    index = report.parent / COVERAGE / "index.html"
    return f"{COVERAGE}/index.html" if index.is_file() else ""


def hottest_sections(document: StudyDocument, coverage: str) -> list[Section]:
    """A folded table. coverage: the way to the index; empty when there is none."""
    hottest = document.hottest
    if hottest is None:
        return []
    rows = [[_named(each.name, coverage), each.share, each.entered] for each in hottest.functions]
    covered = sum(each.share for each in hottest.functions)
    columns = [
        Column("function"),
        Column("share of the run", number=".2%"),
        Column("entered", number=",d"),
    ]
    sections: list[Section] = [
        Text(
            f"The hottest {len(rows)} of {hottest.ran:,} functions that ran are {covered:.0%} of "
            f"all executed code, in the kernel that was trained on ({', '.join(hottest.workloads)}"
            "). “Entered” is how often a branch led to a function's beginning."
        ),
        Table(columns, rows, caption="Hottest functions"),
    ]
    if coverage:
        sections.append(Text("A function's name leads to its source, with the count of each line."))
    else:
        sections.append(
            Code(
                "kernsmith profile coverage --study study.json",
                caption="Makes pages of each line's count, which the names here then lead to",
            )
        )
    return [Details(f"Hottest functions ({len(rows)} rows)", sections)]


def _named(symbol: str, coverage: str) -> str | Link:
    """The source has no suffixes that a compiler puts behind the name of a copy."""
    if not coverage:
        return symbol
    return Link(symbol, f"{coverage}#q={quote(symbol.partition('.')[0])}")
