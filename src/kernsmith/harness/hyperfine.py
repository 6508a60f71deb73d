# SPDX-License-Identifier: GPL-2.0-or-later
"""hyperfine's `--export-json` (its src/export/json.rs and src/benchmark/benchmark_result.rs)."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from kernsmith.harness.protocol import (
    SECONDS,
    Content,
    Format,
    Malformed,
    Measure,
    Row,
    Table,
    number,
    validated,
)

_SECONDS, _MEMORY = Measure(SECONDS), Measure("memory_usage_byte")


class _Result(BaseModel):
    """One command. `times` in seconds, in the order of the runs; exit code null: by a signal."""

    command: str
    times: list[float] | None = None
    memory_usage_byte: list[int] | None = None
    exit_codes: list[int | None] | None = None
    parameters: dict[str, str] | None = None


class _Export(BaseModel):
    results: list[_Result]


def read(content: Content) -> Table | None:
    """One group a command; parameters of scans are labels."""
    document = content.json
    if not isinstance(document, dict) or not _looks_like(document.get("results")):
        return None
    results = validated(_Export, document).results
    rows = tuple(row for result in results for row in _rows(result))
    failed = sum(code != 0 for result in results for code in result.exit_codes or ())
    notes = (
        [f"runs that ended with an error, which count like all others: {failed}"] if failed else []
    )
    return Table(rows, groups=("command",), headline=SECONDS, ordered=True, notes=tuple(notes))


def _looks_like(results: object) -> bool:
    return isinstance(results, list) and any(
        isinstance(result, dict) and "command" in result for result in results
    )


def _rows(result: _Result) -> Iterator[Row]:
    if not result.times:
        raise Malformed(f"{result.command!r} has no times of its runs")
    labels = {"command": result.command, **(result.parameters or {})}
    for value in result.times:
        yield Row("", _SECONDS, number(value, result.command), labels)
    for size in result.memory_usage_byte or ():
        yield Row("", _MEMORY, number(size, result.command), labels)


FORMAT = Format("hyperfine", "JSON of --export-json", read)
