# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith analyze`: statistics of timings in files, no kernel needed."""

from __future__ import annotations

import csv
import shlex
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from kernsmith.cli.output import check_outputs
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.csvfile import Reading
    from kernsmith.stats.analysis import Analysis

# Below, 1 - alpha is 1 to a double, and no interval is finite.
LEAST_ALPHA = 1e-12
Format = Literal["text", "json", "markdown", "csv"]
Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Columns:
    """What the user says of columns, or of a harness's labels and metrics."""

    value: str | None
    by: tuple[str, ...]
    within: str | None
    order: str | None


@dataclass(frozen=True)
class Known:
    """What the values are, and what makes groups and strata of them."""

    value: str
    by: tuple[str, ...]
    within: str | None
    better: Better | None = "lower"


def analyze(
    *files: Path,
    value: str | None = None,
    by: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    within: str | None = None,
    order: str | None = None,
    baseline: str | None = None,
    alpha: float = 0.05,
    better: Better | None = None,
    effect: float = 1.0,
    summary: Annotated[bool, Parameter(negative=())] = False,
    format: Format = "text",
    report: Path | None = None,
    plots: Path | None = None,
    export: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
) -> int:
    """Compare groups of timings and say what the figures can bear.

    Tests, simultaneous intervals of every difference, and the assumptions that they rest on:
    also whether the groups were measured one after another, and how many runs a difference needs.

    Reads CSV files, and what hyperfine, pyperf, Go, perf stat, kcbench, the Phoronix Test Suite,
    mmtests and lkp write; which of them a file is of, its content says.

    Examples:

        kernsmith analyze times.csv --value "time(sec)" --by march --within hostname --order date

        kernsmith analyze --summary table.csv --within metric --report table.html

        kernsmith analyze hyperfine.json

        kernsmith analyze old.txt new.txt --export result.xml

    Parameters
    ----------
    files
        A CSV file whose first line names the columns (separators , ; tab and | are understood,
        and decimal commas), or files that one harness wrote, which are compared with each other.
    value
        Column with the measured values; of a harness's file: the metric, where it has several.
    by
        Columns that make the groups, separated by commas (a name that has one is in double quotes)
        or given several times. Several make a factorial analysis. Of a harness's file: labels;
        default: what the harness compares, or `file`.
    within
        Column whose levels (machines, benchmarks) are analysed each for itself; of a harness's
        file: each benchmark is.
    order
        Column that says when a run happened; default: the order of the rows.
    baseline
        Group that others are compared with; default: the first. With several factors the levels
        are joined by " × ".
    alpha
        Error rate; intervals have 1 - alpha confidence.
    better
        Whether lower or higher values are better; default: what the harness says, else lower,
        and a note tells where a harness does not say.
    effect
        Difference, in per cent, for which the needed number of runs is told.
    summary
        The file has no raw data but the columns group (or those of --by), n, mean and sd.
    format
        What is printed.
    report
        Write a self-contained HTML page.
    plots
        Folder for the charts as SVG and PNG.
    export
        Also write the figures: .json, .csv, .parquet, JUnit for CI (.xml), or the raw values as
        Go benchmark text for benchstat (.bench). May be given several times.
    """
    from kernsmith.stats.analysis import Options, analyse

    _check(files, alpha, effect)
    check_outputs([*export, report, plots], files)
    columns = Columns(value, _split(by), within, order)
    reading, known = _read(files, columns, summary=summary)
    options = Options(
        factors=known.by,
        value=known.value,
        within=known.within,
        baseline=baseline,
        alpha=alpha,
        better=better or known.better or "lower",
        effect=effect,
        order_known=reading.order_known,
    )
    try:
        analysis = analyse(reading.strata, options, (*reading.notes, *_assumed(better, known)))
    except ValueError as error:
        raise UserError(f"{files[0]}: {error}") from None
    _write_files(files[0], analysis, reading, report, plots, export)
    sys.stdout.write(_shown(analysis, format))
    return 0


def _split(names: tuple[str, ...]) -> tuple[str, ...]:
    try:
        parts = list(csv.reader(names, skipinitialspace=True))
    except csv.Error:
        raise UserError(
            f"--by {', '.join(names)!r} has a line end: no column is called so"
        ) from None
    return tuple(name.strip() for part in parts for name in part if name.strip())


def _check(files: tuple[Path, ...], alpha: float, effect: float) -> None:
    if not files:
        raise UserError("name a file to analyse")
    if not LEAST_ALPHA <= alpha < 1:
        raise UserError(f"--alpha is a probability between {LEAST_ALPHA:g} and 1, not {alpha:g}")
    if not 0 < effect < inf:
        raise UserError(f"--effect is a difference in per cent above 0, not {effect:g}")


def _read(files: tuple[Path, ...], asked: Columns, *, summary: bool) -> tuple[Reading, Known]:
    """What the files hold, and how they are understood."""
    from kernsmith import csvfile, harness

    if summary:
        if asked.value is not None or asked.order is not None:
            raise UserError("--summary has neither raw values nor an order: leave out the other")
        by = asked.by or ("group",)
        reading = csvfile.read_summaries(_only(files), by, asked.within)
        return reading, Known("mean", by, asked.within)
    found = harness.read_harness(files, harness.Asked(asked.value, asked.by, asked.within))
    if found is not None:
        if asked.order is not None:
            raise UserError("--order is for CSV files: what a harness wrote is in its own order")
        return found.reading, Known(found.value, found.by, found.within, found.better)
    file = _only(files)
    if kind := harness.is_structured(file):
        raise UserError(f"{file} is {kind}, but of none of {harness.names()}")
    if asked.value is None or not asked.by:
        missing = "--value" if asked.value is None else "--by"
        raise UserError(
            f"{missing} is missing: name a column of {file}{_columns_of(file)} (it is read as a "
            f"CSV file, for it is of none of {harness.names()})"
        )
    columns = csvfile.Columns(asked.value, asked.by, asked.within, asked.order)
    return csvfile.read_samples(file, columns), Known(asked.value, asked.by, asked.within)


def _assumed(better: Better | None, known: Known) -> tuple[str, ...]:
    """What nobody said of the direction that is good."""
    if better or known.better:
        return ()
    return (
        f"whether lower or higher values of {known.value!r} are better, the file does not say: "
        "lower is taken; --better says otherwise",
    )


def _only(files: tuple[Path, ...]) -> Path:
    if len(files) > 1:
        raise UserError(
            f"{files[0]} and {files[1]}: of CSV files one is analysed at a time; put the rows into "
            "one file, with a column that tells them apart"
        )
    return files[0]


def _columns_of(file: Path) -> str:
    from kernsmith.csvfile.dialect import find_dialect, told_columns

    return f"; it has {told_columns(find_dialect(file).columns)}"


def _write_files(
    file: Path,
    analysis: Analysis,
    reading: Reading,
    report: Path | None,
    plots: Path | None,
    export: tuple[Path, ...],
) -> None:
    from kernsmith.report.analysis.export import as_document, write_export

    target: Path | None = None
    try:
        for target in export:
            write_export(target, analysis, reading.strata)
        if report is not None:
            from kernsmith.report.analysis.page import analysis_page
            from kernsmith.report.page import write_page

            target = report
            command = ["kernsmith", *(shlex.quote(word) for word in sys.argv[1:])]
            page = analysis_page(
                analysis,
                reading.strata,
                as_document(analysis),
                title=f"{file.name}: {analysis.options.value}",
                command=command,
            )
            write_page(page, report)
        if plots is not None:
            from kernsmith.report.analysis.page import save_charts

            target = plots
            save_charts(analysis, reading.strata, plots)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise UserError(f"{target}: {error}") from None


def _shown(analysis: Analysis, format: Format) -> str:
    from kernsmith.report.analysis.export import as_csv, as_json

    if format == "json":
        return as_json(analysis)
    if format == "csv":
        return as_csv(analysis)
    from kernsmith.cli.console import text_width
    from kernsmith.report.analysis.sections import analysis_sections
    from kernsmith.report.plain import as_markdown, as_text

    sections = analysis_sections(analysis)
    return as_markdown(sections) if format == "markdown" else as_text(sections, text_width())
