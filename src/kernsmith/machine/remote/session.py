# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot of a kernel on a machine elsewhere, and the runs in it.

The machine has a folder for each image (`place`). Whoever is killed at any moment finds there, when
he comes again, what had been measured.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kernsmith.errors import KernsmithError
from kernsmith.files import write_text
from kernsmith.machine.batch import Planned, Recorded
from kernsmith.machine.conditions import as_told, throttling
from kernsmith.machine.metrics import REFERENCE_CYCLES, in_units
from kernsmith.machine.protocol import FAILED, OK, Boot, Job, Outcome
from kernsmith.machine.remote.connection import RemoteFailed, Unreachable, patiently
from kernsmith.machine.remote.host import Host, measured_batch
from kernsmith.machine.remote.look import Look
from kernsmith.machine.remote.modules import installed_modules
from kernsmith.machine.remote.place import Place
from kernsmith.machine.remote.recovery import End, Recovery
from kernsmith.machine.running import build_id_in

if TYPE_CHECKING:
    from kernsmith.machine.ssh import Ssh

_SLACK_SECONDS = 60.0


class LeftBehind(KernsmithError):
    """The machine is, or may be, in another state than before. What was measured is recorded."""


@dataclass
class SshSession:
    """found: what an earlier session, which was killed, has measured of this image, by name.

    up: the machine in the image's kernel; None before and behind it. ended: why it is up no more.
    """

    machine: Ssh
    image: Path
    folder: Path
    boots: list[Boot] = field(default_factory=list)
    found: Mapping[str, Recorded] = field(default_factory=dict)
    up: Look | None = None
    ended: End | None = None
    _began: float = 0.0
    _arrived: bool = False
    _entered: bool = False
    _steps: list[str] = field(default_factory=list)
    _planned: list[Planned] = field(default_factory=list)
    _told_of: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.host: Host = self.machine.reach()
        self.kernel = build_id_in(self.image)
        with self.image.open("rb") as file:
            content = sha256(file.read())
        self.batch = content.hexdigest()[:16]
        self.place = Place(self.host, self.batch)
        self.recovery = Recovery(self.host, self._step)

    def run(self, job: Job) -> Outcome:
        """See `Session`.

        Raises:
            Unreachable: the run before was the last: the machine does not come back by itself.
        """
        if self.ended and self.ended.lost:
            raise Unreachable(self.ended.lost)
        began = time.monotonic()
        name = job.name or uuid4().hex
        if not self._arrived:
            self._arrive()
        if (earlier := self.found.get(name)) and earlier.ok:
            self._told_of.add(name)
            return self._taken_up(job, earlier)
        recorded = None
        try:
            if self.up is None and self.ended is None:
                self._bring_up()
            if self.up is not None:
                recorded = self._measure(job, name)
        except Unreachable as error:
            if not self._entered:
                raise
            self._end(self.recovery.gone(self.up or self._own, str(error)))
        self._told_of.add(name)
        return self._outcome(job, recorded, time.monotonic() - began)

    @property
    def _limit(self) -> float:
        """Seconds that a trial may take."""
        asked = self.machine.settings
        return asked.runs * (asked.time_limit + _SLACK_SECONDS)

    @property
    def _lease(self) -> float:
        """Seconds after which a session that did not come back has ended for others."""
        return 3 * self.machine.settings.boot_seconds + self._limit

    # ---- the way into the kernel

    def _arrive(self) -> None:
        """Come to a machine in whatever state, and leave it in its own kernel."""
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._began = time.monotonic()
        look = self.host.arrive()
        self.host.take(self._lease, lambda who: self._step(f"waiting: {who} uses it"))
        look = self.host.answer()
        if measured_batch(look) == self.batch:
            self._step("the machine is in this kernel already: an earlier command was killed")
            with contextlib.suppress(RemoteFailed, Unreachable):
                self.place.wait(self._limit)
        self.found = self.place.untold()
        if measured_batch(look):
            look = self.recovery.own_kernel(self.host.answer())
        self.host.keep_look()
        self._own, self._arrived = look, True

    def _bring_up(self) -> None:
        """Enter the kernel; where that fails, the session's runs have its reason."""
        asked, host = self.machine.settings, self.host
        modules = installed_modules(self.image)
        size = self.image.stat().st_size + (modules.size if modules else 0)
        self.place.make_room(size)
        self._step(f"copying the kernel, {size >> 20} MiB")
        loaded = self.place.bring(self.image, modules)
        self.boots.append(self._boot())
        try:
            host.load(
                replace(loaded, initramfs=asked.initramfs, words=tuple(asked.words.split())),
                self._own,
            )
        except RemoteFailed as error:
            self.ended = End(FAILED, f"the kernel cannot be booted: {error}")
            return
        self._step(f"entering {self.kernel} by kexec")
        self._entered = True
        host.enter(self._own)
        try:
            look = host.come_up(self._own)
        except Unreachable:
            self._end(self._not_up())
            return
        if measured_batch(look) != self.batch or look.build_id != self.kernel:
            self._end(self.recovery.died(look, "the machine came back in its own kernel"))
            return
        self._step(f"up: {look.release}, boot {look.boot}")
        if asked.tune:
            host.tune(self.batch)
        look, before = patiently(host.look, host.seconds), look
        if look.boot != before.boot:
            self._end(self.recovery.died(look, "the machine restarted as soon as it was up"))
            return
        self.up = look

    def _not_up(self) -> End:
        """Why no other boot has answered."""
        seconds = f"{self.host.seconds:g} s"
        try:
            look = self.host.look()
        except Unreachable:
            return self.recovery.gone(self._own, f"no answer {seconds} after kexec")
        if look.boot != self._own.boot:
            return self.recovery.died(look, f"the machine came up later than {seconds} after kexec")
        return End(FAILED, f"the machine has not left its own kernel {seconds} after kexec")

    # ---- runs

    def _measure(self, job: Job, name: str) -> Recorded | None:
        """Have a trial run; None when it has no end, of which `ended` then tells."""
        asked, work = self.machine.settings, job.workload
        self._planned.append(
            Planned(
                name, self.kernel, work.name, work.rounds, work.warmup, asked.runs,
                max(1, round(asked.time_limit)), self.machine.processor,
            )
        )  # fmt: skip
        assert self.up is not None
        before, deadline = self.up, time.monotonic() + self._limit
        self.host.take(self._lease, self._step)
        try:
            self.place.start(self._planned, sorted(self._told_of))
            self.place.wait(self._limit)
        except Unreachable as error:
            self._step(str(error))
            if end := self._after_loss(before, deadline):
                self._end(end)
                if end.lost:
                    return None
        found = self.place.results().get(name)  # what was on the disk before it died is there
        if found and found.done and all(run.boot == before.boot for run in found.runs):
            return found
        if self.up is not None:
            self._end(self._undone(before, found))
        return None

    def _after_loss(self, before: Look, deadline: float) -> End | None:
        """What became of a machine whose connection was lost, or that has taken all of its time;
        None where it has measured on to the end."""
        host = self.host
        while True:
            try:
                look = patiently(host.look, host.seconds)
            except Unreachable:
                return self.recovery.gone(before, f"no answer for {host.seconds:g} s")
            if look.boot != before.boot:
                return self.recovery.died(look, "the machine restarted while the workload ran")
            left = deadline - time.monotonic()
            try:
                self.place.wait(max(left, _SLACK_SECONDS))
            except Unreachable:
                if left > 0:
                    continue
                what = f"the runner has no end after {self._limit:g} s, and the machine answers"
                return self.recovery.stuck(look, what)
            return None

    def _undone(self, before: Look, found: Recorded | None) -> End:
        """Why the runner has ended and the trial has not."""
        look = patiently(self.host.look, self.host.seconds)
        if look.boot != before.boot:
            return self.recovery.died(look, "the machine restarted before the workload ran")
        if found and found.stuck:
            return self.recovery.stuck(look, "the workload was killed and stays in the kernel")
        said = self.place.complaint()
        what = "the runner ended before the trial did"
        return End(FAILED, f"{what}: {said}" if said else what)

    def _end(self, end: End) -> None:
        """The boot is over."""
        self.ended, self.up = end, None
        if end.own:
            self._own = end.own

    def close(self, *, whole: bool) -> None:
        """Leave the machine as it was found: in its own kernel, without what was brought.

        whole: whether all that was measured has been told; else it stays there, to be taken up.

        Raises:
            LeftBehind: it could not be put in order.
        """
        if not self._arrived and not self._began:
            return
        status, reason = (OK, "") if self.ended is None else (self.ended.status, self.ended.reason)
        seconds = time.monotonic() - self._began
        at_home = False
        try:
            if self.ended and self.ended.lost:
                raise Unreachable(self.ended.lost)
            self.recovery.own_kernel(self.host.answer())
            at_home = True
            self._clean(whole=whole)
        except KernsmithError as error:
            what = "" if at_home else " and may be in another kernel than its own"
            left = f"{self.host.name} could not be put in order{what}: {error}"
            self._step(left)
            raise LeftBehind(f"{left} ({self.console} has all that was done to it)") from error
        finally:
            self.boots = [
                replace(boot, status=status, reason=reason, wall_seconds=seconds)
                if boot.wall_seconds is None
                else boot
                for boot in self.boots
            ]

    def _clean(self, *, whole: bool) -> None:
        if not self._arrived:
            return
        if whole:
            self.place.clean(left=bool(self.found.keys() - self._told_of))
        self.host.forget()
        self.host.free()

    # ---- what is told

    def _step(self, text: str) -> None:
        self._steps.append(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")
        write_text(self.console, "".join(self._steps))

    @property
    def console(self) -> Path:
        """What was done to the machine, step by step."""
        return self.folder / "steps.log"

    def _boot(self, seconds: float | None = None) -> Boot:
        command = ("kexec", "--load", f"{self.place}/kernel")
        return Boot(
            len(self.boots), command, self.console, self._started, "" if seconds is None else OK,
            "", seconds,
        )  # fmt: skip

    def _taken_up(self, job: Job, recorded: Recorded) -> Outcome:
        """A run of a boot that an earlier session began and did not live to record."""
        self._step(f"{job.workload.name} was measured before an earlier command was killed")
        self.boots.append(self._boot(seconds=0.0))
        return self._told(job, recorded, 0.0, {"taken_up": True})

    def _outcome(self, job: Job, recorded: Recorded | None, seconds: float) -> Outcome:
        if recorded is not None and self.up is not None:
            after = self._throttled()
            told = as_told((*self.up.conditions, after))
            return self._told(job, recorded, seconds, {**told, "boot": self.up.boot})
        if recorded is not None and recorded.ok:
            return self._told(job, recorded, seconds, {})
        assert self.ended is not None
        console = job.folder / "console.log"
        write_text(console, "".join(self._steps))
        return Outcome(
            self.ended.status, self.ended.reason, {}, console, seconds, self.boots[-1]
        )  # fmt: skip

    def _throttled(self) -> Any:
        assert self.up is not None
        try:
            after = self.host.look().throttled
        except KernsmithError:
            return throttling(self.up.throttled, replace(self.up.throttled, times=None))
        return throttling(self.up.throttled, after)

    def _told(
        self, job: Job, recorded: Recorded, seconds: float, provenance: dict[str, Any]
    ) -> Outcome:
        console = job.folder / "console.log"
        write_text(console, "".join(f"{line}\n" for run in recorded.runs for line in run.said))
        ticks = [run.metrics.get(REFERENCE_CYCLES) for run in recorded.runs]
        provenance |= {"runs": ticks, "release": getattr(self.up, "release", "")}
        provenance |= recorded.beside
        status = OK if recorded.ok else FAILED
        figures = named(recorded.metrics) if recorded.ok else {}
        return Outcome(
            status, recorded.failure, figures, console, seconds, self.boots[-1],
            provenance=provenance,
        )  # fmt: skip


def named(figures: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    """Figures of the runner with their units."""
    return in_units(figures)
