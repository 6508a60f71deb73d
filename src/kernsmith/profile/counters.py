# SPDX-License-Identifier: GPL-2.0-or-later
"""What the counters in a kernel have counted in a region of interest.

A kernel that is compiled with counters has them in one span of its memory, 64-bit words. The file:
four lines (the format's version, the kernel's build id, the workloads, the address of the first
word), then the words, little-endian. Words of the span that are no counters are 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kernsmith.errors import UserError
from kernsmith.files import write_bytes

MAGIC = "kernsmith-counters 1"
_HEAD = re.compile(
    rb"%s\nbuild-id ([0-9a-f]*)\nworkloads ([^\n]*)\nat ([0-9a-f]{1,16})\n" % MAGIC.encode()
)
_LONGEST_HEAD = 1 << 16

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Counters:
    """Counters of one kernel, from `start` on.

    build_id: of the `vmlinux` that they are of, hexadecimal.
    """

    start: int
    words: Words
    build_id: str = ""
    workloads: tuple[str, ...] = ()

    @property
    def weight(self) -> float:
        """All that was counted: the size of the profile for weighting."""
        return float(self.words.sum(dtype=np.float64))

    def scaled(self, factor: float) -> Words:
        """The words times a factor, rounded; what was counted stays at least 1."""
        scaled: Words = np.rint(self.words * factor).astype(np.uint64)
        scaled[(scaled == 0) & (self.words > 0)] = 1
        return scaled


def merge_counters(parts: Sequence[Counters]) -> Counters:
    """One profile of several workloads, each with the same weight.

    Raises:
        UserError: counters of different kernels.
    """
    first = parts[0]
    kernels = {(part.build_id, part.start, len(part.words)) for part in parts}
    if len(kernels) != 1:
        raise UserError("counters of different kernels cannot be merged (their build ids differ)")
    heaviest = max(part.weight for part in parts)
    words = np.zeros_like(first.words)
    for part in parts:
        words += part.scaled(heaviest / part.weight) if part.weight else part.words
    names = tuple(name for part in parts for name in part.workloads)
    return Counters(first.start, words, first.build_id, names)


def write_counters(counters: Counters, path: Path) -> None:
    """Write a file of counters, all at once."""
    names = " ".join(counters.workloads)
    head = f"{MAGIC}\nbuild-id {counters.build_id}\nworkloads {names}\nat {counters.start:x}\n"
    write_bytes(path, head.encode() + counters.words.astype("<u8").tobytes())


def read_counters(path: Path) -> Counters:
    """Read a file of counters.

    Raises:
        UserError: it cannot be read, or is no such file, or is cut off.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    head = _HEAD.match(content[:_LONGEST_HEAD])
    if head is None:
        raise UserError(f"{path} has no counters of a kernel: it does not begin as such files do")
    words = content[head.end() :]
    if not words or len(words) % 8:
        raise UserError(f"{path} is cut off: it ends inside of a counter")
    build_id, names, start = (part.decode("utf-8", "replace") for part in head.groups())
    return Counters(int(start, 16), counter_words(words), build_id, tuple(names.split()))


def counter_words(content: bytes) -> Words:
    """Counters as they are in memory."""
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)
