# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU's threads, asked for over QMP: the guest's processor is bound to one of the host's.

The client is QEMU's own (qemu.qmp).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from qemu.qmp import QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from kernsmith.errors import KernsmithError
from kernsmith.stop import check_stop

_ANSWER_SECONDS = 30.0


def pin_and_go(control: Path, processor: int, alive: Callable[[], bool]) -> int:
    """Bind the thread of a stopped guest's only processor to one of this host, QEMU's others to the
    rest, if there are any, and let the guest go. Returns the thread's number.

    control: the socket of QEMU's monitor, which it may open only now. alive: whether QEMU runs.

    Raises:
        KernsmithError: QEMU does not answer, or the thread cannot be bound.
    """
    try:
        with closing(connected(control, alive)) as monitor:
            monitor.settimeout(_ANSWER_SECONDS)
            (vcpu,) = _list(monitor.cmd("query-cpus-fast"))
            thread = int(vcpu["thread-id"])
            _bind(thread, processor)
            monitor.cmd("cont")
            return thread
    except (QMPError, OSError) as error:
        raise KernsmithError(f"the guest's processor was not bound: {error}") from None


def connected(control: Path, alive: Callable[[], bool] = lambda: True) -> QEMUMonitorProtocol:
    """QEMU's monitor at a socket that it may open only now. alive: whether it runs.

    Raises:
        QMPError, OSError: QEMU does not answer.
    """
    end = time.monotonic() + _ANSWER_SECONDS
    while True:
        check_stop()
        monitor = QEMUMonitorProtocol(str(control))
        try:
            monitor.connect()
        except (QMPError, OSError):
            monitor.close()
            if time.monotonic() > end or not alive():
                raise
            time.sleep(0.1)
        else:
            return monitor


def _list(answer: object) -> list[dict[str, Any]]:
    assert isinstance(answer, list)
    return answer


def _bind(vcpu: int, processor: int) -> None:
    others = os.sched_getaffinity(vcpu) - {processor}
    for entry in Path(f"/proc/{_process_of(vcpu)}/task").iterdir():
        thread = int(entry.name)
        if thread == vcpu:
            os.sched_setaffinity(thread, {processor})
        elif others:
            os.sched_setaffinity(thread, others)


def _process_of(thread: int) -> int:
    """The process of a thread: `Tgid` in its status (proc(5))."""
    for line in Path(f"/proc/{thread}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("Tgid:"):
            return int(line.split()[1])
    raise ProcessLookupError(f"thread {thread} is of no process")
