# SPDX-License-Identifier: GPL-2.0-or-later
"""Who holds a claim, and whether that process still lives."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A process, told apart from every other one: also after a reboot and a reused pid.

    installation: machine-id(5), which outlives a reboot. space: the process's pid namespace, in
    which alone its number means something. Both are empty in claims of earlier versions.
    """

    host: str
    boot: str
    pid: int
    started: int
    installation: str = ""
    space: str = ""

    @classmethod
    def current(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(
            host=os.uname().nodename,
            boot=_read("/proc/sys/kernel/random/boot_id"),
            pid=pid,
            started=_start_ticks(pid) or 0,
            installation=_read("/etc/machine-id"),
            space=str(Path("/proc/self/ns/pid").readlink()),
        )

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """From what `str` gives; None where it is damaged."""
        try:
            told = json.loads(text)
            known = {field.name: told[field.name] for field in fields(cls) if field.name in told}
            owner = cls(**known)
        except (ValueError, TypeError, RecursionError):
            return None
        types = {name: type(value) for name, value in vars(owner).items()}
        return owner if types == _TYPES else None

    @property
    def words(self) -> str:
        """Which process it is, for people."""
        return f"process {self.pid} on {''.join(filter(str.isprintable, self.host))}"

    def __str__(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    def lives(self) -> bool | None:
        """Whether this process still runs; None where that cannot be seen from here."""
        here = Owner.current()
        if self.boot == here.boot and self.space in ("", here.space):
            return _start_ticks(self.pid) == self.started
        same_host = self.host == here.host and self.installation == here.installation != ""
        if same_host and self.boot != here.boot:  # it did not outlive the reboot
            return False
        return None


_TYPES = dict.fromkeys(("host", "boot", "installation", "space"), str) | dict.fromkeys(
    ("pid", "started"), int
)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc(5), field 22); None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])
