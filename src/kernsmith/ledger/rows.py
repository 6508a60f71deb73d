# SPDX-License-Identifier: GPL-2.0-or-later
"""What the ledger's rows say, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

OK = "ok"
STATUSES = (OK, "panic", "hang", "failed")
"""How a run can end."""
REPLAYED = "replayed"
"""Among the conditions of a trial whose layout is replayed: what it gives is no boot's run."""
REPLAYED_FROM = "replayed_from"
"""In the provenance of a run by replay: what its trace says that it is of, and the trial that wrote
it."""


def now() -> str:
    """This moment in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class TrialRow:
    """A trial as the ledger knows it: by the content of everything that its outcome depends on.

    conditions: JSON-able; the machine's fingerprint, the workload's digest and its rounds.
    """

    digest: str
    kernel: str
    variant: str
    layout: str
    workload: str
    machine: str
    cpu: str
    replicate: int
    conditions: Mapping[str, Any] = field(compare=False)

    @property
    def replayed(self) -> bool:
        """Whether its layout is replayed from a trace, and not booted."""
        return REPLAYED in self.conditions

    @property
    def booted_conditions(self) -> dict[str, Any]:
        """The conditions of the trial that boots the same layout."""
        return {name: value for name, value in self.conditions.items() if name != REPLAYED}


@dataclass(frozen=True)
class RunRow:
    """The outcome of one trial. `metrics` maps a name to (value, unit).

    console: the file on this host; its row holds the key (:mod:`kernsmith.ledger.places`).
    boot: the boot that it ran in, as :meth:`Ledger.record_boot` numbered it; None in ledgers of
        before boots were recorded.
    """

    trial: str
    attempt: int
    status: str
    reason: str
    console: str
    started_at: str
    wall_seconds: float
    metrics: Mapping[str, tuple[float, str]]
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)
    boot: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the workload ended as it should."""
        return self.status == OK

    @property
    def replayed_from(self) -> str:
        """The trial that wrote the trace of a run by replay; empty for others."""
        trial: str = self.provenance.get(REPLAYED_FROM, {}).get("trial", "")
        return trial


@dataclass(frozen=True)
class BootRow:
    """One boot of an image on a machine; the runs of a session share one.

    session: names the session; a machine that boots anew in one records several boots with it.
    image: the key of what was booted; kernel and layout say what that is.
    command: how the machine was started, the program by its name. console: see :class:`RunRow`.
    status: `ok`, `panic`, `hang` or `failed`; empty, as long as it is up (and for ever, if the
        process that had it was killed). wall_seconds: from start to end; None while it is up.
    """

    session: str
    machine: str
    image: str
    kernel: str
    layout: str
    command: Sequence[str]
    console: str
    started_at: str
    wall_seconds: float | None = None
    status: str = ""
    reason: str = ""


@dataclass(frozen=True)
class BuildRow:
    """What became of one variant of a study before it could run.

    kernel: its content address; empty when there is no kernel.
    status: `ok`, `failed` or `refused`. reason: why, for the last two.
    objects, seconds: objects and time of the build that made the kernel; compiled: how many of all
        that it compiled (tools and boot code, too) were not in the compile cache.
    text_bytes: size of the kernel's code.
    """

    study: str
    variant: str
    kernel: str
    status: str
    reason: str
    compiler: str
    linker: str
    objects: int | None = None
    compiled: int | None = None
    seconds: float | None = None
    text_bytes: int | None = None
