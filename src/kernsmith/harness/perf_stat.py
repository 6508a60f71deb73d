# SPDX-License-Identifier: GPL-2.0-or-later
"""`perf stat -x,` (tools/perf/Documentation/perf-stat.txt, "CSV FORMAT").

A line an event: value, unit, event, with -r the spread in per cent, how long it was counted, share
of the time in per cent, then a derived metric and its unit. With -I the time stands before it. An
event that occurs again is of another run: `-o FILE --append`, or several intervals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernsmith.harness.protocol import Content, Format, Malformed, Measure, Row, Table, number

_SEPARATORS = ";\t|,"
_VALUE = re.compile(r"^\d+([.,]\d+)?$")
_MISSING = ("<not counted>", "<not supported>")
_TIME = re.compile(r"^\s*\d+\.\d+$")
_WHERE = re.compile(r"^(CPU\d+|S\d+(-D\d+)?(-C\d+)?|N\d+|\S+-\d+)$")
_HEADLINES = ("duration_time", "task-clock", "cpu-clock", "cycles", "instructions")


@dataclass(frozen=True)
class _Line:
    place: int
    value: str
    unit: str
    event: str
    repeated: bool
    interval: bool


def read(content: Content) -> Table | None:
    """One group a file; every event is a metric."""
    lines = [
        (place, line)
        for place, line in enumerate(content.text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if any("Performance counter stats for" in line for _, line in lines):
        raise Malformed("this is perf stat's text for people; measure with perf stat -x,")
    # The comma last: some languages write it into numbers.
    separator = next((mark for mark in _SEPARATORS if lines and _line(*lines[0], mark)), None)
    if separator is None:
        return None
    found = [_line(place, line, separator) for place, line in lines]
    known = [line for line in found if line is not None]
    if not known or len(known) < len(found):
        return None
    counted = [line for line in known if line.value and line.value not in _MISSING]
    rows = tuple(_row(line) for line in counted)
    return Table(rows, headline=_headline(rows), ordered=True, notes=tuple(_notes(known, counted)))


def _line(place: int, text: str, separator: str) -> _Line | None:
    """An event's line; None where it is no such line."""
    words = text.split(separator)
    interval = bool(_TIME.match(words[0])) and len(words) > 3 and _is_value(words[1])
    if interval:
        words = words[1:]
    if len(words) > 4 and _WHERE.match(words[0]) and any(_is_value(word) for word in words[1:3]):
        raise Malformed(
            f"line {place}: figures of single processors or cores; measure without -A and --per-…"
        )
    if len(words) < 4 or not (_is_value(words[0]) or (not words[0] and "" in words[1:3])):
        return None
    event, rest = words[2].strip(), words[3:]
    # A raw event may hold the separator: cpu/event=0x3c,umask=0x0/
    while event.count("/") == 1 and rest:
        event, rest = f"{event}{separator}{rest[0]}", rest[1:]
    if words[0] and not event:
        return None
    if words[0] and rest and not _is_figure(rest[0]):
        if len(rest) > 2 and _is_figure(rest[1]) and _is_figure(rest[2]):
            raise Malformed(f"line {place}: figures of a cgroup; measure without -G")
        return None
    repeated = bool(rest) and rest[0].strip().endswith("%")
    return _Line(place, words[0].strip(), words[1].strip(), event, repeated, interval)


def _row(line: _Line) -> Row:
    value = number(line.value.replace(",", "."), f"line {line.place}")
    return Row("", Measure(line.event, unit=line.unit), value, {}, line.place)


def _is_value(word: str) -> bool:
    return bool(_VALUE.match(word.strip())) or word.strip() in _MISSING


def _is_figure(word: str) -> bool:
    """How long was counted, or the spread in per cent."""
    return bool(_VALUE.match(word.strip().removesuffix("%")))


def _headline(rows: tuple[Row, ...]) -> str | None:
    events = list(dict.fromkeys(row.measure.name for row in rows))
    if len(events) == 1:
        return events[0]
    for name in _HEADLINES:
        for event in events:
            if event.split(":")[0] == name:
                return event
    return None


def _notes(known: list[_Line], counted: list[_Line]) -> list[str]:
    notes = []
    lost = sorted({line.event for line in known if line.value in _MISSING})
    if lost:
        notes.append(f"not counted on that machine and left out: {', '.join(lost)}")
    if any(line.repeated for line in counted):
        notes.append(
            "the values are means of repeated runs (-r), whose number the file does not tell; "
            "with perf stat once a run and --append, every run counts"
        )
    if any(line.interval for line in counted):
        notes.append("the values are of intervals of time (-I), not of runs")
    return notes


FORMAT = Format("perf stat", "what -x, writes", read)
