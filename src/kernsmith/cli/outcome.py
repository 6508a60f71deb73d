# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a study and show what came out, for every command that ends in one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from rich.console import Console

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine import StudyResult, prepare, run_study
from kernsmith.engine.document import study_document
from kernsmith.files import write_text
from kernsmith.ledger import Ledger
from kernsmith.report.plain import as_text
from kernsmith.report.study.design import design_sections
from kernsmith.report.study.luck import add_luck
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.terminal import print_study
from kernsmith.study import Study

_LOG_WIDTH = 120


def run_and_show(study: Study, *, output: Path | None, ledger: str | None, as_json: bool) -> int:
    """Run, write the report's files, print tables or JSON; 0, or 1 when a trial failed."""
    document = run_and_write(study, output=output, ledger=ledger)
    show(document, as_json=as_json)
    return exit_code(document)


def run_and_write(study: Study, *, output: Path | None, ledger: str | None) -> dict[str, Any]:
    """Run a study and write the report's files; returns its document."""
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            prepared = prepare(study, display)
            study = prepared.study
            # First: a folder that cannot be written is known before an hour of work, not after.
            folder = output or Path("kernsmith-results") / f"{study.name}-{study.digest[:8]}"
            folder.mkdir(parents=True, exist_ok=True)
            return write_report(run_study(prepared, opened, display), folder)
    finally:
        opened.close()


def write_report(result: StudyResult, folder: Path) -> dict[str, Any]:
    """Write a result's report (HTML, Markdown), study.json and study.toml; returns its document."""
    document = add_luck(study_document(result))
    document["report"] = str((folder / "report.html").absolute())
    files = {
        "study.json": _text(document),
        "study.toml": document["study"]["text"],
        "report.html": study_page(document),
        "report.md": study_markdown(document),
    }
    for name, content in files.items():
        write_text(folder / name, content)
    return document


def show(document: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result's tables, or all of it as JSON."""
    if as_json:
        sys.stdout.write(_text(document))
        return
    console = result_console()
    print_study(document, console)
    if design := design_sections(document, all_metrics=False):
        console.print(as_text(design), soft_wrap=True, markup=False)


def result_console() -> Console:
    """Where results are printed; as wide as its tables need where there is no terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    return console


def exit_code(document: Mapping[str, Any]) -> int:
    """0, or 1 when a trial or a variant failed."""
    return 1 if document["failures"] else 0


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(_finite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """JSON has no infinity: a bound that is one is null."""
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
