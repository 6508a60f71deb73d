# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of commands on the running kernel: earlier ones of the same, by kernel and boot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from kernsmith.ledger.opening import Database
from kernsmith.ledger.rows import OK
from kernsmith.ledger.schema import BOOTS, BUILDS, METRICS, RUNS, TRIALS
from kernsmith.ledger.voids import STANDING


@dataclass(frozen=True)
class MeasuredRun:
    """A run that ended well.

    kernel: its key. name: how its variant was called. boot: the boot's own name.
    number: of the run in the ledger, which counts up in the order of recording.
    exit_code: of the command; one that failed may have been measured all the same.
    folder: that the command ran in; empty in ledgers of before it was recorded.
    """

    kernel: str
    name: str
    layout: str
    workload: str
    boot: str
    number: int
    value: float
    exit_code: int = 0
    folder: str = ""


def earlier_runs(
    database: Database, cpu: str, workloads: Sequence[str], metric: str
) -> list[MeasuredRun]:
    """One metric of all runs of these workloads on a computer that count, by time."""
    query = (
        select(
            TRIALS.c.kernel, TRIALS.c.variant, TRIALS.c.layout, TRIALS.c.workload, BOOTS.c.session,
            RUNS.c.id, METRICS.c.value, RUNS.c.provenance, TRIALS.c.conditions,
        )
        .join(TRIALS, TRIALS.c.digest == RUNS.c.trial)
        .join(BOOTS, BOOTS.c.id == RUNS.c.boot)
        .join(METRICS, METRICS.c.run == RUNS.c.id)
        .where(
            TRIALS.c.cpu == cpu, TRIALS.c.workload.in_(workloads),
            RUNS.c.status == OK, METRICS.c.name == metric, STANDING,
        )
        .order_by(RUNS.c.id)
    )  # fmt: skip
    with database.reading() as connection:
        return [_measured(row) for row in connection.execute(query)]


def _measured(row: Sequence[Any]) -> MeasuredRun:
    kernel, name, layout, workload, boot, number, value, provenance, conditions = row
    code, folder = provenance.get("exit_code", 0), conditions.get("folder", "")
    return MeasuredRun(kernel, name, layout, workload, boot, number, value, code, folder)


def find_boot(database: Database, session: str) -> int | None:
    """The number of a boot that was recorded under this name."""
    with database.reading() as connection:
        query = select(BOOTS.c.id).where(BOOTS.c.session == session).order_by(BOOTS.c.id).limit(1)
        return connection.execute(query).scalar()


def variant_of(database: Database, kernel: str) -> str | None:
    """How the latest study that built this kernel called it."""
    with database.reading() as connection:
        query = select(BUILDS.c.variant).where(BUILDS.c.kernel == kernel)
        return connection.execute(query.order_by(BUILDS.c.id.desc()).limit(1)).scalar()
