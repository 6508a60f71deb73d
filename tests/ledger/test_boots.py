# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots are rows of the ledger, and a run belongs to one."""

from dataclasses import replace

import pytest

from kernsmith.ledger import BootRow, Ledger, RunRow, TrialRow, now
from kernsmith.ledger.table import read_study_table

UP = BootRow(
    session="s" * 20, machine="kvm", image="ce-default", kernel="k" * 64, layout="default",
    command=("qemu-system-x86_64", "-smp", "1"), console="/runs/1/console.log", started_at=now(),
)  # fmt: skip


def trial(workload: str, replicate: int) -> TrialRow:
    digest = f"{workload}{replicate}"
    return TrialRow(
        digest, "k" * 64, "v", "default", workload, "kvm", "host", replicate, conditions={}
    )


@pytest.fixture
def ledger(either: str) -> Ledger:
    return Ledger(either)


def test_a_boot_that_is_over_comes_back_as_it_was(ledger: Ledger) -> None:
    over = replace(UP, status="panic", reason="no init found", wall_seconds=1.5)
    assert ledger.boots([ledger.record_boot(over)]) == {1: over}
    ledger.close()


def test_a_boot_has_no_end_until_it_ends(ledger: Ledger) -> None:
    boot = ledger.record_boot(UP)
    assert ledger.boots([boot]) == {boot: UP}
    ledger.end_boot(boot, "ok", "", 61.0)
    assert ledger.boots([boot]) == {boot: replace(UP, status="ok", wall_seconds=61.0)}
    ledger.close()


def test_runs_of_a_session_share_a_boot(ledger: Ledger) -> None:
    """Two boots of two workloads, one of them twice: told apart by boot in the table."""
    trials = [trial("pipe", 0), trial("pipe", 1), trial("fork", 0), trial("pipe", 2)]
    plan = [(row, "v", 0, position) for position, row in enumerate(trials)]
    ledger.record_study("f" * 64, "lab", "[study]", plan)
    boots = [ledger.record_boot(UP), ledger.record_boot(UP)]
    for row, boot in zip(trials, [boots[0], boots[0], boots[0], boots[1]], strict=True):
        assert ledger.claim(row.digest) == 1
        metrics = {"seconds": (1.0, "s")}
        ledger.record(RunRow(row.digest, 1, "ok", "", "", now(), 1.0, metrics, boot=boot))
    ledger.close()
    table = read_study_table("lab", ledger.url)
    assert [(row.trial.workload, row.run and row.run.boot) for row in table.plan] == [
        ("pipe", 1), ("pipe", 1), ("fork", 1), ("pipe", 2),
    ]  # fmt: skip
