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
_AFTER_BOOT = {"alg: self-tests for ": "cryptomgr.notests"}
"""By a text that tells of it: what goes on in a kernel for seconds behind its boot, in all the time
that a workload leaves, and what it is told instead. The self-tests of CONFIG_CRYPTO_SELFTESTS, in
distributions' kernels, were half of the instructions of a server in its first second."""


def told_besides(image: Path, job: Job) -> tuple[str, ...]:
    """What a kernel is told because of what is in it, and no other kernel is.

    A job with words of its own (an oracle) asks what the kernel says: there its self-tests count.
    """
    words = []
    if job.workload.root is not None and _has(image, _ARCH.disk.kept_out):
        words.append(_ARCH.disk.kept_out)
    if not job.words:
        words += [word for mark, word in _AFTER_BOOT.items() if _has(image, mark)]
    return tuple(words)


@cache
def _has(image: Path, text: str) -> bool:
    """Whether a text is in a kernel."""
    with image.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return content.find(text.encode()) >= 0
