# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `ssh:HOST`: a real machine that boots each kernel and measures in seconds.

Kernels are entered by kexec with the machine's own root, where its own sshd comes up again: what is
measured is the kernel with all that it drives there. docs/machine-ssh.md tells what is done to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field

from kernsmith import paths, process
from kernsmith.errors import UserError
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.drivers import Needed
from kernsmith.machine.conditions import Condition
from kernsmith.machine.metrics import VERSION
from kernsmith.machine.protocol import Images, Kind, Metric
from kernsmith.machine.remote.connection import Connection, read_options
from kernsmith.machine.remote.host import Host, measured_batch
from kernsmith.machine.remote.look import Look, runner_program
from kernsmith.machine.remote.recovery import Recovery
from kernsmith.machine.remote.scripts import WORDS
from kernsmith.machine.remote.session import LeftBehind, SshSession
from kernsmith.machine.remote.settings import (
    ASSUMPTIONS,
    MANNER,
    RealTable,
    real_metrics,
    refusal_of,
)
from kernsmith.stop import putting_in_order

NAME = "ssh"


class Table(RealTable):
    """[machine.settings] of the machine ssh.

    boot_seconds: how long the machine may take to answer after a boot. folder: of all that is
    kernsmith's there. power_cycle: a command here that switches the machine off and on.
    ssh_options: words for ssh.
    """

    boot_seconds: float = Field(600.0, gt=0)
    folder: str = Field("/var/lib/kernsmith", pattern=r"^/[\w./-]+$")
    power_cycle: str = ""
    ssh_options: str = ""


@dataclass(frozen=True)
class Ssh:
    """A machine elsewhere, and what it was like when it was opened.

    runner: the digest of what measures there.
    """

    host: str
    settings: Table
    seen: Look
    runner: str
    exact: bool = False
    apart: bool = False
    together: bool = False
    images: Images = "kernel"
    workloads: tuple[Workload, ...] = ()
    profiles: bool = False
    cpu: Path | None = None
    slots: int = 1

    @property
    def name(self) -> str:
        """See `Machine`."""
        return f"{NAME}:{self.host}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """See `Machine`; what the processor counts, where it has counters."""
        return real_metrics(counts=self.seen.counts)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Machine`; with what the machine does to times."""
        warnings = (each.warning for each in self.lasting if each.warning)
        return (*ASSUMPTIONS, *(f"{text[0].upper()}{text[1:]}." for text in warnings))

    @property
    def lasting(self) -> tuple[Condition, ...]:
        """What is the same in all of its kernels; the others are told of each run."""
        names = ("processor", "microcode", "virtual", "smt")
        return tuple(each for each in self.seen.conditions if each.name in names)

    @property
    def processor(self) -> int:
        """Where workloads run; -1: anywhere."""
        asked = self.settings.processor
        return self.seen.processors[-1] if asked is None else asked

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """The machine, how its kernels are booted, and how times are taken."""
        asked = self.settings
        return {
            "metrics": VERSION,
            "manner": MANNER,
            "host": self.seen.host,
            "conditions": {each.name: each.value for each in self.lasting},
            "runner": self.runner,
            "runs": asked.runs,
            "processor": self.processor,
            "words": [*WORDS, *asked.words.split()],
            "tune": asked.tune,
        }

    @property
    def hangs_stay(self) -> bool:
        """See `Unattended`; who must walk to it to switch it off does so once for each."""
        return not self.settings.power_cycle

    @property
    def needed(self) -> tuple[Needed, ...]:
        """See `Driven`."""
        return (Needed("its root", self.seen.root), Needed("its network", self.seen.network))

    def refusal(self, workload: Workload) -> str:
        """See `Choosy`."""
        return refusal_of(self.name, workload)

    def reach(self) -> Host:
        """The machine, to be given kernels; nothing is asked of it yet."""
        return reach(self.host, self.settings)

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[SshSession]:
        """A session of one boot; behind it the machine is in its own kernel again.

        Others here that want the machine wait.

        Raises:
            LeftBehind: behind it, it is not, or that is not known; another exception gets a note.
        """
        with alone(self.host):
            session = SshSession(self, image, folder)
            try:
                yield session
            except BaseException as error:
                with putting_in_order():
                    try:
                        session.close(whole=False)
                    except LeftBehind as left:
                        error.add_note(str(left))
                raise
            with putting_in_order():
                session.close(whole=True)


def alone(host: str) -> AbstractContextManager[None]:
    """While the block runs, nobody else here has the machine."""
    name = sha256(host.encode()).hexdigest()[:16]  # whatever it is called: a file's name
    return locked(paths.cache_root() / "machines" / f"{name}.lock")


def reach(host: str, settings: Table) -> Host:
    """The machine of this name."""
    options = read_options(settings.ssh_options)
    connection = Connection(host, options, patience=settings.boot_seconds)
    return Host(connection, settings.folder, settings.boot_seconds, settings.power_cycle)


def open_machine(host: str, settings: Table | None = None) -> Ssh:
    """The machine, looked at.

    Raises:
        UserError: it cannot boot kernels, or it has no such processor; ssh does not get there.
        Unreachable: it does not answer.
    """
    settings = settings or Table.model_validate({})
    program = runner_program()
    if not program.is_file():
        raise UserError(f"{program.name} is not built yet: run make setup")
    process.find("ssh")
    if host.startswith("-"):
        raise UserError(f"machine.use: {host!r} is not the name of a host")
    reached = reach(host, settings)
    seen = _in_its_own_kernel(reached, reached.arrive())
    machine = Ssh(host, settings, seen, sha256(program.read_bytes()).hexdigest())
    if machine.processor not in (-1, *seen.processors):
        raise UserError(
            f"machine.settings.processor: {host} has no processor {machine.processor}: allowed are "
            f"{', '.join(map(str, seen.processors))}, or -1"
        )
    return machine


def _in_its_own_kernel(host: Host, seen: Look) -> Look:
    """What a machine is like in its own kernel, whichever runs.

    A session that was killed, or one of another computer that is under way, has kept that there.
    """
    if not measured_batch(seen):
        return seen
    if kept := host.kept_look():
        return kept
    with alone(host.name):
        host.take(host.seconds, lambda who: None)
        own = Recovery(host, lambda step: None).own_kernel(host.answer())
        host.free()
        return own


# The CPU model is of the machine that trains: this one simulates none.
KIND = Kind(NAME, f"{NAME}:HOST", Table, lambda host, cpu, settings: open_machine(host, settings))
