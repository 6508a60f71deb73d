# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of one source file: each line with its count, its share of the run, and its heat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from kernsmith.profile.coverage import Coverage, FunctionCount, LineCount, SourceFile, Stretch
from kernsmith.report.coverage.words import heat, page_path, share_text

_PART = 250
"""Lines that a browser lays out in one go."""


@dataclass(frozen=True)
class FunctionRow:
    """ran, lines: of code in this file. silent: stretches that never ran."""

    function: FunctionCount
    share: float
    ran: int
    lines: int
    silent: int


@dataclass(frozen=True)
class Widths:
    """Characters that the columns need."""

    number: int
    count: int
    text: int


@dataclass(frozen=True)
class FilePage:
    """What its template shows. up: the way to the index. parts: of the table, rows of each."""

    file: SourceFile
    up: str
    share: float
    functions: Sequence[FunctionRow]
    silent: Sequence[tuple[Stretch, str]]
    parts: Sequence[Sequence[Markup]]
    widths: Widths
    known: bool


def file_page(coverage: Coverage, number: int, text: Sequence[str] | None) -> FilePage:
    """Everything about a file. text: its lines; None when it was not found."""
    file = coverage.files[number]
    rows = _rows(coverage, number, text)
    silent = list(coverage.silent(file))
    return FilePage(
        file=file,
        up="../" * page_path(file.path).count("/"),
        share=coverage.share(file.executed),
        functions=_functions(coverage, number, silent),
        silent=[
            (each, coverage.functions[each.function].name)
            for each in sorted(silent, key=lambda each: (-each.lines, each.first))
        ],
        parts=[rows[at : at + _PART] for at in range(0, len(rows), _PART)],
        widths=Widths(
            number=len(str(max(len(text or ()), file.lines[-1].line))),
            count=len(f"{max(line.times for line in file.lines):,}"),
            text=max((len(line.expandtabs()) for line in text or ()), default=0),
        ),
        known=text is not None,
    )


def _functions(coverage: Coverage, number: int, silent: Sequence[Stretch]) -> list[FunctionRow]:
    lines: dict[int, list[LineCount]] = {}
    for line in coverage.files[number].lines:
        lines.setdefault(line.function, []).append(line)
    rows = []
    for each in coverage.functions_of.get(number, ()):
        own = lines.get(each, [])
        function = coverage.functions[each]
        rows.append(
            FunctionRow(
                function,
                coverage.share(function.executed),
                sum(line.times > 0 for line in own),
                len(own),
                sum(stretch.function == each for stretch in silent),
            )
        )
    return rows


def _rows(coverage: Coverage, number: int, text: Sequence[str] | None) -> list[Markup]:
    """Rows without end tags, which HTML can do without: a kernel has a million of them."""
    file = coverage.files[number]
    counted = {line.line: line for line in file.lines}
    begins = {coverage.functions[each].line for each in coverage.functions_of.get(number, ())}
    if text is None:
        shown = [(line.line, "") for line in file.lines]
    else:
        shown = list(enumerate(text, start=1))
    rows = []
    for at, content in shown:
        words = escape(content.rstrip("\r"), quote=False)
        line = counted.get(at)
        if line is None:
            anchor = f" id=L{at}" if at in begins else ""
            rows.append(Markup(f"<tr{anchor}><td>{at}<td><td><td>{words}\n"))
            continue
        share = coverage.share(line.executed)
        level = f"h{heat(share)}" if line.times else "no"
        figures = f"<td>{at}<td>{line.times:,}<td>{share_text(share)}"
        rows.append(Markup(f"<tr id=L{at} class={level}>{figures}<td>{words}\n"))
    return rows
