# SPDX-License-Identifier: GPL-2.0-or-later
"""The document of a study that the ledger holds."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.document import StudyDocument
from kernsmith.engine.verdicts import StudyResult
from kernsmith.ledger.table import StudyTable
from kernsmith.report.study.document import study_document


def recorded_document(table: StudyTable, result: StudyResult) -> StudyDocument:
    """The document that the study's own run gave, with the conditions that were recorded then."""
    document = study_document(result)
    study, conditions = document.study, table.plan[0].trial.conditions
    if not result.prepared.study.source:  # the words of another version
        study = replace(study, digest=table.digest, text=table.text)
    machine = document.machine
    return replace(
        document,
        study=study,
        machine=replace(machine, conditions=conditions.get("machine", {})),
        seconds=None,
    )
