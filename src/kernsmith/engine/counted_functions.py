# SPDX-License-Identifier: GPL-2.0-or-later
"""What each function costs in the kernels of a study whose layouts are booted: where layouts are
replayed, the trace is there and is counted by the way (`traces.trace_and_replay`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from kernsmith.engine.events import Events
from kernsmith.engine.function_costs import costs_path
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.sessions import Ran
from kernsmith.engine.traces import Tracing, trace_and_replay, trace_path, trace_tag
from kernsmith.engine.trial_rows import Bootable, record_default
from kernsmith.engine.workers import Done, LocalWorkers, Work, Workers
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger
from kernsmith.machine import Job
from kernsmith.store import new_consoles


def count_functions(
    prepared: Prepared,
    forge: Bootable,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
) -> None:
    """Count, by function, each kernel and workload in the default layout, where nobody has.

    The boot that writes the trace is the trial in the default layout, and is recorded as such; the
    trace goes when it is counted. Nothing on machines that write none, nor of guests with several
    vCPUs, of which there is none, nor of kernels that BOLT has rewritten, in which nobody has
    looked where functions are.
    """
    todo = list(_uncounted(prepared, _kernels(prepared, forge)))
    if not todo:
        return
    machine = prepared.machine
    events.stage(f"count {len(todo)} runs by function")
    done = count(1)

    def say(place: int, value: object) -> None:
        if isinstance(value, Ran):
            kernel, workload = todo[place]
            record_default(
                prepared, machine, ledger, kernel, workload, value.outcome, value.started_at
            )

    def take(counted: Done[bool]) -> None:
        counted.result()
        events.progress("counted", next(done), len(todo))

    works = (Work(trace_and_replay, (_piece(prepared, *each),)) for each in todo)
    (workers or LocalWorkers()).each(works, take, say=say, slots=machine.slots)


def _kernels(prepared: Prepared, forge: Bootable) -> Mapping[str, Kernel]:
    """Those that differ, by key."""
    # A fold is judged by a part of the workloads, and compared by no function.
    made = (forge.kernel(variant) for variant in prepared.variants if not variant.without)
    return {
        kernel.key: kernel
        for kernel in made
        if kernel is not None and "bolted" not in kernel.provenance
    }


def _uncounted(
    prepared: Prepared, kernels: Mapping[str, Kernel]
) -> Iterator[tuple[Kernel, Workload]]:
    machine = prepared.machine
    if machine.cpu is None or not machine.profiles or len(kernels) < 2:
        return
    for kernel in kernels.values():
        for workload in prepared.workloads:
            costs = costs_path(trace_path(kernel, workload, machine), machine.cpu)
            if workload.vcpus == 1 and not costs.exists():
                yield kernel, workload


def _piece(prepared: Prepared, kernel: Kernel, workload: Workload) -> Tracing:
    machine = prepared.machine
    assert machine.cpu is not None
    folder = new_consoles()
    return Tracing(
        machine=machine,
        folder=kernel.folder,
        job=Job(
            workload,
            folder / f"{kernel.key[:20]}-{workload.name}",
            trace=trace_tag(kernel, workload),
            modules=kernel.guest_archive,
        ),
        path=trace_path(kernel, workload, machine),
        cpu=machine.cpu,
        boots=False,
        layouts=(),
    )
