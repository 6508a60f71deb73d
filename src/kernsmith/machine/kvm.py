# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `kvm`: kernels on the processor that is here, by QEMU and KVM, in time.

A boot serves many runs. The guest's only processor is bound to one of the host's; its memory is in
large pages and there before it starts. The guest itself reads the time stamp counter and, where it
has a PMU, counters around the region (guest/timed).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kernsmith import paths
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.files import locked
from kernsmith.guest.initramfs import build_initramfs, read_program, with_program
from kernsmith.guest.workloads import ROOT_MEMORY_MIB, Workload, timed_program
from kernsmith.machine.conditions import (
    WARNINGS,
    Condition,
    conditions,
    throttled,
    throttling,
)
from kernsmith.machine.kvm_guest import Guest, GuestDied
from kernsmith.machine.kvm_host import Memory, find_memory, kvm_processor
from kernsmith.machine.metrics import (
    CHUNKS,
    LEAST_CYCLES,
    OF_REAL_CLOCK,
    OF_TIMED,
    REFERENCE_CYCLES,
    VERSION,
    in_order,
    in_units,
    metric,
)
from kernsmith.machine.pinned import PinnedProgram, pin, pin_program
from kernsmith.machine.protocol import FAILED, LOST, OK, Boot, Images, Job, Kind, Metric, Outcome
from kernsmith.machine.session_lines import Answer
from kernsmith.machine.tcg import (
    BOOT_SECONDS,
    LOADED_FIRST,
    MINIMUM_QEMU,
    QEMU,
)
from kernsmith.silicon.timing import check_clock, last_processor
from kernsmith.stop import check_stop
from kernsmith.study.study import DEFAULT_CPU

NAME = "kvm"
Accelerator = Literal["kvm", "tcg"]

_ARCH = find_arch()
# Of what a run in a boot is: a change that moves figures.
_SESSIONS = 1
# Among the conditions: what is another in every minute, and tells nothing of where a run was.
_MOMENTARY = frozenset({"load"})
_REST_SECONDS = 0.2
# The watchdog for hard lockups would take a counter of the PMU, where a kernel has it.
_UNWATCHED = "nmi_watchdog=0"
# Clocks of guests that are read in nanoseconds; others go by ticks of the kernel, or stand still.
_FINE_CLOCKS = frozenset({"tsc", "tsc-early", "kvm-clock"})

REAL = (
    "Times are real: of this processor, by its time stamp counter, which goes at one rate whatever "
    "the core's clock does: reference_cycles are time, and no cycles of the core."
)
ASSUMPTIONS = (
    "The kernel runs in a virtual machine with one vCPU: what it asks of the hypervisor (timers, "
    "interrupts) costs more than without one, and page walks are nested.",
    "Runs of one boot share what they leave in the kernel and the pages that it lies in: boots are "
    "what varies, and figures of one boot are no sample of others.",
)
EMULATED = (
    'accel = "tcg": QEMU emulates the processor, so these times are of the emulator and say '
    "nothing of any processor. It is how the machine kvm itself is tested."
)


class Table(BaseModel):
    """[machine.settings] of the machine kvm.

    accel: tcg emulates the processor, to test this machine where there is no KVM. processor: the
    number of the one to run on. time_limit: seconds for a boot, and for each run in it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    accel: Accelerator = "kvm"
    processor: int | None = Field(None, ge=0)
    time_limit: float = Field(BOOT_SECONDS, gt=0)


@dataclass(frozen=True)
class Kvm:
    """QEMU on a processor of this host, and what that was like when the machine was opened.

    guest: the digest of the programs that measure. model: QEMU's `-cpu`.
    """

    processor: int
    conditions: tuple[Condition, ...]
    qemu: PinnedProgram
    guest: str
    memory: Memory
    model: str
    accel: Accelerator = "kvm"
    time_limit: float = BOOT_SECONDS
    name: str = NAME
    exact: bool = False
    apart: bool = False
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()
    profiles: bool = False
    cpu: Path | None = None
    slots: int = 1

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """See `Machine`."""
        return tuple(map(metric, in_order({LEAST_CYCLES, *OF_TIMED})))

    def refusal(self, workload: Workload) -> str:
        """See `Choosy`."""
        needs = f"the workload {workload.name!r} needs"
        guests = f"guests of the machine {self.name} have"
        if workload.vcpus > 1:
            return f"{needs} {workload.vcpus} vCPUs, and {guests} one: use tcg"
        if workload.mib > ROOT_MEMORY_MIB:
            return (
                f"{needs} {workload.mib} MiB of memory, and {guests} at most {ROOT_MEMORY_MIB}: "
                "use tcg"
            )
        return ""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Machine`; with what this host does to times."""
        lasting = (each for each in self.conditions if each.name not in _MOMENTARY)
        warnings = (_sentence(each.warning) for each in lasting if each.warning)
        return (REAL if self.accel == "kvm" else EMULATED, *ASSUMPTIONS, *warnings)

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """The processor, all that is lasting of its conditions, QEMU, and who measures."""
        lasting = {each.name: each.value for each in self.conditions if each.name not in _MOMENTARY}
        nothing = Job(Workload("", (), "", 0, 0, ()), Path())
        _, *words = self.command(Path("vmlinux"), nothing, Path("initramfs"))
        return {
            "metrics": VERSION,
            "sessions": _SESSIONS,
            "qemu": self.qemu.banner,
            "qemu_sha256": self.qemu.digest,
            "guest": self.guest,
            "command": [QEMU, *words],
            "conditions": lasting,
        }

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[KvmSession]:
        """A session that boots when it must. There is one at a time on a processor."""
        with locked(paths.cache_root() / f"processor-{self.processor}.lock", _rest):
            session = KvmSession(self, image, folder)
            try:
                yield session
            finally:
                session.close()

    def initramfs(self, job: Job) -> Path:
        """The workload's archive with the program that knows a real clock in place of the other,
        and that of the kernel's modules behind it."""
        work = job.workload
        program = timed_program(work)
        if work.initramfs is None:
            archive = build_initramfs(program)
        else:
            name = "root/init" if work.root else "init"
            archive = with_program(work.initramfs.read_bytes(), name, read_program(program))
        if job.modules is not None:
            archive += job.modules.read_bytes()
        return pin(archive, "initramfs.cpio").path

    def command(self, image: Path, job: Job, initramfs: Path) -> list[str]:
        """QEMU's command line for a boot, but where its lines are."""
        words = [
            _ARCH.boot.real_words,
            _UNWATCHED,
            *([LOADED_FIRST] if job.modules else ()),
            *job.words,
        ]
        if self.accel != "kvm":
            words.append(_ARCH.boot.untimed)
        mib = job.workload.mib
        memory = ["-m", str(mib)]
        if root := job.workload.root:
            size = root.stat().st_size
            memory = _ARCH.disk.options(str(root), size, mib)
            words.append(_ARCH.disk.words(size))
        return [
            str(self.qemu.path), "-accel", self.accel, "-cpu", self.model, "-smp", "1",
            *memory, *self.memory.options(mib),
            "-nodefaults", "-display", "none", "-no-reboot",
            "-kernel", str(image), "-initrd", str(initramfs), "-append", " ".join(words),
        ]  # fmt: skip


@dataclass
class KvmSession:
    """Runs of one image in one boot, as long as it lives and its workloads are of one archive.

    A workload that has ended a boot is not tried again in this session, and nothing is where the
    image did not boot: all of it would take its time limit each time.
    """

    machine: Kvm
    image: Path
    folder: Path
    boots: list[Boot] = field(default_factory=list)
    _guest: Guest | None = None
    _archive: Path | None = None
    _given_up: dict[str, GuestDied] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)

    def run(self, job: Job) -> Outcome:
        """See `Session`."""
        name = job.workload.name
        if died := self._given_up.get(name) or self._given_up.get(""):
            reason = f"{died.reason} (not tried again in this session)"
            return self._outcome(died.status, reason, told=_told_of(died))
        try:
            guest = self._booted(job)
            began, heat = guest.seconds, throttled()
            answer = guest.run(name, job.workload.rounds, job.workload.warmup)
        except GuestDied as died:
            self._given_up[name if self._guest else ""] = died
            seconds = self._end_boot(died.status, died.reason)
            return self._outcome(died.status, died.reason, seconds=seconds, told=_told_of(died))
        heated = throttling(heat, throttled())
        status, reason = answer.verdict(name)
        figures, absent = _figures(answer, guest.clock) if status == OK else ({}, {})
        if status == OK and REFERENCE_CYCLES not in figures:
            status, reason, figures = FAILED, "the guest told no reference_cycles", {}
        told = {
            "conditions": self._seen | {heated.name: heated.value},
            WARNINGS: {heated.name: heated.warning} if heated.warning else {},
            "processor": self.machine.processor,
            "clock": guest.clock,
            "absent": absent,
            CHUNKS: list(answer.chunks),
        }
        return self._outcome(status, reason, figures, guest.seconds - began, told)

    def close(self) -> None:
        """End the boot that is up."""
        self._end_boot(OK, "")

    def _booted(self, job: Job) -> Guest:
        """The guest that is up; a new one where there is none, or it has another archive."""
        archive = self.machine.initramfs(job)
        if self._guest is not None and archive == self._archive:
            return self._guest
        self._end_boot(OK, "")
        self.machine.qemu.check()
        self._seen = {each.name: each.value for each in conditions()}
        command = self.machine.command(self.image, job, archive)
        console = self.folder / f"boot-{len(self.boots)}.log"
        guest = Guest(command, console, self.machine.processor, self.machine.time_limit)
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.boots.append(Boot(len(self.boots), tuple(command), console, started))
        try:
            guest.start()
        except GuestDied as died:
            self._end_boot(died.status, died.reason, guest.seconds)
            raise
        except BaseException:
            self._end_boot(FAILED, "QEMU did not start", guest.seconds)
            raise
        self._guest, self._archive = guest, archive
        return guest

    def _end_boot(self, status: str, reason: str, seconds: float | None = None) -> float:
        """Note the end of the boot that is up, if there is one, and switch it off."""
        if self._guest is not None:
            seconds = self._guest.seconds
            self._guest.end()
            self._guest = None
        if seconds is not None:
            ended = replace(self.boots[-1], status=status, reason=reason, wall_seconds=seconds)
            self.boots[-1] = ended
        return seconds or 0.0

    def _outcome(
        self,
        status: str,
        reason: str,
        figures: Mapping[str, tuple[float, str]] | None = None,
        seconds: float = 0.0,
        told: Mapping[str, Any] | None = None,
    ) -> Outcome:
        boot = self.boots[-1]
        return Outcome(
            status, reason, figures or {}, boot.console, seconds, boot, provenance=told or {}
        )


def _figures(answer: Answer, clock: str) -> tuple[dict[str, tuple[float, str]], dict[str, str]]:
    """What was measured, and by metric why something was not."""
    absent = dict(answer.absent)
    figures = dict(answer.said.metrics)
    if clock not in _FINE_CLOCKS:
        why = (
            f"the kernel's clock is {clock}, which is too coarse: it took no time stamp counter "
            "(under KVM, CONFIG_KVM_GUEST tells it the rate)"
        )
        absent |= dict.fromkeys(OF_REAL_CLOCK, why)
    figures = {name: value for name, value in figures.items() if name not in absent}
    return in_units(figures), absent


def _told_of(died: GuestDied) -> dict[str, Any]:
    return {LOST: died.reason} if died.lost else {}


def _rest() -> None:
    """Between two looks whether the processor is free."""
    check_stop()
    time.sleep(_REST_SECONDS)


def _sentence(warning: str) -> str:
    return f"{warning[0].upper()}{warning[1:]}."


def open_machine(settings: Table | None = None) -> Kvm:
    """The machine on a processor of this host.

    Raises:
        NoKvm: this host cannot boot kernels so. UserError: its time stamp counter is not
            invariant; there is no processor of that number; guest programs or QEMU are missing.
    """
    settings = settings or Table.model_validate({})
    check_clock()
    model = kvm_processor() if settings.accel == "kvm" else _ARCH.qemu.cpu
    allowed = sorted(os.sched_getaffinity(0))
    processor = last_processor() if settings.processor is None else settings.processor
    if processor not in allowed:
        raise UserError(
            f"machine.settings.processor: {processor} is none that programs may run on here: "
            f"allowed are {', '.join(map(str, allowed))}"
        )
    memory = find_memory(ROOT_MEMORY_MIB)
    return Kvm(
        processor,
        (*conditions(), memory.condition),
        pin_program(QEMU, MINIMUM_QEMU),
        _measuring(),
        memory,
        model,
        settings.accel,
        settings.time_limit,
    )


def _measuring() -> str:
    """The digest of all programs that measure in a guest."""
    folder = timed_program(Workload("", (), "", 0, 0, ())).parent
    digest = sha256()
    for path in sorted(folder.glob("kernsmith-*")):
        digest.update(path.name.encode() + b"\0" + sha256(read_program(path)).digest())
    return digest.hexdigest()


def _open(argument: str, cpu: str, settings: Table) -> Kvm:
    if cpu not in ("", DEFAULT_CPU):  # what commands say when nobody names one
        raise UserError(
            f"machine.cpu: the machine {NAME} runs on the processor that is here and simulates no "
            f"CPU model: leave {cpu} out"
        )
    return open_machine(settings)


KIND = Kind(NAME, NAME, Table, _open)
