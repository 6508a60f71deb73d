# SPDX-License-Identifier: GPL-2.0-or-later
"""mmtests: the JSON of its runs, and the table that people paste into mails.

`extract-mmtests.pl --print-json` writes one object with `_ResultData`, by operation a list of
iterations with their `Values` (its bin/lib/MMTests/Extract.pm); `compare-mmtests.pl --json-export`
has one such object a kernel in `_ExtractModules`. The table of `compare-mmtests.pl` has a line an
operation and statistic,

    Amean     user-2      1234.56 (   0.00%)     1240.11 *  -0.45%*

and tells means only. `Amean` is of costs and `Hmean` of rates (its docs/regression-detection.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kernsmith.harness.protocol import (
    Content,
    Format,
    Malformed,
    Measure,
    Row,
    Table,
    number,
    validated,
)
from kernsmith.stats.benchmarks import Better

_VALUE = "value"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_CELL = rf"({_NUMBER})\s+[(*]\s*[-+]?(?:\d+(?:\.\d+)?|nan|inf)%[)*]"
_CELLS = re.compile(_CELL, re.IGNORECASE)
_LINE = re.compile(
    rf"^\s*([A-Za-z][\w%.-]*)\s+(\S.*?)\s+({_CELL}(?:\s+{_CELL})*)\s*$", re.IGNORECASE
)
_LONGEST = 1000
"""Of a line of the table."""
_MEANS: dict[str, Better] = {"Amean": "lower", "Hmean": "higher"}


class _Iteration(BaseModel):
    values: list[float | str] = Field(alias="Values")


class _Module(BaseModel):
    """What was extracted of one kernel's results."""

    model_config = ConfigDict(extra="ignore")

    test: str = Field("unnamed", alias="_TestName")
    module: str = Field("", alias="_ModuleName")
    preferred: str = Field("Lower", alias="_PreferredVal")
    results: dict[str, list[_Iteration | None]] = Field(alias="_ResultData")


def read(content: Content) -> Table | None:
    """One group a kernel, which mmtests calls a test name."""
    modules = _modules(content.json)
    if modules:
        rows = [row for document in modules for row in _module_rows(validated(_Module, document))]
        return _table(rows, ordered=True)
    return _read_table(content.text.splitlines()) if "%" in content.text else None


def _modules(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = document.get("_ExtractModules") or [document]
    if not isinstance(document, list):
        return []
    return [each for each in document if isinstance(each, dict) and "_ResultData" in each]


def _module_rows(module: _Module) -> Iterator[Row]:
    measure = Measure(_VALUE, "higher" if module.preferred == "Higher" else "lower")
    # Benchmarks without a module of their own have ExtractShellpack.pm (ExtractFactory.pm).
    benchmark = module.module.removeprefix("Extract").lower().removeprefix("shellpack")
    for operation, iterations in module.results.items():
        for iteration in iterations:
            for value in iteration.values if iteration else ():
                name = f"{benchmark} {operation}".strip()
                yield Row(name, measure, number(value, operation), {"test": module.test})


def _read_table(lines: list[str]) -> Table | None:
    """The lines of means below the line with the kernels' names."""
    matches = [
        (place, match)
        for place, line in enumerate(lines, 1)
        if "%" in line and len(line) <= _LONGEST
        if (match := _LINE.match(line))
    ]
    if not matches:
        return None
    names = _names(lines, matches[0][0])
    rows = []
    for place, match in matches:
        if match[1] not in _MEANS:
            continue
        values = [cell[1] for cell in _CELLS.finditer(match[3])]
        if len(values) != len(names):
            raise Malformed(
                f"line {place}: {len(values)} values, but {len(names)} kernels are named above"
            )
        measure = Measure(f"{_VALUE} ({match[1]})", _MEANS[match[1]])
        for name, text in zip(names, values, strict=True):
            value = number(text, f"line {place}")
            rows.append(Row(match[2].strip(), measure, value, {"test": name}, place))
    if not rows:
        raise Malformed("its table has no line Amean or Hmean")
    note = (
        "mmtests' table tells means, not runs: there are ratios and no tests; "
        "extract-mmtests.pl --print-json has the runs"
    )
    return _table(rows, ordered=False, notes=(note,))


def _names(lines: list[str], first: int) -> list[str]:
    """Of the kernels, which stand above the table.

    In two lines, cut at the first hyphen: `6.12` above `vanilla`. A name without one stands whole
    in the second, and without its last letter in the first.
    """
    above = [line.split() for line in lines[: first - 1] if line.strip()][-2:]
    if not above:
        raise Malformed("above its table no kernels are named")
    tails = above[-1]
    heads = above[0] if len(above) == 2 and len(above[0]) == len(tails) else tails
    return [
        tail if tail.startswith(head) else f"{head}-{tail}"
        for head, tail in zip(heads, tails, strict=True)
    ]


def _table(rows: list[Row], *, ordered: bool, notes: tuple[str, ...] = ()) -> Table:
    return Table(
        tuple(rows), ("test",), headline=rows[0].measure.name if rows else None,
        spanning=True, ordered=ordered, notes=notes,
    )  # fmt: skip


FORMAT = Format("mmtests", "extract-mmtests.pl --print-json, and compare-mmtests.pl's table", read)
