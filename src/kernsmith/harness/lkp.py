# SPDX-License-Identifier: GPL-2.0-or-later
"""lkp-tests' `matrix.json`: a list of values a statistic (its lib/matrix.rb).

A matrix that unites the runs of a job has one column a run, and `stats_source` says which; the one
in the folder of a single run has the samples of its monitors.
"""

from __future__ import annotations

from typing import Any

from kernsmith.harness.protocol import Content, Format, Malformed, Measure, Row, Table, number

_SOURCES = "stats_source"


def read(content: Content) -> Table | None:
    """One group a file; every statistic is a metric."""
    document = content.json
    if not isinstance(document, dict) or not _looks_like(document):
        return None
    sources = document.get(_SOURCES)
    runs = len(sources) if sources else 0
    rows = []
    for name, values in document.items():
        if name == _SOURCES:
            continue
        for place, value in enumerate(values):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Malformed(f"{name}[{place}] is not a number")
            rows.append(Row("", Measure(name, None), number(value, f"{name}[{place}]")))
    return Table(tuple(rows), ordered=True, notes=tuple(_notes(document, runs)))


def _looks_like(document: dict[str, Any]) -> bool:
    if not document or not all(isinstance(values, list) for values in document.values()):
        return False
    return _SOURCES in document or all("." in name for name in document)


def _notes(document: dict[str, Any], runs: int) -> list[str]:
    if not runs:
        return [
            f"the matrix has no {_SOURCES}: it is of one run, and its values are samples of "
            "that run's monitors, not runs"
        ]
    short = sum(len(values) - values.count(None) < runs for values in document.values())
    if not short:
        return []
    return [f"statistics that some of the {runs} runs lack: {short}"]


FORMAT = Format("lkp", "matrix.json", read)
