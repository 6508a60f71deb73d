# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `self`: this computer, or one that a folder is carried to, boots each kernel alone.

A computer that boots another kernel runs no kernsmith meanwhile: what is to be done is packed into
a folder (`remote.folder`), and what was done is read from it. docs/machine-self.md tells the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field

from kernsmith import process
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.drivers import Needed
from kernsmith.machine.batch import Planned, Recorded
from kernsmith.machine.conditions import Condition, as_told, throttling
from kernsmith.machine.metrics import VERSION
from kernsmith.machine.protocol import (
    FAILED,
    HANG,
    OK,
    Boot,
    Images,
    Job,
    Kind,
    Metric,
    Outcome,
    Session,
)
from kernsmith.machine.remote.folder import STATE, Enter, Manner, Stop, Told, own_look, pack, unpack
from kernsmith.machine.remote.look import Look, read_look, runner_program
from kernsmith.machine.remote.scripts import WORDS
from kernsmith.machine.remote.session import named
from kernsmith.machine.remote.settings import (
    ASSUMPTIONS,
    MANNER,
    RealTable,
    real_metrics,
    refusal_of,
)
from kernsmith.machine.running import build_id_in

NAME = "self"
_LAST = -2
"""For the runner: the last processor that is online there (guest/machine/batch.h)."""


class Table(RealTable):
    """[machine.settings] of the machine self.

    host: what you call the computer that the folder is carried to; empty: it is this one. enter: by
    kexec, or grub (a boot entry that is taken once). go_on: with the next kernel, after one that
    died. pause: seconds in its own kernel between two others, in which it can be stopped.
    """

    host: str = Field("", pattern=r"^[\w.-]{0,64}$")
    enter: Enter = "kexec"
    go_on: bool = False
    pause: int = Field(10, ge=0, le=3600)


@dataclass(frozen=True)
class Itself:
    """seen: this computer as it is now; None where the folder is carried elsewhere."""

    settings: Table
    seen: Look | None
    runner: str
    exact: bool = False
    apart: bool = False
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()
    profiles: bool = False
    cpu: Path | None = None
    slots: int = 1
    name: str = NAME

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """See `Machine`; of a computer that is elsewhere, all that one may have."""
        return real_metrics(counts=self.seen is None or self.seen.counts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Machine`; with what the computer does to times."""
        warnings = (each.warning for each in self.lasting if each.warning)
        return (*ASSUMPTIONS, *(f"{text[0].upper()}{text[1:]}." for text in warnings))

    @property
    def lasting(self) -> tuple[Condition, ...]:
        """What is the same in all of its kernels."""
        names = ("processor", "microcode", "virtual", "smt")
        return (
            tuple(each for each in self.seen.conditions if each.name in names) if self.seen else ()
        )

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """See `Machine`."""
        asked = self.settings
        return {
            "metrics": VERSION,
            "manner": MANNER,
            "host": asked.host or (self.seen.host if self.seen else ""),
            "conditions": {each.name: each.value for each in self.lasting},
            "runner": self.runner,
            "runs": asked.runs,
            "processor": self.processor,
            "words": [*WORDS, *asked.words.split()],
            "tune": asked.tune,
            "enter": asked.enter,
        }

    @property
    def processor(self) -> int:
        """Where workloads run."""
        if self.settings.processor is not None:
            return self.settings.processor
        return self.seen.processors[-1] if self.seen else _LAST

    @property
    def needed(self) -> tuple[Needed, ...]:
        """See `Driven`."""
        return (Needed("its root", self.seen.root),) if self.seen else ()

    def refusal(self, workload: Workload) -> str:
        """See `Choosy`."""
        return refusal_of(self.name, workload)

    def open(self, image: Path, folder: Path) -> AbstractContextManager[Session]:
        """See `Machine`; there is none.

        Raises:
            UserError: always.
        """
        raise UserError(
            "kernsmith does not run while this computer is in another kernel: on the machine self "
            "a study is run by kernsmith run or kernsmith batch, and read by kernsmith resume"
        )

    # ---- see `Carried`

    def pack(self, visits: Sequence[tuple[Path, Sequence[Job]]], folder: Path) -> None:
        """See `Carried`."""
        asked = self.settings
        stops = [
            Stop(image, tuple(self._planned(image, job) for job in jobs)) for image, jobs in visits
        ]
        name = sha256("".join(t.name for s in stops for t in s.trials).encode()).hexdigest()[:16]
        manner = Manner(
            asked.initramfs, tuple(asked.words.split()), asked.enter, asked.go_on, asked.tune,
            asked.pause,
        )  # fmt: skip
        pack(stops, folder, name, manner)

    def _planned(self, image: Path, job: Job) -> Planned:
        work, asked = job.workload, self.settings
        return Planned(
            job.name, build_id_in(image), work.name, work.rounds, work.warmup, asked.runs,
            max(1, round(asked.time_limit)), self.processor,
        )  # fmt: skip

    def unpack(self, folder: Path) -> Iterator[tuple[str, Outcome]]:
        """See `Carried`.

        Raises:
            UserError: the folder is none of a batch, or was gone through by another computer.
        """
        own = own_look(folder)
        if own and self.seen and not self.settings.host and own.host != self.seen.host:
            raise UserError(
                f"{folder} was gone through by another computer than this one: prepare it with "
                "kernsmith batch --host NAME"
            )
        for number, told in enumerate(unpack(folder)):
            boot = Boot(
                number, ("kernsmith-batch", told.number), folder / STATE, f"{told.entered}+00:00",
                told.status, told.reason, told.seconds,
            )  # fmt: skip
            for name, recorded in told.trials.items():
                if outcome := _outcome(told, recorded, boot):
                    yield name, outcome


def _outcome(told: Told, recorded: Recorded, boot: Boot) -> Outcome | None:
    """None while nothing is known of its end."""
    if not recorded.done and not told.status:
        return None
    provenance: dict[str, Any] = dict(recorded.beside)
    provenance["runs"] = [run.metrics.get("reference_cycles") for run in recorded.runs]
    if told.before:
        seen = list(told.before.conditions)
        if told.after:
            seen.append(throttling(told.before.throttled, told.after.throttled))
        provenance |= as_told(seen)
        provenance |= {"boot": told.before.boot, "release": told.before.release}
    figures = named(recorded.metrics) if recorded.ok else {}
    status, reason = (OK, "") if recorded.ok else (FAILED, recorded.failure)
    if not recorded.done:
        status, reason = told.status, told.reason
        if recorded.stuck:
            status, reason = HANG, "the workload was killed and stayed in the kernel"
        elif status == OK:
            status, reason = FAILED, "the runner ended before the trial did"
    seconds = sum(run.seconds for run in recorded.runs)
    return Outcome(status, reason, figures, boot.console, seconds, boot, provenance=provenance)


def open_self(settings: Table | None = None) -> Itself:
    """The machine; this computer is looked at, unless the folder is for another one.

    Raises:
        UserError: it has no such processor, or is locked down.
    """
    settings = settings or Table.model_validate({})
    program = runner_program()
    if not program.is_file():
        raise UserError(f"{program.name} is not built yet: run make setup")
    digest = sha256(program.read_bytes()).hexdigest()
    if settings.host:
        return Itself(settings, None, digest)
    seen = _look_here(program)
    if seen.forbidden and settings.enter == "kexec":
        raise UserError(f"this computer boots no kernels by kexec: {seen.forbidden}")
    machine = Itself(settings, seen, digest)
    if machine.processor not in (-1, *seen.processors):
        raise UserError(
            f"machine.settings.processor: this computer has no processor {machine.processor}: "
            f"allowed are {', '.join(map(str, seen.processors))}, or -1"
        )
    return machine


def _look_here(program: Path) -> Look:
    told = process.run([program, "look"], timeout=60.0, merge=False).output
    try:
        return read_look(told.encode("utf-8", "replace"))
    except KernsmithError as error:
        raise UserError(f"this computer cannot be looked at: {error}") from None


KIND = Kind(NAME, NAME, Table, lambda argument, cpu, settings: open_self(settings))
