# SPDX-License-Identifier: GPL-2.0-or-later
"""Result files of the Phoronix Test Suite: composite.xml.

`Result` has a title, a description of its options, a `Scale` (the unit) and a `Proportion` (`LIB`
or `HIB`: lower or higher is better); each `Entry` of its `Data` names a system, and has the runs'
values in `RawString`, joined by colons (its pts-core/objects/pts_result_file*.php).
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from kernsmith.harness.protocol import Content, Format, Malformed, Measure, Row, Table, number
from kernsmith.stats.benchmarks import Better

_ROOT = "PhoronixTestSuite"
# What tells results of one title and description apart, by the names that they have as labels.
_VARIANTS = {"Identifier": "test", "AppVersion": "version", "Arguments": "arguments"}
_DIRECTIONS: dict[str, Better] = {"LIB": "lower", "HIB": "higher"}


def read(content: Content) -> Table | None:
    """One group a system; results of one scale and direction are one metric."""
    if f"<{_ROOT}" not in content.text:
        return None
    if "<!DOCTYPE" in content.text:
        raise Malformed("it declares a document type, which result files do not")
    try:
        root = ElementTree.fromstring(content.text)
    except ElementTree.ParseError as error:
        raise Malformed(f"not well-formed XML: {error}") from None
    if root.tag != _ROOT:
        return None
    results = list(root.iter("Result"))
    shown = [result for result in results if _word(result, "DisplayFormat") in ("", "BAR_GRAPH")]
    names = _measure_names(shown)
    notes = list[str]()
    rows = [row for result in shown for row in _rows(result, names, notes)]
    if len(shown) < len(results):
        notes.append(f"results that are no numbers of runs, left out: {len(results) - len(shown)}")
    return Table(
        tuple(rows), ("system",), apart=tuple(_VARIANTS.values()),
        headline=rows[0].measure.name if rows else None, spanning=True, notes=tuple(notes),
    )  # fmt: skip


def _measure_names(results: list[Element]) -> dict[tuple[str, str], str]:
    """Of each scale and direction; the direction is named where one scale has both."""
    known = {(_word(result, "Scale"), _word(result, "Proportion")) for result in results}
    scales = [scale for scale, _ in known]
    return {
        (scale, way): f"{scale}, {_DIRECTIONS.get(way, 'nobody says which')} is better"
        if scales.count(scale) > 1
        else scale or "value"
        for scale, way in known
    }


def _rows(result: Element, names: dict[tuple[str, str], str], notes: list[str]) -> Iterator[Row]:
    title, options = _word(result, "Title"), _word(result, "Description")
    benchmark = f"{title}: {options}" if options else title
    key = (_word(result, "Scale"), _word(result, "Proportion"))
    measure = Measure(names[key], _DIRECTIONS.get(key[1]))
    variant = {label: word for tag, label in _VARIANTS.items() if (word := _word(result, tag))}
    for entry in result.iter("Entry"):
        system = _word(entry, "Identifier") or "unnamed"
        texts = _word(entry, "RawString").split(":") if _word(entry, "RawString") else []
        texts = texts or ([_word(entry, "Value")] if _word(entry, "Value") else [])
        if not texts:
            notes.append(f"{benchmark} has no value of {system!r}: it was left out")
        for text in texts:
            value = number(text, f"{benchmark} of {system!r}")
            yield Row(benchmark, measure, value, {"system": system, **variant})


def _word(element: Element, tag: str) -> str:
    return " ".join((element.findtext(tag) or "").split())


FORMAT = Format("Phoronix Test Suite", "composite.xml", read)
