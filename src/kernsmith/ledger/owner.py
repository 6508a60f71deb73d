# SPDX-License-Identifier: GPL-2.0-or-later
"""Who holds a claim, and whether that process still lives."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

# A claim from another host cannot be checked; past this age it counts as given up.
FOREIGN_LEASE = timedelta(minutes=15)


@dataclass(frozen=True)
class Owner:
    """A process, told apart from every other one: also after a reboot and a reused pid."""

    host: str
    boot: str
    pid: int
    started: int

    @classmethod
    def current(cls) -> Owner:
        """This process."""
        return cls(os.uname().nodename, _boot_id(), os.getpid(), _start_ticks(os.getpid()) or 0)

    @classmethod
    def parse(cls, text: str) -> Owner:
        """From what `str` gives."""
        return cls(**json.loads(text))

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    def lives(self, taken_at: str) -> bool:
        """Whether the claim that this process took at `taken_at` still stands."""
        if self.host != os.uname().nodename:
            return datetime.now(UTC) - datetime.fromisoformat(taken_at) < FOREIGN_LEASE
        return self.boot == _boot_id() and _start_ticks(self.pid) == self.started


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc(5), field 22); None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])
