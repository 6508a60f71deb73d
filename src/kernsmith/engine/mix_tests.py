# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells a good mixed kernel from a bad one: workloads that it must run, or a command."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import join
from typing import Any, Protocol

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessTimedOut, ProgramMissing, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.mixed import Pair
from kernsmith.machine import Job, Machine, run_to_judge
from kernsmith.machine.protocol import OK
from kernsmith.machine.tcg import Tcg

GOOD, BAD, UNRESOLVED = "good", "bad", "unresolved"

LEAST_SECONDS = 30.0
"""No boot is called hanging before; where the good kernel takes long, ten times as long as that."""
_TIMES = 10

COMMAND_SECONDS = 3600.0
SKIP = 125
"""The exit code of a command that cannot tell, as `git bisect run` has it."""
_NOT_STARTED = (126, 127)
_SIGNALLED = 128


@dataclass(frozen=True)
class Judged:
    """What a test says of one mixed kernel.

    verdict: `GOOD`, `BAD` or `UNRESOLVED`. reason: a few words. seconds: that it took.
    change, low, high: of a metric against the good kernel, in per cent, with the always-valid
        interval; None where nothing was measured (the bounds also where there are none yet).
    layouts: in which that was measured.
    """

    verdict: str
    reason: str = ""
    seconds: float = 0.0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    layouts: int = 0


class MixTest(Protocol):
    """Judges mixed kernels; may be asked by several threads at once."""

    @property
    def name(self) -> str:
        """In a few words, for people."""
        ...

    @property
    def repeats(self) -> int:
        """How often it is asked about one kernel before that is called good."""
        ...

    @property
    def exact(self) -> bool:
        """Whether it says the same of one kernel each time."""
        ...

    def identity(self) -> Any:
        """All that its answers depend on, as what JSON can hold."""
        ...

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """Make the good kernel with these objects of the bad one, and judge it.

        folder: the test's own; if it leaves `vmlinux` there, that is the mixed kernel.

        Raises:
            LinkFailed: the objects do not link.
            KernsmithError: what this computer did (an emulator that was killed, no space) is all
                that there is to be told: nothing of the kernel.
        """
        ...

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """Judge a kernel as it was built."""
        ...

    def limited(self, good: Judged) -> MixTest:
        """The test for other kernels, when it is known what it takes on the good one."""
        ...


@dataclass(frozen=True)
class RunsWorkloads:
    """Good is a kernel on which all workloads end well; each checks what it has done.

    name: what was asked for. The kernel's modules, if it loads any, are the base's.
    """

    machine: Machine
    workloads: tuple[Workload, ...]
    name: str
    repeats: int = 1

    @property
    def exact(self) -> bool:
        """As the machine is."""
        return self.machine.exact

    def identity(self) -> Any:
        """Machine and workloads by content."""
        return [self.machine.fingerprint(), [each.amount for each in self.workloads], self.repeats]

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """See `MixTest`."""
        return self._run(pair.link(taken, folder), pair.base, folder)

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """See `MixTest`."""
        return self._run(kernel.vmlinux, kernel, folder)

    def limited(self, good: Judged) -> MixTest:
        """With a time limit of some times what it took on the good kernel."""
        if not isinstance(self.machine, Tcg):
            return self
        allowed = max(map(self.machine.limit, self.workloads))
        seconds = min(allowed, max(LEAST_SECONDS, _TIMES * good.seconds))
        return replace(self, machine=replace(self.machine, boot_seconds=seconds))

    def _run(self, image: Path, base: Kernel, folder: Path) -> Judged:
        longest = 0.0
        for workload in self.workloads:
            archive = base.guest_archive
            job = Job(workload, folder / workload.name, modules=archive, counted=False)
            ran = run_to_judge(self.machine, image, job)
            longest = max(longest, ran.wall_seconds)
            if ran.status != OK:
                reason = f"{workload.name}: {ran.status}: {ran.reason}"
                return Judged(BAD, reason, longest)
        return Judged(GOOD, "", longest)


@dataclass(frozen=True)
class RunsCommand:
    """Good is a kernel for which a command of the user's ends with 0; 125: it cannot tell; 128 and
    above, or a signal, ends the search, as that of `git bisect run`.

    words: of the command; the path of the `vmlinux` stands in the place of `{}`, or behind them.
    """

    words: tuple[str, ...]
    repeats: int = 1
    seconds: float = COMMAND_SECONDS

    exact: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The command."""
        return join(self.words)

    def identity(self) -> Any:
        """The command's words, and the contents of those that are files: an edited script is
        another test. What else it does is the user's business."""
        files = [file_digest(Path(word)) for word in self.words if Path(word).is_file()]
        return [list(self.words), self.repeats, files]

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """See `MixTest`."""
        return self._run(pair.link(taken, folder), folder)

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """See `MixTest`."""
        return self._run(kernel.vmlinux, folder)

    def limited(self, good: Judged) -> MixTest:
        """As it is: how long a command may take only its user knows."""
        return self

    def _run(self, image: Path, folder: Path) -> Judged:
        words = [word.replace("{}", str(image)) for word in self.words]
        if not any("{}" in word for word in self.words):
            words.append(str(image))
        try:
            done = process.run(
                words, log=folder / "command.log", timeout=self.seconds, check=False, capture=False
            )
        except ProcessTimedOut:
            return Judged(BAD, f"no end after {self.seconds:g} s", self.seconds)
        except ProgramMissing:
            raise UserError(f"--test: the command {self.words[0]!r} cannot be started") from None
        if done.returncode in _NOT_STARTED:
            raise UserError(
                f"--test: {self.name} ended with {done.returncode}: it could not start something"
            )
        if not 0 <= done.returncode < _SIGNALLED:
            raise KernsmithError(
                f"--test: {self.name} was ended by a signal (exit code {done.returncode}), which "
                "says nothing of the kernel; start the same command again, or have it end with 1 "
                "where such an end is what is bad"
            )
        if done.returncode == SKIP:
            return Judged(UNRESOLVED, "the command cannot tell (125)", done.seconds)
        if done.returncode:
            said = done.output.strip().splitlines()[-1:]
            reason = ": ".join([f"exit code {done.returncode}", *said])
            return Judged(BAD, reason, done.seconds)
        return Judged(GOOD, "", done.seconds)
