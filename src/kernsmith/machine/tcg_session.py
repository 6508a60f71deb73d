# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of one image on the machine `tcg`, and what is made of what each left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kernsmith import process
from kernsmith.errors import ProcessFailed, ProcessTimedOut, UserError
from kernsmith.files import locked
from kernsmith.machine import snapshot
from kernsmith.machine.besides import told_besides
from kernsmith.machine.console import Said, read_console
from kernsmith.machine.metrics import by_virtual_clock, in_units
from kernsmith.machine.pinned import standing_digest
from kernsmith.machine.protocol import FAILED, HANG, LOST, OK, Boot, Job, Outcome

if TYPE_CHECKING:
    from kernsmith.machine.tcg import Tcg


@dataclass
class TcgSession:
    """Runs of one image, each in a boot of its own.

    What a workload leaves behind in a kernel that goes on (slabs, free lists, inodes and timers)
    is met by the next one: its figures would depend on what ran before. The guest runs one
    workload as its first process and ends.
    """

    machine: Tcg
    image: Path
    boots: list[Boot] = field(default_factory=list)

    def run(self, job: Job) -> Outcome:
        """Boot the image with the workload as its only process and wait for the end.

        Who else runs in the same folder waits.

        Raises:
            UserError: there is to be a trace, and several vCPUs.
        """
        vcpus = self.machine.vcpus_of(job.workload)
        if job.trace and vcpus > 1:
            raise UserError(
                f"a trace is of one vCPU, and the guest of {job.workload.name} has {vcpus}: what "
                "replays traces cannot take it"
            )
        with locked(job.folder / "lock"):
            return self._run(job)

    def _run(self, job: Job) -> Outcome:
        machine = self.machine
        machine.qemu.check()
        counters = job.folder / "counters.json"
        counts = job.folder / "branches.counts" if job.profile else None
        trace = job.folder / "blocks.trace" if job.trace else None
        memory = job.folder / "counters.memory" if job.memory else None
        values = job.folder / "called.values" if job.called else None
        written = {
            "out": counters, "profile": counts, "trace": trace, "memory": memory, "values": values
        }  # fmt: skip
        files = {option: path for option, path in written.items() if path}
        for path in files.values():
            path.unlink(missing_ok=True)
        parted = machine.parted_guest(job)
        behind = snapshot.write_disk(parted, job.folder) if parted else None
        initramfs = machine.initramfs(job, parted)
        besides = told_besides(self.image, job)
        command = machine.command(
            self.image, job, initramfs, files, behind, besides, told_later=parted is not None
        )
        console = job.folder / "console.log"
        hung, limit, failure = False, machine.limit(job.workload), ""
        seconds = limit
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            if parted is None:
                seconds = process.run(command, log=console, timeout=limit, capture=False).seconds
            else:
                known = {each: standing_digest(each) for each in (self.image, initramfs)}
                known |= {machine.qemu.path: machine.qemu.digest}
                known |= {path: "" for path in (job.workload.root,) if path}  # the initramfs has it
                seconds = snapshot.run(command, parted, behind, known, console, limit)
        except snapshot.NoSnapshot as error:
            hung, failure = error.hung, "" if error.ended else str(error)
        except ProcessTimedOut:
            hung = True
        except ProcessFailed as error:
            failure = error.brief
        said = read_console(console.read_text(encoding="utf-8", errors="replace"))
        status, reason, metrics = self._judge(job, said, counters, hung, failure)
        boot = Boot(
            len(self.boots), tuple(command), console, started, status, reason, wall_seconds=seconds
        )
        self.boots.append(boot)
        counts, trace, memory, values = (
            path if path and path.exists() else None for path in (counts, trace, memory, values)
        )
        lost = status == FAILED and _is_lost(said, job, failure)
        return Outcome(
            status, reason, metrics, console, seconds, boot, counts, trace, memory, values,
            said.modules, {LOST: reason} if lost else {},
        )  # fmt: skip

    def _judge(
        self, job: Job, said: Said, counters: Path, hung: bool, failure: str
    ) -> tuple[str, str, Mapping[str, tuple[float, str]]]:
        if hung and not said.panic:
            return HANG, said.explained(self.machine.hanging(job.workload)), {}
        status, reason = said.verdict(job.workload.name)
        if status != OK:
            told = [reason] if said.began or not failure else []
            return status, ": ".join([*told, *([failure] if failure else [])]), {}
        if not job.counted:
            return OK, "", {}
        try:
            counted = json.loads(counters.read_text(encoding="utf-8"))["counters"]
        except (OSError, ValueError, KeyError):
            return FAILED, "the tracer wrote no counters: the workload marked no region", {}
        figures = counted | by_virtual_clock(said.metrics)
        return OK, "", in_units(figures, job.workload.metrics)


def _is_lost(said: Said, job: Job, failure: str) -> bool:
    """Whether it was the emulator or the tracer that failed, and not what the guest ran."""
    if said.ended is None:
        return bool(failure)
    return said.verdict(job.workload.name)[0] == OK
