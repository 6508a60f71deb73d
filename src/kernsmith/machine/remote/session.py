# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot of a kernel on a machine elsewhere, and the runs in it.

The machine has a folder for each image (`BATCHES`), a batch: what was planned and what came out.
Whoever is killed at any moment finds there, when he comes again, what had been measured.
"""

from __future__ import annotations

import contextlib
import shlex
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
from kernsmith.machine.batch import PLAN, RESULTS, Planned, Recorded, plan_text, read_results
from kernsmith.machine.conditions import as_told, throttling
from kernsmith.machine.metrics import REFERENCE_CYCLES, metric
from kernsmith.machine.protocol import FAILED, HANG, OK, PANIC, Boot, Job, Outcome
from kernsmith.machine.remote.connection import RemoteFailed, Unreachable, patiently
from kernsmith.machine.remote.host import Host, Loaded, measured_batch
from kernsmith.machine.remote.look import Look
from kernsmith.machine.remote.modules import Modules, installed_modules
from kernsmith.machine.running import build_id_in

if TYPE_CHECKING:
    from kernsmith.machine.ssh import Ssh

BATCHES = "batches"
BUSY = 3
"""What the runner ends with where the batch is being run already: the connection was lost."""
_SLACK_SECONDS = 60.0


@dataclass(frozen=True)
class _End:
    """How a boot ended before its runs did."""

    status: str
    reason: str


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
    ended: _End | None = None
    _began: float = 0.0
    _arrived: bool = False
    _steps: list[str] = field(default_factory=list)
    _planned: list[Planned] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.host: Host = self.machine.reach()
        self.kernel = build_id_in(self.image)
        with self.image.open("rb") as file:
            content = sha256(file.read())
        self.batch = content.hexdigest()[:16]
        self.place = f"{self.machine.settings.folder}/{BATCHES}/{self.batch}"

    def run(self, job: Job) -> Outcome:
        """See `Session`."""
        began = time.monotonic()
        name = job.name or uuid4().hex
        if not self._arrived:
            self._arrive()
        if (earlier := self.found.get(name)) and earlier.ok:
            return self._taken_up(job, earlier)
        if self.up is None and self.ended is None:
            self._bring_up()
        recorded = None
        if self.up is not None:
            recorded = self._measure(job, name)
        return self._outcome(job, recorded, time.monotonic() - began)

    @property
    def _lease(self) -> float:
        """Seconds after which a session that did not come back has ended for others."""
        asked = self.machine.settings
        return 3 * asked.boot_seconds + asked.runs * (asked.time_limit + _SLACK_SECONDS)

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
                self._wait()
        self.found = self._results()
        if measured_batch(look):
            self._step("rebooting it into its own kernel")
            look = self._rebooted(self.host.answer())
        self._own, self._arrived = look, True

    def _bring_up(self) -> None:
        """Enter the kernel; where that fails, the session's runs have its reason."""
        machine, host = self.machine, self.host
        modules = installed_modules(self.image)
        loaded = self._copy(modules)
        self.boots.append(self._boot())
        try:
            host.load(loaded, self._own)
        except RemoteFailed as error:
            self.ended = _End(FAILED, f"the kernel cannot be booted: {error}")
            return
        self._step(f"entering {self.kernel} by kexec")
        host.enter()
        try:
            look = host.come_up(self._own)
        except Unreachable:
            self.ended = self._gone(self._own, f"no answer {host.seconds:g} s after kexec")
            return
        if measured_batch(look) != self.batch or look.build_id != self.kernel:
            self.ended = self._died(look, "the machine came back in its own kernel")
            return
        self._step(f"up: {look.release}, boot {look.boot}")
        if machine.settings.tune:
            host.tune(self.batch)
        look, before = patiently(host.look, host.seconds), look
        if look.boot != before.boot:
            self.ended = self._died(look, "the machine restarted as soon as it was up")
            return
        self.up = look

    def _copy(self, modules: Modules | None) -> Loaded:
        """Bring the kernel and what belongs to it to the machine, in place of all earlier ones."""
        host, place = self.host, self.place
        content = self.image.read_bytes()
        batches = shlex.quote(f"{self.machine.settings.folder}/{BATCHES}")
        free = host.connection.run(
            f"set -e; rm -rf {batches}; mkdir -p {shlex.quote(place)}; df -Pk {batches} | "
            "awk 'END { print $4 }'",
            "making a folder",
        )
        size = len(content) + (modules.size if modules else 0)
        host.check_space(int(free) << 10, size)
        self._step(f"copying the kernel, {size >> 20} MiB")
        host.connection.send(content, f"{place}/kernel", "copying the kernel")
        if modules:
            archive = f"{place}/modules.tar"
            host.connection.send(modules.archive.read_bytes(), archive, "copying the modules")
            host.connection.run(
                f"cd {shlex.quote(place)}; mkdir modules; tar -xf modules.tar -C modules",
                "unpacking the modules",
            )
        asked = self.machine.settings
        return Loaded(
            batch=self.batch,
            kernel=f"{place}/kernel",
            initramfs=asked.initramfs,
            modules=f"{place}/modules" if modules else "",
            release=modules.release if modules else "",
            words=tuple(asked.words.split()),
        )

    # ---- runs

    def _measure(self, job: Job, name: str) -> Recorded | None:
        """Have a trial run; None when the machine died, which `ended` then tells."""
        asked, connection = self.machine.settings, self.host.connection
        work = job.workload
        self._planned.append(
            Planned(
                name, self.kernel, work.name, work.rounds, work.warmup, asked.runs,
                max(1, round(asked.time_limit)), self.machine.processor,
            )
        )  # fmt: skip
        assert self.up is not None
        before = self.up
        self.host.take(self._lease, self._step)
        try:
            connection.send(
                plan_text(self._planned).encode(), f"{self.place}/{PLAN}", "copying the plan"
            )
            connection.run(f"{self._runner('start')} || test $? -eq {BUSY}", "starting the runner")
            self._wait()
        except Unreachable as error:
            self._step(str(error))
            self.ended = self._after_loss()
            if self.ended:
                self.up = None
        found = self._results().get(name)  # what was brought to the disk before it died is there
        if found and found.done and all(run.boot == before.boot for run in found.runs):
            return found
        if self.up is not None:
            look, self.up = patiently(self.host.look, self.host.seconds), None
            if look.boot == before.boot:
                self.ended = _End(FAILED, "the runner ended before the trial did")
            else:
                self.ended = self._died(look, "the machine restarted before the workload ran")
        return None

    def _wait(self) -> None:
        """Until the runner is done: nothing is sent meanwhile but ssh's own signs of life."""
        asked = self.machine.settings
        limit = asked.runs * (asked.time_limit + _SLACK_SECONDS)
        self.host.connection.run(self._runner("wait"), "the measurement", seconds=limit, once=True)

    def _runner(self, what: str) -> str:
        return f"{shlex.quote(self.host.runner)} {what} {shlex.quote(self.place)}"

    def _after_loss(self) -> _End | None:
        """What became of a machine whose connection was lost: None where it still measures."""
        assert self.up is not None
        before = self.up
        while True:
            try:
                look = patiently(self.host.look, self.host.seconds)
            except Unreachable:
                return self._gone(before, f"no answer for {self.host.seconds:g} s")
            if look.boot != before.boot:
                return self._died(look, "the machine restarted while the workload ran")
            try:
                self._wait()
            except Unreachable:
                continue
            return None

    def _results(self) -> dict[str, Recorded]:
        file = shlex.quote(f"{self.place}/{RESULTS}")
        text = self.host.connection.run(f"[ ! -e {file} ] || cat {file}", "reading the results")
        return read_results(text)

    # ---- bad ends

    def _gone(self, before: Look, what: str) -> _End:
        """A machine that does not answer any more; it is brought back if that can be."""
        if not self.host.power_cycle:
            raise Unreachable(
                f"{self.host.name}: {what}; switch it off and on, and say how kernsmith does that "
                "(machine.settings.power_cycle)"
            )
        self._step(f"{what}: switching it off and on")
        self.host.switch_off_and_on()
        look = self.host.come_up(before)
        self._own = self._rebooted(look) if measured_batch(look) else look
        return _End(HANG, f"{what}; power_cycle brought the machine back")

    def _died(self, look: Look, what: str) -> _End:
        """A machine that came back by itself."""
        words = self.host.last_words()
        self._step(f"{what}; pstore has: {words or 'nothing'}")
        self._own = self._rebooted(look) if measured_batch(look) else look
        said = [line for line in words.splitlines() if "Kernel panic" in line or "BUG:" in line]
        if said:
            return _End(PANIC, f"{what}: {said[-1].strip()}")
        return _End(PANIC, f"{what}, as after a panic; nothing kept its last words")

    def _rebooted(self, look: Look) -> Look:
        """The machine in its own kernel, from a measured one."""
        self.host.reboot()
        try:
            found = self.host.come_up(look)
        except Unreachable:
            if not self.host.power_cycle:
                raise
            self.host.switch_off_and_on()
            found = self.host.come_up(look)
        if measured_batch(found):
            raise KernsmithError(
                f"{self.host.name} boots a measured kernel by default: set its boot loader right"
            )
        return found

    def close(self, *, whole: bool) -> None:
        """Leave the machine as it was found: in its own kernel, without what was brought.

        whole: whether all that was measured has been told; else it stays there, to be taken up.
        """
        if not self._arrived and not self._began:
            return
        status, reason = (OK, "") if self.ended is None else (self.ended.status, self.ended.reason)
        seconds = time.monotonic() - self._began
        try:
            look = self.host.answer()
            if measured_batch(look):
                self._step("rebooting it into its own kernel")
                self._rebooted(look)
            if whole and self._arrived:
                self._clean()
            if self._arrived:
                self.host.free()
        except KernsmithError as error:
            self._step(f"it could not be put in order: {error}")
        finally:
            self.boots = [
                replace(boot, status=status, reason=reason, wall_seconds=seconds)
                if boot.wall_seconds is None
                else boot
                for boot in self.boots
            ]

    def _clean(self) -> None:
        place = shlex.quote(f"{self.machine.settings.folder}/{BATCHES}")
        self.host.connection.run(
            f"for l in /lib/modules/*; do if [ -L $l ]; then case $(readlink $l) in {place}/*) "
            f"rm $l;; esac; fi; done; rm -rf {place}",
            "taking away what was brought",
        )

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
    return {name: (value, metric(name).unit) for name, value in figures.items()}
