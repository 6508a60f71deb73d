# SPDX-License-Identifier: GPL-2.0-or-later
"""An analysis for other programs: JSON with a schema, CSV, Parquet, JUnit, Go benchmark text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from itertools import count
from math import isfinite
from pathlib import Path
from re import sub
from typing import Any

from kernsmith import __version__
from kernsmith.document.analysis import Analysis as AnalysisDocument
from kernsmith.files import replacing, write_text
from kernsmith.report.analysis.document import in_words
from kernsmith.report.analysis.junit import as_junit
from kernsmith.stats.analysis import Analysis
from kernsmith.stats.samples import Stratum

FORMAT = "kernsmith-analyze"
VERSION = 1
_SECONDS = {"s", "sec", "secs", "seconds"}


def as_document(analysis: Analysis) -> dict[str, Any]:
    """The JSON document of docs/analyze.schema.json: unrounded; NaN and infinity are null."""
    head = {"format": FORMAT, "version": VERSION, "kernsmith": __version__}
    return {**head, **plain(in_words(analysis))}


def as_json(analysis: Analysis) -> str:
    """The document as text in one line, ended by a line end."""
    return json.dumps(as_document(analysis), ensure_ascii=False, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON schema of `as_document`."""
    from pydantic import TypeAdapter

    found: dict[str, Any] = _nullable(
        TypeAdapter(AnalysisDocument).json_schema(mode="serialization")
    )
    found["title"] = "The result of kernsmith analyze --format json"
    found["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found["properties"] = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "kernsmith": {"type": "string", "description": "version of the program"},
        **found["properties"],
    }
    found["required"] = ["format", "version", "kernsmith", *found["required"]]
    return found


def figures(analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Every figure of the analysis as one tidy row: table, stratum, item, against, figure, value.

    Text (verdicts, sentences) is not a figure and stays in the JSON document.
    """
    for stratum in analysis.strata:
        name = stratum.name
        for group in stratum.groups:
            yield from _rows("group", name, group.name, None, asdict(group))
        for check in stratum.checks:
            values = {"figure": check.figure, "p": check.p}
            yield from _rows("assumption", name, check.name, None, values)
        for each in stratum.outliers:
            yield from _rows("outlier", name, each.group, None, asdict(each))
        for title, test in (
            ("welch", stratum.welch),
            ("kruskal_wallis", stratum.kruskal_wallis),
            ("anova", stratum.anova),
            ("sensitivity", stratum.sensitivity),
        ):
            if test is not None:
                yield from _rows("test", name, title, None, asdict(test))
        for row in stratum.factorial:
            yield from _rows("factorial", name, row.term, None, asdict(row))
        for pair in stratum.comparisons:
            yield from _rows("comparison", name, pair.b, pair.a, asdict(pair))
    for across in analysis.across:
        mean = across.mean
        yield from _rows("geometric mean", None, mean.b, mean.a, asdict(mean))
        for gain in across.gains:
            item = f"{gain.definition}, {gain.mean} mean"
            yield from _rows("gain", None, item, mean.b, {"percent": gain.percent})


def as_csv(analysis: Analysis) -> str:
    """`figures` as CSV; numbers with all their digits, nothing for a figure that is not there."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, ["table", "stratum", "item", "against", "figure", "value"], lineterminator="\n"
    )
    writer.writeheader()
    for row in figures(analysis):
        writer.writerow({**row, "value": "" if row["value"] is None else repr(row["value"])})
    return text.getvalue()


def as_go_benchmark(
    strata: Sequence[Stratum], factors: Sequence[str], value: str, better: str = ""
) -> str:
    """Raw values in Go's benchmark format (golang.org/design/14313-benchmark-format).

    One line a run in run order; ``benchstat -col /FACTOR FILE`` compares the groups. Every name
    ends in ``-1`` (GOMAXPROCS), or a level like x86-64 would be taken for x86 on 64 processors.
    Names that would be the same without their blanks and slashes have a number behind them.

    better: `lower` or `higher`, which a line about the unit says; empty: none does.
    """
    unit, scale = _go_unit(value)
    lines = [f"Unit {unit} better={better}"] if better else []
    names = _words([stratum.name or value for stratum in strata], _title)
    keys_of = _words(factors, _word)
    levels_of = [
        _words([sample.levels[place] for each in strata for sample in each.samples], _word)
        for place in range(len(factors))
    ]
    for stratum in strata:
        name = names[stratum.name or value]
        runs = [
            (int(position), sample.levels, float(number))
            for sample in stratum.samples
            for position, number in zip(sample.position, sample.values, strict=True)
        ]
        for _, levels, number in sorted(runs):
            keys = "".join(
                f"/{keys_of[factor]}={words[level]}"
                for factor, words, level in zip(factors, levels_of, levels, strict=True)
            )
            lines.append(f"Benchmark{name}{keys}-1 1 {number * scale!r} {unit}")
    return "\n".join(lines) + "\n"


def write_export(path: Path, analysis: Analysis, strata: Sequence[Stratum]) -> None:
    """Writes one of .json, .csv, .parquet, .xml (JUnit) and .bench (Go benchmark text).

    Raises:
        ValueError: another suffix, or .bench without raw data.
        DiskFull, UserError, OSError: the file cannot be written; what was there stays.
    """
    match path.suffix.lower():
        case ".json":
            write_text(path, as_json(analysis))
        case ".csv":
            write_text(path, as_csv(analysis))
        case ".parquet":
            _write_parquet(path, analysis)
        case ".xml":
            write_text(path, as_junit(analysis))
        case ".bench":
            if not any(stratum.samples for stratum in strata):
                raise ValueError("Go benchmark text needs raw data, not a summary")
            options = analysis.options
            text = as_go_benchmark(strata, options.factors, options.value, options.better)
            write_text(path, text)
        case other:
            raise ValueError(
                f"nothing is exported as {other!r}; the suffix must be .json, .csv, .parquet, "
                ".xml or .bench"
            )


def _write_parquet(path: Path, analysis: Analysis) -> None:
    import polars as pl

    names = ("table", "stratum", "item", "against", "figure")
    types = {**dict.fromkeys(names, pl.String), "value": pl.Float64}
    with replacing(path) as temporary:
        pl.DataFrame(list(figures(analysis)), schema=types).write_parquet(temporary)


def _rows(
    table: str, stratum: str | None, item: str, against: str | None, values: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for figure, value in values.items():
        numbers = value if isinstance(value, tuple | list) else [value]
        for index, number in enumerate(numbers):
            if isinstance(number, bool | int | float) or number is None:
                finite = number is not None and isfinite(number)
                yield {
                    "table": table,
                    "stratum": stratum,
                    "item": item,
                    "against": against,
                    "figure": figure if len(numbers) == 1 else f"{figure}{index + 1}",
                    "value": float(number) if finite and number is not None else None,
                }


def plain(value: Any) -> Any:
    """JSON-able: dataclasses as objects, tuples as lists, NaN and infinity as null."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _nullable(node: Any) -> Any:
    """Every number may be null: a figure that cannot be had."""
    if isinstance(node, list):
        return [_nullable(each) for each in node]
    if not isinstance(node, dict):
        return node
    changed = {key: _nullable(each) for key, each in node.items()}
    if changed.get("type") == "number":
        changed["type"] = ["number", "null"]
        changed.pop("default", None)
    return changed


def _go_unit(value: str) -> tuple[str, float]:
    """Go's unit for seconds is ns/op; benchstat shows it as seconds again."""
    words = set(sub(r"[^a-z]+", " ", value.lower()).split())
    if words & _SECONDS and "/" not in value:
        return "ns/op", 1e9
    return sub(r"\s+", "_", value.strip()) or "_", 1.0


def _word(text: str) -> str:
    """Without the white space and slashes that would end a name."""
    return sub(r"[\s/=]+", "_", text.strip()) or "_"


def _title(text: str) -> str:
    word = _word(text)
    return f"{word[:1].upper()}{word[1:]}"


def _words(texts: Iterable[str], word: Callable[[str], str]) -> dict[str, str]:
    """A word for each text, and no word for two of them."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        own = word(text)
        numbered = (f"{own}_{number}" for number in count(2))
        found[text] = own if own not in taken else next(n for n in numbered if n not in taken)
        taken.add(found[text])
    return found


if __name__ == "__main__":
    import sys

    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
