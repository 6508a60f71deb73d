# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of the ledger's studies: how they were built, and whether they boot. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, select

from kernsmith.errors import UserError
from kernsmith.ledger.places import local
from kernsmith.ledger.rows import REPLAYED
from kernsmith.ledger.schema import BUILDS, RUNS, TRIALS
from kernsmith.ledger.table import reading
from kernsmith.ledger.voids import STANDING


@dataclass(frozen=True)
class KernelRow:
    """A variant of a study: its build, and its boots in all studies.

    status: `ok`, `failed` or `refused`; reason: of the latter two, or of the first failed boot.
    objects, seconds: objects and time of the build; compiled: how many of all that it compiled were
        not in the compile cache; text_bytes: size of the code.
    boots, failed_boots: runs that ended well, and those that did not, in any layout.
    layouts: in how many layouts it ran well.
    """

    study: str
    variant: str
    kernel: str
    compiler: str
    linker: str
    status: str
    reason: str
    objects: int | None
    compiled: int | None
    seconds: float | None
    text_bytes: int | None
    boots: int
    failed_boots: int
    layouts: int


def read_kernels(studies: Sequence[str] = (), url: str | None = None) -> list[KernelRow]:
    """All variants of these studies, or of all studies, in the order in which they were recorded.

    A variant that was built at another time in another way is there once for each kernel; one that
    failed, or was refused, and was built later is there as it was built.

    Raises:
        UserError: no such ledger, no such study in it, or no builds at all.
    """
    with reading(url) as connection:
        builds = connection.execute(select(BUILDS).order_by(BUILDS.c.id)).all()
        if not builds:
            raise UserError("the ledger holds no builds yet: run a study first")
        known = list(dict.fromkeys(build.study for build in builds))
        for name in studies:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise UserError(f"no builds of a study {name!r} in the ledger; it has {listed}")
        built = {(b.study, b.variant): b.id for b in builds if b.kernel}
        return [
            _row(connection, b)
            for b in builds
            if not studies or b.study in studies
            if b.kernel or b.id > built.get((b.study, b.variant), 0)
        ]


def _row(connection: Connection, build: Row[tuple[object, ...]]) -> KernelRow:
    fields = dict(build._mapping)
    for name in ("id", "recorded_at", "digest"):
        del fields[name]
    of_kernel = TRIALS.c.kernel == build.kernel if build.kernel else None
    runs = (
        connection.execute(
            select(RUNS.c.status, RUNS.c.reason, TRIALS.c.layout, TRIALS.c.conditions)
            .join(TRIALS, TRIALS.c.digest == RUNS.c.trial)
            .where(of_kernel, STANDING)
            .order_by(RUNS.c.id)
        ).all()
        if of_kernel is not None
        else []
    )
    runs = [run for run in runs if REPLAYED not in run.conditions]
    failed = [run for run in runs if run.status != "ok"]
    if failed:
        fields["reason"] = f"{failed[0].status}: {failed[0].reason}"
    fields["reason"] = local(fields["reason"])
    return KernelRow(
        **fields,
        boots=len(runs) - len(failed),
        failed_boots=len(failed),
        layouts=len({run.layout for run in runs if run.status == "ok"}),
    )
