# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith analyze`: statistics of a CSV file of timings, no kernel needed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.csvfile import Reading
    from kernsmith.stats.analysis import Analysis, Options

Format = Literal["text", "json", "markdown", "csv"]


def analyze(
    file: Path,
    /,
    *,
    value: str | None = None,
    by: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    within: str | None = None,
    order: str | None = None,
    baseline: str | None = None,
    alpha: float = 0.05,
    better: Literal["lower", "higher"] = "lower",
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

    Examples:

        kernsmith analyze times.csv --value "time(sec)" --by march --within hostname --order date

        kernsmith analyze --summary table.csv --within metric --report table.html

    Parameters
    ----------
    file
        CSV file whose first line names the columns; separators , ; tab and | are understood,
        and decimal commas.
    value
        Column with the measured values.
    by
        Columns that make the groups, separated by commas or given several times. Several make a
        factorial analysis.
    within
        Column whose levels (machines, benchmarks) are analysed each for itself.
    order
        Column that says when a run happened; default: the order of the rows.
    baseline
        Group that others are compared with; default: the first. With several factors the levels
        are joined by " × ".
    alpha
        Error rate; intervals have 1 - alpha confidence.
    better
        Whether lower or higher values are better.
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
        Also write the figures: .json, .csv, .parquet, or the raw values as Go benchmark text
        (.bench). May be given several times.
    """
    reading, options = _read(
        file, value, _split(by), within, order, summary=summary,
        alpha=alpha, baseline=baseline, better=better, effect=effect,
    )  # fmt: skip
    from kernsmith.stats.analysis import analyse

    try:
        analysis = analyse(reading.strata, options, reading.notes)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from None
    _write_files(file, analysis, reading, report, plots, export)
    sys.stdout.write(_shown(analysis, format))
    return 0


def _split(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for part in names for name in part.split(",") if name.strip())


def _read(
    file: Path,
    value: str | None,
    by: tuple[str, ...],
    within: str | None,
    order: str | None,
    *,
    summary: bool,
    alpha: float,
    baseline: str | None,
    better: Literal["lower", "higher"],
    effect: float,
) -> tuple[Reading, Options]:
    from kernsmith.csvfile import Columns, read_samples, read_summaries
    from kernsmith.stats.analysis import Options

    if not 0 < alpha < 1:
        raise UserError(f"--alpha is a probability between 0 and 1, not {alpha:g}")
    if not effect > 0:
        raise UserError(f"--effect is a difference in per cent above 0, not {effect:g}")
    if summary:
        if value is not None or order is not None:
            raise UserError("--summary has neither raw values nor an order: leave out the other")
        by = by or ("group",)
        reading = read_summaries(file, by, within)
    else:
        if value is None or not by:
            missing = "--value" if value is None else "--by"
            raise UserError(f"{missing} is missing: name a column of {file}{_columns_of(file)}")
        reading = read_samples(file, Columns(value, by, within, order))
    options = Options(
        factors=by,
        value=value or "mean",
        within=within,
        baseline=baseline,
        alpha=alpha,
        better=better,
        effect=effect,
        order_known=reading.order_known,
    )
    return reading, options


def _columns_of(file: Path) -> str:
    from kernsmith.csvfile.dialect import find_dialect

    return f"; it has {', '.join(repr(name) for name in find_dialect(file).columns)}"


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
    from kernsmith.report.analysis.sections import analysis_sections
    from kernsmith.report.plain import as_markdown, as_text

    sections = analysis_sections(analysis)
    return as_markdown(sections) if format == "markdown" else as_text(sections)
