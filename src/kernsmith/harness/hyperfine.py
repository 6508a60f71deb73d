# SPDX-License-Identifier: GPL-2.0-or-later
"""hyperfine's `--export-json` (its src/export/json.rs and src/benchmark/benchmark_result.rs)."""

from __future__ import annotations

from collections import Counter
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

COMMAND = "command"
_SECONDS, _MEMORY = Measure(SECONDS), Measure("memory_usage_byte")


class _Result(BaseModel):
    """One command. `times` in seconds, in the order of the runs; exit code null: by a signal."""

    command: str
    times: list[float] | None = None
    memory_usage_byte: list[int] | None = None
    exit_codes: list[int | None] | None = None
    parameters: dict[str, str | int | float] | None = None


class _Export(BaseModel):
    results: list[_Result]


def read(content: Content) -> Table | None:
    """One group a command; parameters of scans are labels, which keep runs of a command apart."""
    document = content.json
    if not isinstance(document, dict) or not _looks_like(document.get("results")):
        return None
    results = validated(_Export, document).results
    names, notes = _names(results)
    scanned = dict.fromkeys(key for result in results for key in result.parameters or ())
    rows = tuple(
        row for name, result in zip(names, results, strict=True) for row in _rows(name, result)
    )
    failed = sum(code != 0 for result in results for code in result.exit_codes or ())
    if failed:
        notes.append(f"runs that ended with an error, which count like all others: {failed}")
    return Table(
        rows, groups=(COMMAND,), settings=tuple(map(_label, scanned)), headline=SECONDS,
        ordered=True, notes=tuple(notes),
    )  # fmt: skip


def _looks_like(results: object) -> bool:
    return isinstance(results, list) and any(
        isinstance(result, dict) and "command" in result for result in results
    )


def _names(results: list[_Result]) -> tuple[list[str], list[str]]:
    """Of the commands, each measurement its own, and notes on those that needed one."""
    seen = Counter[tuple[str, ...]]()
    names = []
    for result in results:
        what = (result.command, *(f"{key}={v}" for key, v in (result.parameters or {}).items()))
        seen[what] += 1
        names.append(result.command + (f" ({seen[what]})" if seen[what] > 1 else ""))
    again = dict.fromkeys(what[0] for what, times in seen.items() if times > 1)
    return names, [
        f"{command!r} was measured several times: the later ones have a number" for command in again
    ]


def _label(parameter: str) -> str:
    return f"{COMMAND} (parameter)" if parameter == COMMAND else parameter


def _rows(command: str, result: _Result) -> Iterator[Row]:
    if not result.times:
        raise Malformed(f"{result.command!r} has no times of its runs")
    scanned = {_label(key): str(value) for key, value in (result.parameters or {}).items()}
    labels = {COMMAND: command, **scanned}
    for value in result.times:
        yield Row("", _SECONDS, number(value, result.command), labels)
    for size in result.memory_usage_byte or ():
        yield Row("", _MEMORY, number(size, result.command), labels)


FORMAT = Format("hyperfine", "JSON of --export-json", read)
