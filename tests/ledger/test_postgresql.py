# SPDX-License-Identifier: GPL-2.0-or-later
"""The same ledger on a real PostgreSQL server, by its URL."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now


def test_claims_and_runs(postgresql: str) -> None:
    first, second = Ledger(postgresql), Ledger(postgresql)
    row = TrialRow("t" * 64, "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {"a": [1]})
    for ledger in (first, second):
        ledger.record_study("s" * 64, "demo", "[source]", [(row, "v", 0, 0)])
    assert first.claim(row.digest) == 1
    assert second.claim(row.digest) is None
    run = RunRow(row.digest, 1, "ok", "", "", now(), 0.5, {"m": (2.0**52 + 1, "cycles")}, {"c": 1})
    first.record(run)
    assert second.runs([row.digest]) == {row.digest: run}
    assert second.typical_seconds("tcg") == {"pipe": 0.5}
    first.close()
    second.close()


def test_processes_that_start_one_study_at_once(postgresql: str) -> None:
    """Both add the same rows; none fails, and none is there twice."""
    rows = [
        TrialRow(f"{i:064x}", "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {})
        for i in range(200)
    ]
    plan = [(row, "v", 0, position) for position, row in enumerate(rows)]

    def start(ledger: Ledger) -> int:
        ledger.record_study("s" * 64, "demo", "[source]", plan)
        return sum(ledger.claim(row.digest) is not None for row in rows)

    with ThreadPoolExecutor(4) as pool:
        ledgers = list(pool.map(Ledger, [postgresql] * 4))
        assert sum(pool.map(start, ledgers)) == len(rows)
    for ledger in ledgers:
        ledger.close()


def test_studies_that_share_trials_in_another_order(postgresql: str) -> None:
    """Each waits for rows of the other one's; neither waits for ever, or is broken off."""
    rows = [
        TrialRow(f"{i:064x}", "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {})
        for i in range(3000)
    ]
    Ledger(postgresql).close()

    def record(study: str) -> None:
        ledger = Ledger(postgresql)
        ordered = rows if study == "a" else rows[::-1]
        plan = [(row, "v", 0, position) for position, row in enumerate(ordered)]
        ledger.record_study(study * 64, study, "[source]", plan)
        ledger.close()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(record, "ab")) == [None, None]


def test_a_server_that_does_not_answer_is_one_sentence() -> None:
    with pytest.raises(UserError, match="cannot open the ledger"):
        Ledger("postgresql+psycopg://kernsmith@/postgres?host=/nowhere")
