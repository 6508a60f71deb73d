# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith report`: a study that the ledger holds, or a result in a file, as one HTML page."""

from __future__ import annotations

import sys
from math import inf
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFile, check_outputs
from kernsmith.document import (
    BisectDocument,
    BlameDocument,
    SharesDocument,
    StudyDocument,
    WatchDocument,
)
from kernsmith.document.text import Document, read_document
from kernsmith.errors import UserError
from kernsmith.files import write_text


def report(
    study: str | None = None,
    /,
    *,
    ledger: str | None = None,
    output: OutputFile = Path("report.html"),
    metric: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    baseline: str | None = None,
    alpha: float | None = None,
    effect: float | None = None,
) -> int:
    """Write the report of a study from the ledger, or of a result in a file.

    From the ledger: the page that the study's own run gave, with components of variance (layout,
    boot, run), and how many more layouts or runs a difference needs. From study.json, bisect.json,
    blame.json, shares.json, or what `kernsmith layout … -o` wrote: the page of that result, made
    again.

    Examples:

        kernsmith report march -o march.html

        kernsmith report kernsmith-results/compare-1a2b3c4d/study.json -o compare.html

    Parameters
    ----------
    study
        Name of the study or the beginning of its digest, or a result's JSON file; default: the
        latest study. The options but --output are for studies of the ledger.
    ledger
        URL of the ledger; default: SQLite in the cache.
    output
        The HTML file.
    metric
        Metrics to report, the one that the page is about first; default: all that the study has.
    baseline
        Variant that others are compared with; default: the study's first.
    alpha
        Error rate; intervals have 1 - alpha confidence; default: the study's.
    effect
        Change, in per cent, for which the needed layouts and runs are told; default: 1.
    """
    if study and Path(study).suffix.lower() == ".json":
        asked = {
            "--ledger": ledger, "--metric": metric, "--baseline": baseline, "--alpha": alpha,
            "--effect": effect,
        }  # fmt: skip
        _refuse_asked(study, [name for name, value in asked.items() if value not in (None, ())])
        from kernsmith.report.study.hottest import coverage_beside

        check_outputs([output], [Path(study)])
        document = read_document(Path(study))
        try:
            page = result_page(document, coverage_beside(output))
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            # Its parts were read, and each has the right form.
            raise UserError(
                f"{study} contradicts itself: was it changed by hand, or written by another "
                f"version? ({type(error).__name__}: {error})"
            ) from None
        return _write(page, output)
    from kernsmith.engine.recorded import Asked, recorded_result
    from kernsmith.engine.verdicts import observations, question
    from kernsmith.ledger.table import read_study_table
    from kernsmith.report.ledger.document import recorded_document
    from kernsmith.report.ledger.page import variance_sections
    from kernsmith.report.study.hottest import coverage_beside
    from kernsmith.report.study.page import study_page
    from kernsmith.stats.study import analyse

    effect = 1.0 if effect is None else effect
    if alpha is not None and not 0 < alpha < 1:
        raise UserError(f"--alpha is a probability between 0 and 1, not {alpha:g}")
    if not 0 < effect < inf:
        raise UserError(f"--effect is a difference in per cent above 0, not {effect:g}")
    try:
        table = read_study_table(study, ledger)
    except UserError:
        if study and Path(study).is_dir():
            raise UserError(
                f"{study} is a folder: name the result in it, {_result(study)}"
            ) from None
        raise
    try:
        result = recorded_result(table, Asked(baseline, alpha, metric))
        wanted = question(result.prepared, result.measured)
        found = analyse(
            observations(result.measured, result.prepared.study.design), wanted, percent=effect
        )
    except ValueError as error:
        raise UserError(f"study {table.name}: {error}") from None
    notes = [f"{table.missing} trials have not run yet."] if table.missing else []
    document = recorded_document(table, result)
    beside = coverage_beside(output)
    return _write(
        study_page(document, variance_sections(found, document.boots), notes, beside), output
    )


def _refuse_asked(study: str, options: list[str]) -> None:
    if options:
        raise UserError(
            f"{options[0]} is for studies of the ledger: {study} is a result whose figures stand"
        )


def result_page(document: Document, coverage: str = "") -> str:
    """The HTML of any result. coverage: the way to an index of coverage, if there is one."""
    from kernsmith.report.bisect.page import bisect_page
    from kernsmith.report.blame.page import blame_page
    from kernsmith.report.layout.page import layout_page
    from kernsmith.report.shares.page import shares_page
    from kernsmith.report.study.page import study_page
    from kernsmith.report.watch.site import index_page

    match document:
        case StudyDocument():
            return study_page(document, coverage=coverage)
        case BisectDocument():
            return bisect_page(document)
        case BlameDocument():
            return blame_page(document)
        case SharesDocument():
            return shares_page(document)
        case WatchDocument():
            return index_page(document)
        case _:
            return layout_page(document)


def _result(folder: str) -> Path:
    """The file of a folder's result; that of a study, if there is none."""
    names = (f"{kind}.json" for kind in ("study", "bisect", "blame", "shares", "watch"))
    files = [Path(folder, name) for name in names]
    return next((file for file in files if file.exists()), files[0])


def _write(html: str, output: Path) -> int:
    try:
        write_text(output, html)
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror}") from None
    sys.stdout.write(f"wrote {output}\n")
    return 0
