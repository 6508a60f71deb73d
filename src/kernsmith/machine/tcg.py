# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine without noise: QEMU's TCG with a virtual clock, counted by the tracer.

Executes exactly the same instructions in every run of one kernel and workload; the tracer counts
them and simulates the front end of a CPU model. Needs no KVM, no PMU and no root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kernsmith import paths
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.files import write_bytes
from kernsmith.guest.initramfs import build_initramfs
from kernsmith.guest.suite import Vcpus
from kernsmith.guest.workloads import Workload, guest_program
from kernsmith.machine import snapshot
from kernsmith.machine.besides import words_of
from kernsmith.machine.held import figures
from kernsmith.machine.metrics import METRICS, OF_DATA, OF_PMU, VERSION
from kernsmith.machine.models import check_model, model_path
from kernsmith.machine.pinned import Pinned, PinnedProgram, pin, pin_file, pin_program
from kernsmith.machine.protocol import Images, Job, Kind, Metric
from kernsmith.machine.tcg_session import TcgSession
from kernsmith.study.study import FRONTEND, Depth

NAME = "tcg"
_ARCH = find_arch()
QEMU = _ARCH.qemu.program
BOOT_SECONDS = 300.0
MINIMUM_QEMU = 10
LOADED_FIRST = "rdinit=/modules/load"
"""What a kernel with modules is told: to run guest/modules/load.c, which becomes /init."""

DATA_FREE = "Data neither misses caches nor displaces code in them; wrong paths fetch nothing."
DATA_FOLLOWED = (
    "Loads and stores miss caches and TLBs and displace code in L2. Loads that are in the reorder "
    "window together overlap, whichever needs which; nobody waits for stores; wrong paths fetch "
    "nothing."
)

# What a noise-free model leaves out; docs/model.md says more.
ASSUMPTIONS = (
    "The guest has one vCPU, or as many as its workload needs, which take turns. Its time is "
    "virtual: one instruction takes 2 ns and idling none: interrupts do not depend on what code "
    "costs.",
    DATA_FREE,
    "Kernel code is in the pages that the guest maps it in: on x86-64 of 2 MiB, up to 2 MiB at the "
    "end of the text of 4 KiB. Programs have pages of 4 KiB.",
    "Interrupt entries, page faults and user code go through the simulated caches; only kernel "
    "code is counted.",
    "Repeated runs are equal to the last digit: figures vary with layouts, and with boots where a "
    "study asks for several, and with nothing else.",
)


class Table(BaseModel):
    """[machine.settings] of the machine tcg."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time_limit: float | None = Field(None, gt=0)
    slots: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1)
    depth: Depth = FRONTEND
    vcpus: Vcpus = 1
    snapshots: bool = False


@dataclass(frozen=True)
class Tcg:
    """QEMU with `-icount` and the tracer plugin; all of it pinned when it was opened.

    model, tracer, guest: the CPU model, the plugin, and the initramfs.
    boot_seconds: the time limit of a boot; None: see `limit`. slots: sessions at once, which share
        nothing.
    depth: of the simulation. What trains or traces is the depth `frontend`: loads and stores are in
        no trace.
    vcpus: of every guest; one has more where its workload needs more. They take turns in one
        thread. Traces are of one vCPU.
    snapshots: guests go on from one, where there may be one (`machine.snapshot`).
    """

    model: Pinned
    tracer: Pinned
    guest: Pinned
    qemu: PinnedProgram
    boot_seconds: float | None = None
    slots: int = 1
    depth: Depth = FRONTEND
    vcpus: int = 1
    snapshots: bool = False
    name: str = NAME
    exact: bool = True
    apart: bool = True
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()

    @property
    def cpu(self) -> Path:
        """The CPU model's file."""
        return self.model.path

    def limit(self, workload: Workload) -> float:
        """Seconds that a boot with a workload may take: what the machine is told, else what the
        workload needs."""
        return self.boot_seconds or workload.time_limit or BOOT_SECONDS

    def hanging(self, workload: Workload) -> str:
        """That a boot took longer than that, and what allows more."""
        said = f"no end after {self.limit(workload):g} s"
        if self.boot_seconds:
            return said
        where = f"in {workload.file}" if workload.file else "in a study's [machine.settings]"
        return f"{said} (time_limit {where} allows more)"

    @property
    def follows_data(self) -> bool:
        """Whether loads and stores are simulated."""
        return self.depth != FRONTEND

    @property
    def profiles(self) -> bool:
        """See `Machine`."""
        return not self.follows_data

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """See `Machine`."""
        unknown = {*OF_PMU, *(() if self.follows_data else OF_DATA)}
        simulated = (each for each in METRICS if each.meaning != "real")
        return tuple(each for each in simulated if each.name not in unknown)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Machine`."""
        if not self.follows_data:
            return ASSUMPTIONS
        return tuple(DATA_FOLLOWED if each == DATA_FREE else each for each in ASSUMPTIONS)

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """CPU model, tracer, guest, QEMU and command line, by content: metrics depend on all.

        kernel: what is told to it, and not to others, is in its command line, too.
        """
        nothing = Job(Workload("", (), "", 0, 0, ()), Path())
        _, *words = self.command(Path("vmlinux"), nothing, Path("initramfs"), {})
        model = figures(self.cpu)
        if not self.follows_data:
            model.pop("data", None)
        return {
            **({"depth": self.depth} if self.follows_data else {}),
            **({"snapshots": snapshot.programs_digest()} if self.snapshots else {}),
            "metrics": VERSION,
            "qemu": self.qemu.banner,
            "qemu_sha256": self.qemu.digest,
            "tracer": self.tracer.digest,
            "guest": self.guest.digest,
            "cpu": model,
            "command": [QEMU, *words[: words.index("-plugin")]],
            **({"told": list(told)} if kernel and (told := words_of(kernel)) else {}),
        }

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[TcgSession]:
        """A session that boots anew for each run; nothing of it stays in `folder`."""
        yield TcgSession(self, image)

    def vcpus_of(self, workload: Workload) -> int:
        """How many vCPUs the guest of a workload has."""
        return max(self.vcpus, workload.vcpus)

    def parted_guest(self, job: Job) -> snapshot.PartedGuest | None:
        """The guest of a job that goes on from a snapshot; None: it boots anew."""
        if not self.snapshots or self.vcpus_of(job.workload) > 1 or job.modules:
            return None
        return snapshot.parted_guest(job.workload, job.workload.initramfs or self.guest.path)

    def initramfs(self, job: Job, parted: snapshot.PartedGuest | None = None) -> Path:
        """The guest's archive or the workload's, with that of the kernel's modules behind it."""
        own = job.workload.initramfs or self.guest.path
        if parted is not None:
            own = pin(parted.initramfs, "parted.cpio").path
        if job.modules is None:
            return own
        path = job.folder / "initramfs.cpio"
        write_bytes(path, own.read_bytes() + job.modules.read_bytes())
        return path

    def command(
        self,
        image: Path,
        job: Job,
        initramfs: Path,
        files: Mapping[str, Path],
        behind: Path | None = None,
        besides: Sequence[str] = (),
        *,
        told_later: bool = False,
    ) -> list[str]:
        """QEMU's command line for one boot. files: the tracer's options that name its outputs.

        told_later: the kernel is not told the workload's name. behind: the workload, as the end of
            the disk; None: the disk, if any, ends with the root.
        besides: what this kernel is told that others are not, see `told_besides`.
        """
        options: dict[str, object] = {"cpu": self.cpu, "image": job.program or image, **files}
        if self.follows_data:
            options["depth"] = self.depth
        if job.trace:
            options["tag"] = job.trace
        if job.memory:
            first, end = job.memory
            options["span"] = f"{first:x}-{end:x}"
        if job.called:
            options["called"] = "+".join(f"{address:x}" for address in job.called)
        if job.user:
            options["user"] = "on"
        if not job.counted:
            options["count"] = "off"
        loads = (LOADED_FIRST,) if job.modules else ()
        memory, disk = _memory(job.workload, behind)
        told = () if told_later else (_guest_arguments(job.workload),)
        boot = job.workload.boot
        luck = (f"kernsmith.boot={boot}",) if boot else ()
        words = [_ARCH.boot.exact_words, *luck, *loads, *disk, *besides, *told, *job.words]
        # QEMU takes a comma in a value when it is doubled.
        asked = [str(self.tracer.path), *(f"{name}={value}" for name, value in options.items())]
        plugin = ",".join(word.replace(",", ",,") for word in asked)
        return [
            str(self.qemu.path), "-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off",
            "-smp", _ARCH.qemu.processors(self.vcpus_of(job.workload)),
            *memory, *_ARCH.qemu.options, "-seed", "1",
            "-rtc", "base=2026-01-01,clock=vm", "-nodefaults", "-display", "none",
            "-serial", "stdio", "-no-reboot",
            "-kernel", str(image), "-initrd", str(initramfs),
            "-append", " ".join(words),
            "-plugin", plugin,
        ]  # fmt: skip


def _memory(workload: Workload, behind: Path | None) -> tuple[list[str], list[str]]:
    """QEMU's options for the guest's memory, and the kernel's words for the disk in it, if any."""
    root = workload.root
    if root is None:
        return ["-m", str(workload.mib)], []
    try:
        size = root.stat().st_size
    except OSError as error:
        raise UserError(
            f"the root's image {root} cannot be read ({error.strerror}); start the same command "
            "again"
        ) from None
    more = (str(behind), snapshot.WORKLOAD_BYTES) if behind else None
    whole = size + (snapshot.WORKLOAD_BYTES if behind else 0)
    return _ARCH.disk.options(str(root), size, workload.mib, more), [_ARCH.disk.words(whole)]


def _guest_arguments(work: Workload) -> str:
    return (
        f"kernsmith.workload={work.name} kernsmith.rounds={work.rounds} "
        f"kernsmith.warmup={work.warmup}"
    )


def open_machine(cpu: str, settings: Table | None = None) -> Tcg:
    """The `tcg` machine with a CPU model.

    cpu: as of `model_path`.

    Raises:
        UserError: no such model, it is not a valid one, or it does not know the depth that is set;
            tracer, guest or QEMU are missing.
    """
    path = model_path(cpu)
    settings = settings or Table.model_validate({})
    model = check_model(path)
    if settings.depth != FRONTEND and not model["data"]:
        raise UserError(
            f"the CPU model {model['name']} knows only the depth frontend: core needs a model that "
            "has [data], such as emeraldrapids"
        )
    guest = build_initramfs(guest_program())
    return Tcg(
        model=pin_file(path),
        tracer=pin_file(tracer_path()),
        guest=pin(guest, "initramfs.cpio"),
        qemu=pin_program(QEMU, MINIMUM_QEMU),
        boot_seconds=settings.time_limit,
        slots=settings.slots,
        depth=settings.depth,
        vcpus=settings.vcpus,
        snapshots=settings.snapshots,
    )


def tracer_path() -> Path:
    """The tracer plugin, which `make setup` builds.

    Raises:
        UserError: it is not built.
    """
    path = paths.shipped("target/release/libkernsmith_tracer.so")
    if not path.exists():
        raise UserError(f"{path.name} is not built yet: run make setup")
    return path


KIND = Kind(NAME, NAME, Table, lambda argument, cpu, settings: open_machine(cpu, settings))
