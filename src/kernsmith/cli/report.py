# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith report`: a study that the ledger holds, or a result in a file, as one HTML page."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.document import BisectDocument, StudyDocument
from kernsmith.document.text import Document, read_document
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.ledger.table import StudyTable
    from kernsmith.stats.question import Question


def report(
    study: str | None = None,
    /,
    *,
    ledger: str | None = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"),
    metric: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    baseline: str | None = None,
    alpha: float = 0.05,
    effect: float = 1.0,
) -> int:
    """Write the report of a study from the ledger, or of a result in a file.

    From the ledger: effects over layouts with intervals, components of variance (layout, boot,
    run), and how many more layouts or runs a difference needs. From study.json, bisect.json, or
    what `kernsmith layout … -o` wrote: the page of that result, made again.

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
        Metrics to report; default: all that the study has.
    baseline
        Variant that others are compared with; default: the study's first.
    alpha
        Error rate; intervals have 1 - alpha confidence.
    effect
        Change, in per cent, for which the needed layouts and runs are told.
    """
    if study and study.endswith(".json"):
        return _write(result_page(read_document(Path(study))), output)
    from kernsmith.ledger.table import read_study_table
    from kernsmith.report.analysis.export import plain
    from kernsmith.report.ledger.page import ledger_page
    from kernsmith.report.page import render_page
    from kernsmith.stats.observations import Observation
    from kernsmith.stats.study import analyse

    if not 0 < alpha < 1:
        raise UserError(f"--alpha is a probability between 0 and 1, not {alpha:g}")
    if not effect > 0:
        raise UserError(f"--effect is a difference in per cent above 0, not {effect:g}")
    table = read_study_table(study, ledger)
    names = metric or _in_table_order(tuple(table.units))
    if not names:
        raise UserError(
            f"no run of study {table.name} has finished yet: there is nothing to report"
        )
    rows = [Observation(**vars(row)) for row in table.rows]
    try:
        found = analyse(rows, _question(table, names, baseline, alpha), percent=effect)
    except ValueError as error:
        raise UserError(f"study {table.name}: {error}") from None
    page = ledger_page(
        table.name,
        table.text,
        found,
        units=table.units,
        machines=table.machines,
        notes=_notes(table.failed, table.missing),
        figures={"study": table.digest, "metrics": plain(found)},
        footer=(f"study {table.digest}", f"recorded {table.recorded_at}"),
    )
    return _write(render_page(page), output)


def result_page(document: Document) -> str:
    """The HTML of any result."""
    from kernsmith.report.bisect.page import bisect_page
    from kernsmith.report.layout.page import layout_page
    from kernsmith.report.study.page import study_page

    match document:
        case StudyDocument():
            return study_page(document)
        case BisectDocument():
            return bisect_page(document)
        case _:
            return layout_page(document)


def _write(html: str, output: Path) -> int:
    try:
        output.write_text(html, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{output} cannot be written: {error.strerror}") from None
    sys.stdout.write(f"wrote {output}\n")
    return 0


def _question(
    table: StudyTable, metrics: tuple[str, ...], baseline: str | None, alpha: float
) -> Question:
    """Every metric that is reported, with the catalogue's headlines as the primary family."""
    from kernsmith.machine.metrics import METRICS
    from kernsmith.stats.question import Question

    return Question(
        variants=_variants(table, baseline),
        workloads=tuple(dict.fromkeys(row.workload for row in table.rows)),
        metrics=metrics,
        primary=frozenset(each.name for each in METRICS if each.headline) | {metrics[0]},
        alpha=alpha,
        looked_at=tomllib.loads(table.text).get("design", {}).get("until", 0) != 0,
    )


def _variants(table: StudyTable, baseline: str | None) -> tuple[str, ...]:
    """Those with finished runs, the baseline first.

    Which variant a study has first, only its text knows: its trials are shuffled.

    Raises:
        ValueError: no run of the baseline has finished, or the text is of another version and no
            baseline is named.
    """
    measured = list(dict.fromkeys(row.variant for row in table.rows))
    if baseline is None:
        baseline = _first_variant(table)
        if baseline not in measured:
            raise ValueError(
                f"its baseline {baseline!r} has no finished run; name another by --baseline: "
                f"{', '.join(measured)}"
            )
    if baseline not in measured:
        raise ValueError(f"no variant is called {baseline!r}; there are {', '.join(measured)}")
    return (baseline, *(name for name in measured if name != baseline))


def _first_variant(table: StudyTable) -> str:
    from kernsmith.study.file import baseline_in

    try:
        return baseline_in(tomllib.loads(table.text), origin="its text")
    except UserError as error:
        raise ValueError(f"{error}; name its baseline by --baseline") from None


def _in_table_order(names: tuple[str, ...]) -> tuple[str, ...]:
    from kernsmith.machine.metrics import METRICS

    known = [each.name for each in METRICS]
    return tuple(sorted(names, key=lambda name: known.index(name) if name in known else len(known)))


def _notes(failed: int, missing: int) -> list[str]:
    notes = []
    if failed:
        notes.append(f"{failed} trials failed; they are in none of the figures.")
    if missing:
        notes.append(f"{missing} trials have not run yet.")
    return notes
