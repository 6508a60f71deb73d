# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a study and show what came out, for every command that ends in one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine import prepare, run_study
from kernsmith.engine.document import study_document
from kernsmith.ledger import Ledger
from kernsmith.report.study_page import study_page
from kernsmith.report.study_tables import print_study
from kernsmith.study import Study

_LOG_WIDTH = 120


def run_and_show(study: Study, *, output: Path | None, ledger: str | None, as_json: bool) -> int:
    """Run, write the report's files, print tables or JSON; 0, or 1 when a trial failed."""
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            prepared = prepare(study, display)
            study = prepared.study
            # First: a folder that cannot be written is known before an hour of work, not after.
            folder = output or Path("kernsmith-results") / f"{study.name}-{study.digest[:8]}"
            folder.mkdir(parents=True, exist_ok=True)
            result = run_study(prepared, opened, display)
            document = study_document(result)
            document["report"] = str((folder / "report.html").absolute())
            text = json.dumps(document, indent=1, ensure_ascii=False)
            files = {
                "study.json": text + "\n",
                "study.toml": document["study"]["text"],
                "report.html": study_page(document),
            }
            for name, content in files.items():
                part = folder / f"{name}.part"
                part.write_text(content, encoding="utf-8")
                part.replace(folder / name)
    finally:
        opened.close()
    if as_json:
        sys.stdout.write(text + "\n")
    else:
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = _LOG_WIDTH
        print_study(document, console)
    return 1 if result.failures else 0
