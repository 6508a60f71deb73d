# SPDX-License-Identifier: GPL-2.0-or-later
"""Go benchmark text, which is what benchstat reads (golang.org/design/14313-benchmark-format).

`key: value` lines hold for what follows; `Unit ns/op better=lower` says what is good; a result is

    BenchmarkName/key=value-8   1000000   1234 ns/op   16 B/op   1 allocs/op
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernsmith.harness.protocol import Content, Format, Malformed, Measure, Row, Table, number
from kernsmith.stats.benchmarks import Better

_GOMAXPROCS = "gomaxprocs"
# Benchmarks of two packages are different ones, whatever they are called.
_PACKAGE = "pkg"
_RESULT = re.compile(r"^Benchmark(?![a-z])(\S*)\s+(\d+)\s+(\S.*)$")
_CONFIG = re.compile(r"^([a-z][^\sA-Z:]*):(?:\s+(.*))?$")
_UNIT = re.compile(r"^Unit\s+(\S+)\s+(.*)$")
_PROCESSORS = re.compile(r"-(\d+)$")
_BENCHSTAT = re.compile(r"^name\s+old \S+|│\s+(?:sec|B|allocs)/op")
# What benchstat knows of itself (golang.org/x/perf/benchfmt/units.go).
_COSTS = ("ns/op", "sec/op", "B/op", "allocs/op")
_RATE = "/s"


def read(content: Content) -> Table | None:
    """One group a file; parts `key=value` of names and configuration lines are labels.

    A line whose key is also in names has the label `key (line)`.
    """
    if "Benchmark" not in content.text and "/op" not in content.text:
        return None
    lines = content.text.splitlines()
    if not any(_RESULT.match(line) for line in lines):
        if any(_BENCHSTAT.search(line) for line in lines):
            raise Malformed("this is benchstat's table; give the files that it was made of")
        return None
    better = _directions(lines)
    names = _names(lines)
    rows = tuple(_rows(lines, better, names))
    labels = dict.fromkeys(key for row in rows for key in row.labels)
    settings = tuple(key for key in labels if key not in names and key != _PACKAGE)
    if len({row.labels.get(_GOMAXPROCS) for row in rows}) == 1:
        names.discard(_GOMAXPROCS)
    identity = tuple(key for key in labels if key in names)
    return Table(
        rows, (), identity, (_PACKAGE,), settings, headline=rows[0].measure.name, ordered=True
    )


def _names(lines: list[str]) -> set[str]:
    """The labels that are parts of benchmarks' names."""
    found = {_GOMAXPROCS}
    for line in lines:
        if result := _RESULT.match(line):
            found |= set(_name(result[1])[1])
    return found


def _rows(lines: list[str], better: dict[str, Better], names: set[str]) -> Iterator[Row]:
    config: dict[str, str] = {}
    for place, line in enumerate(lines, 1):
        if result := _RESULT.match(line):
            name, labels = _name(result[1])
            for measure, value in _values(result[3].split(), better, place):
                yield Row(name, measure, value, {**config, **labels}, place)
        elif found := _CONFIG.match(line):
            key = f"{found[1]} (line)" if found[1] in names else found[1]
            config[key] = (found[2] or "").strip()


def _values(
    words: list[str], better: dict[str, Better], place: int
) -> Iterator[tuple[Measure, float]]:
    if len(words) % 2:
        raise Malformed(f"line {place}: a value without a unit")
    for text, unit in zip(words[::2], words[1::2], strict=True):
        yield Measure(unit, better.get(unit) or _usual(unit)), number(text, f"line {place}")


def _directions(lines: list[str]) -> dict[str, Better]:
    """What the file says of its units, wherever it says so."""
    found: dict[str, Better] = {}
    for line in lines:
        unit = _UNIT.match(line)
        for word in unit[2].split() if unit else ():
            if unit and word in ("better=higher", "better=lower"):
                found[unit[1]] = "higher" if word == "better=higher" else "lower"
    return found


def _usual(unit: str) -> Better | None:
    """Of a unit of which the file says nothing; None where nobody knows."""
    if unit.endswith(_RATE):
        return "higher"
    return "lower" if unit in _COSTS else None


def _name(text: str) -> tuple[str, dict[str, str]]:
    """A benchmark's name, and the labels that stand in it."""
    labels = {}
    if processors := _PROCESSORS.search(text):
        labels[_GOMAXPROCS] = processors[1]
        text = text[: processors.start()]
    parts = []
    for part in text.split("/"):
        key, equals, value = part.partition("=")
        if equals and key:
            labels[key] = value
        else:
            parts.append(part)
    return "/".join(parts), labels


FORMAT = Format("Go", "benchmark text, as `go test -bench` prints it and benchstat reads it", read)
