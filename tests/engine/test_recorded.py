# SPDX-License-Identifier: GPL-2.0-or-later
"""A study as the ledger has it."""

from pathlib import Path

import pytest

from kernsmith.engine.recorded import Asked, recorded_result
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.ledger.table import read_study_table
from kernsmith.report.study.document import study_document

STUDY = """
[source]
use = "debian:7.3"
[workloads]
use = ["redis", "pipe"]
[variants]
base = {}
afdo = { profile = "autofdo" }
"""


def test_programs_of_a_root_are_told_by_their_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there is no such root: what a round of them is stands in their files."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    ledger, plan = Ledger(url), []
    for variant in ("base", "afdo"):
        for name in ("redis", "pipe"):
            conditions = {"rounds": 2, "warmup": 1}
            digest = f"{len(plan):064x}"
            trial = TrialRow(
                digest, "k" * 64, variant, "default", name, "tcg", "zen4", 0, conditions
            )
            plan.append((trial, variant, 0, len(plan)))
    ledger.record_study("a" * 64, "told", STUDY, plan)
    for trial, *_ in plan:
        ledger.claim(trial.digest)
        metrics = {"model_cycles": (6e6, "cycles")}
        ledger.record(RunRow(trial.digest, 1, "ok", "", "", now(), 2.0, metrics))
    ledger.close()
    document = study_document(recorded_result(read_study_table("told", url), Asked()))
    units = {each.name: each.unit for each in document.workloads}
    assert units == {"redis": "request", "pipe": "round trip"}
    (redis,) = [each for each in document.stress if each.workload == "redis"]
    assert redis.per_operation == pytest.approx(6e6 / 2 / 3000)
    assert not (tmp_path / "cache" / "roots").exists()
