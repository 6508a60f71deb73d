# SPDX-License-Identifier: GPL-2.0-or-later
"""pyperf's JSON, read by pyperf itself.

A run of pyperf is a process, and its values share all that the process drew: hash seed, addresses,
the processor that it came to. So a process is one value, the mean of its own (Kalibera & Jones
2013, "Rigorous benchmarking in reasonable time"): what varies within says nothing of others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernsmith.harness.protocol import (
    SECONDS,
    Content,
    Format,
    Malformed,
    Measure,
    Row,
    Table,
    number,
)

if TYPE_CHECKING:
    from pyperf import Benchmark

_UNITS = {"second": SECONDS, "byte": "bytes", "integer": "count"}
_METADATA = ("hostname", "platform", "cpu_model_name", "python_version")


def read(content: Content) -> Table | None:
    """One group a file; a row a process, or a value where there is one process only."""
    document = content.json
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        return None
    if "version" not in document:
        return None
    from pyperf import BenchmarkSuite

    try:
        benchmarks = BenchmarkSuite.loads(json.dumps(document)).get_benchmarks()
        found = [(benchmark, _processes(benchmark)) for benchmark in benchmarks]
    # What pyperf raises on a file that is not its own is whatever its shape leads it to.
    except Exception as error:
        raise Malformed(f"pyperf cannot read it ({type(error).__name__}: {error})") from None
    alone = all(len(processes) == 1 for _, processes in found)
    rows = tuple(
        row for benchmark, processes in found for row in _rows(benchmark, processes, alone)
    )
    return Table(rows, headline=rows[0].measure.name if rows else None, notes=(_note(alone),))


def _processes(benchmark: Benchmark) -> list[tuple[float, ...]]:
    """The values of each process that measured."""
    return [tuple(run.values) for run in benchmark.get_runs() if run.values]


def _rows(benchmark: Benchmark, processes: list[tuple[float, ...]], alone: bool) -> Iterator[Row]:
    name, unit = str(benchmark.get_name()), str(benchmark.get_unit())
    measure = Measure(_UNITS.get(unit, unit))
    metadata = benchmark.get_metadata()
    labels = {key: str(metadata[key]) for key in _METADATA if key in metadata}
    for number_of, values in enumerate(processes):
        checked = [number(value, name) for value in values]
        mean = sum(checked) / len(checked)
        for value in checked if alone else [mean]:
            yield Row(name, measure, value, {**labels, "process": str(number_of)})


def _note(alone: bool) -> str:
    if alone:
        return "all values are of one process: what another process would give is not known"
    return "a value is the mean of one process: its values share what the process drew"


FORMAT = Format("pyperf", "JSON", read)
