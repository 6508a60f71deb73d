# SPDX-License-Identifier: GPL-2.0-or-later
"""Training: boot the trainer kernel with each training workload, keep what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.evidence import BRANCHES, Evidence, Left
from kernsmith.engine.sessions import Ran, Visit, in_sessions
from kernsmith.engine.workers import Workers
from kernsmith.errors import DiskFull, KernsmithError, UserError
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Boot, Job, Machine, Outcome
from kernsmith.machine.console import with_console
from kernsmith.study import digest_of

Seen = Callable[[Kernel, Workload, Outcome, str], None]


class TrainingFailed(KernsmithError):
    """A training workload did not run to its end, so there is no profile of it."""


def train(
    kernel: Kernel,
    evidence: Evidence[Left],
    workloads: Sequence[Workload],
    machine: Machine,
    events: Events,
    seen: Seen,
    workers: Workers | None = None,
    trace_of: Callable[[Workload], str] = lambda workload: "",
) -> dict[str, Left]:
    """What each workload leaves behind on a kernel in its default layout, by its name; of some,
    when the workers end before all is done.

    What was left before is read back. Who trains on the same workload of the kernel meanwhile, in
    another process, waits, and reads back what this one leaves.

    trace_of: the tag of the trace that a workload's boot is to write, too; empty for none.
    seen: called, from the calling thread, with (kernel, workload, outcome, start time) of each
        boot, whether it ended well or not.

    Raises:
        TrainingFailed: a workload did not end well, or left nothing that makes a profile.
        UserError: the kernel cannot leave behind what is asked for.
    """
    folder = kernel.folder / "profiles" / _conditions(machine, kernel)
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Left] = {}
    missing: list[Workload] = []
    done = count(1)
    outcomes: list[tuple[Workload, Ran]] = []

    def begin(workload: Workload) -> Job:
        job = folder / f"{workload.name}.boot"
        asked = Job(workload, job, trace=trace_of(workload), modules=kernel.guest_archive)
        return evidence.asked(asked, kernel)

    def ran(visit: Visit[Workload], workload: Workload, run: Ran) -> None:
        outcomes.append((workload, run))

    def keep(visit: Visit[Workload], boots: Sequence[Boot]) -> None:
        while outcomes:
            workload, run = outcomes.pop(0)
            outcome = run.outcome
            # Samples are taken of a trace, which others may want or not.
            wanted = outcome if trace_of(workload) else replace(outcome, trace=None)
            try:
                parts[workload.name] = _keep(kernel, evidence, workload, outcome, machine, folder)
            finally:
                seen(kernel, workload, wanted, run.started_at)
                for path in evidence.found(outcome):
                    path.unlink(missing_ok=True)
                if outcome.trace:
                    outcome.trace.unlink(missing_ok=True)
            events.progress("train", next(done), len(missing))

    paths = {workload: _path(folder, workload, evidence) for workload in workloads}
    with _alone(folder, {work.name for work, path in paths.items() if not path.exists()}):
        for workload, path in paths.items():
            if path.exists():
                parts[workload.name] = evidence.read(path)
            else:
                missing.append(workload)
        if missing:
            events.stage(f"train on {len(missing)} workloads")
        visits = [Visit(kernel.vmlinux, folder, tuple(missing))]
        in_sessions(machine, visits, begin, ran, keep, workers)
    return parts


@contextmanager
def _alone(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Hold what other processes that train on these workloads wait for."""
    with ExitStack() as held:
        for name in sorted(names):  # in one order, so that no two wait for each other
            held.enter_context(locked(folder / f"{name}.lock"))
        yield


def kept_counts(kernel: Kernel, workload: Workload, machine: Machine) -> Path | None:
    """Where the branch counts of a training are: of this workload on this kernel and machine."""
    folder = kernel.folder / "profiles" / _conditions(machine, kernel)
    path = _path(folder, workload, BRANCHES)
    return path if path.exists() else None


def _conditions(machine: Machine, kernel: Kernel) -> str:
    return digest_of(dict(machine.fingerprint(kernel.vmlinux)))[:12]


def _path(folder: Path, workload: Workload, evidence: Evidence[Left]) -> Path:
    return folder / f"{workload.amount}{evidence.way}{evidence.suffix}"


def _keep(
    kernel: Kernel,
    evidence: Evidence[Left],
    workload: Workload,
    outcome: Outcome,
    machine: Machine,
    folder: Path,
) -> Left:
    left = evidence.found(outcome)
    if not outcome.ok or not left:
        failed = TrainingFailed(
            f"training on {workload.name} failed ({outcome.status}): "
            f"{with_console(outcome.reason or 'no counts came out', outcome.console)}"
        )
        failed.of_host = outcome.lost
        raise failed
    try:
        parsed = evidence.parsed(left, kernel, workload)
        parsed = evidence.placed(parsed, kernel, outcome, machine)
    except DiskFull:
        raise
    except UserError as error:
        raise TrainingFailed(f"training on {workload.name} failed: {error}") from None
    evidence.write(parsed, _path(folder, workload, evidence))
    return parsed
