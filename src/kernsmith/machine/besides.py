# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel is told because of what is in it, so that it can be measured as others are."""

from __future__ import annotations

import os
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path

from kernsmith.arch import find_arch
from kernsmith.machine.protocol import Job

_ARCH = find_arch()
_BACKGROUND = {
    "alg: self-tests for ": "cryptomgr.notests",
    "damon_stat.enabled": "damon_stat.enabled=N",
}
"""By a text that tells of it: what goes on in a kernel beside its workload, and what it is told
instead. It is in distributions' kernels, and no part of what a workload costs. The self-tests of
CONFIG_CRYPTO_SELFTESTS go on for seconds behind the boot, in all the time that a workload leaves:
half of the instructions of a server in its first second. CONFIG_DAMON_STAT looks at pages that it
draws by chance, as often as memory is used: up to a twentieth, in one layout another one than in
the next."""


def told_besides(image: Path, job: Job) -> tuple[str, ...]:
    """What a kernel is told because of what is in it, and no other kernel is.

    A job with words of its own (an oracle) asks what the kernel says: there its self-tests count.
    """
    unfit = set() if job.workload.root is not None else {_ARCH.disk.kept_out}
    unfit |= set(_BACKGROUND.values()) if job.words else set()
    return tuple(word for word in words_of(image) if word not in unfit)


def words_of(image: Path) -> tuple[str, ...]:
    """All that a kernel may be told so, whatever runs on it."""
    marks = {_ARCH.disk.kept_out: _ARCH.disk.kept_out, **_BACKGROUND}
    return tuple(word for mark, word in marks.items() if _has(image, mark))


@cache
def _has(image: Path, text: str) -> bool:
    """Whether a text is in a kernel."""
    with image.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return content.find(text.encode()) >= 0
