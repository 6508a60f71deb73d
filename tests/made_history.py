# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of twelve made-up revisions, of which one has made `pipe` slower."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import exp
from pathlib import Path

import numpy as np

from kernsmith.document import WatchDocument
from kernsmith.engine import Silent
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import Measured, judge
from kernsmith.engine.watch import Revision, watch_document
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.history import Commit
from kernsmith.kernel.source import Source
from kernsmith.ledger import RunRow, now
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Design, Study, Trial, plan_trials, plan_variants

Subject = Callable[[int], str]
NAMES = ("pipe", "fork", "mmap")

REVISIONS = 12
SLOW = 7
LAYOUTS = 12


def hash_of(number: int) -> str:
    """Of a revision."""
    return f"{number:012x}".ljust(40, "0")


def _plain(number: int) -> str:
    return f"change {number}"


def made_revisions(
    subject: Subject = _plain,
) -> list[Revision]:
    commits = [
        Commit(hash_of(number), subject(number), "A Developer <dev@example.org>", "2026-01-01")
        for number in range(REVISIONS)
    ]
    return [Revision(each, f"v7.3.{n}" if n % 4 == 0 else "") for n, each in enumerate(commits)]


def made_history(
    *,
    slower: float = 0.02,
    broken: Collection[int] = (),
    subject: Subject = _plain,
    commit_url: str = "",
    seed: int = 1,
) -> WatchDocument:
    """slower: by how much (a logarithm) `pipe` is from revision SLOW on. broken: revisions whose
    runs have failed."""
    revisions = made_revisions(subject)
    variants = tuple(
        (each.variant, (("CONFIG_HZ", str(100 + n)),)) for n, each in enumerate(revisions)
    )
    study = Study(
        source="x", config="lab", factors=(), cpu="skylake", variants=variants,
        name="watch", design=Design(layouts=LAYOUTS),
    )  # fmt: skip
    numbers = {name: number for number, (name, _) in enumerate(variants)}
    luck = np.random.default_rng(seed).normal(0, 0.004, (REVISIONS, 3, LAYOUTS + 1))

    def figure(trial: Trial) -> float:
        number = numbers[trial.variant.name]
        if number in broken:
            return -1
        workload = NAMES.index(trial.workload)
        change = slower if workload == 0 and number >= SLOW else 0.0
        return 1e6 * exp(change + luck[number, workload, trial.layout_number])

    machine = open_machine("skylake")
    planned = plan_variants(study, NAMES)
    prepared = Prepared(
        study, study.digest, {"x": Source("linux", Path(), "7.3", "sha256:0", "test")},
        tuple(Workload(name, ("lab",), "", 1, 1, ()) for name in NAMES), (), machine, machine,
        planned, plan_trials(study, planned, NAMES),
    )  # fmt: skip
    measured = [Measured(t, str(t.position), _run(t, figure(t))) for t in prepared.trials]
    result = judge(prepared, Forge(prepared, Silent()), measured, 0.0)
    return watch_document(result, revisions, "linux", least=0.1, commit_url=commit_url)


def _run(trial: Trial, value: float) -> RunRow:
    status = "ok" if value >= 0 else "panic"
    metrics = {"model_cycles": (value, "cycles")}
    return RunRow(str(trial.position), 1, status, "", "", now(), 1.0, metrics)
