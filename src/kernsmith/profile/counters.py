# SPDX-License-Identifier: GPL-2.0-or-later
"""What the counters in a kernel have counted in a region of interest.

A kernel that is compiled with counters has them in one span of its memory, 64-bit words. It may
look at values, too: which function a pointer calls, how long a copy is. The file: five lines (the
format's version, the kernel's build id, the workloads, the address of the first word, the number of
values), then the words, then four words for each value, all little-endian. Words of the span that
are no counters are 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kernsmith.errors import UserError
from kernsmith.files import write_bytes

MAGIC = "kernsmith-counters 2"
_HEAD = re.compile(
    rb"%s\nbuild-id ([0-9a-f]*)\nworkloads ([^\n]*)\nat ([0-9a-f]{1,16})\nvalues (\d{1,12})\n"
    % MAGIC.encode()
)
_LONGEST_HEAD = 1 << 16

Words = npt.NDArray[np.uint64]
_VALUE_WORDS = 4


def value_rows(rows: Sequence[tuple[int, int, int, int]]) -> Words:
    """Values as `Counters` has them."""
    return np.array(rows, dtype=np.uint64).reshape(-1, _VALUE_WORDS)


NO_VALUES = value_rows(())


@dataclass(frozen=True)
class Counters:
    """Counters of one kernel, from `start` on.

    build_id: of the `vmlinux` that they are of, hexadecimal.
    values: rows of four: the address of a function's record, the number of the place in it, the
        value that was seen there, and how often.
    """

    start: int
    words: Words
    build_id: str = ""
    workloads: tuple[str, ...] = ()
    values: Words = field(default_factory=NO_VALUES.copy)

    @property
    def weight(self) -> float:
        """All that was counted: the size of the profile for weighting."""
        return float(self.words.sum(dtype=np.float64))

    def scaled(self, factor: float) -> tuple[Words, Words]:
        """Words and values times a factor, rounded; what was counted stays at least 1."""
        values = self.values.copy()
        values[:, -1] = _times(values[:, -1], factor)
        return _times(self.words, factor), values


def _times(counts: Words, factor: float) -> Words:
    scaled: Words = np.rint(counts * factor).astype(np.uint64)
    scaled[(scaled == 0) & (counts > 0)] = 1
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
    seen = []
    for part in parts:
        more, values = part.scaled(heaviest / part.weight if part.weight else 1.0)
        words += more
        seen.append(values)
    names = tuple(name for part in parts for name in part.workloads)
    return Counters(first.start, words, first.build_id, names, _summed(np.concatenate(seen)))


def _summed(values: Words) -> Words:
    """Each value once, sorted."""
    if not len(values):
        return values
    places, number = np.unique(values[:, :-1], axis=0, return_inverse=True)
    counts = np.zeros(len(places), dtype=np.uint64)
    np.add.at(counts, number.reshape(-1), values[:, -1])
    return np.column_stack([places, counts])


def write_counters(counters: Counters, path: Path) -> None:
    """Write a file of counters, all at once."""
    names = " ".join(counters.workloads)
    head = (
        f"{MAGIC}\nbuild-id {counters.build_id}\nworkloads {names}\nat {counters.start:x}\n"
        f"values {len(counters.values)}\n"
    )
    words = np.concatenate([counters.words, counters.values.reshape(-1)])
    write_bytes(path, head.encode() + words.astype("<u8").tobytes())


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
    build_id, names, start, values = (part.decode("utf-8", "replace") for part in head.groups())
    of_values = 8 * _VALUE_WORDS * int(values)
    of_counters = len(content) - head.end() - of_values
    if of_counters <= 0 or of_counters % 8:
        raise UserError(f"{path} is cut off: it ends inside of a counter")
    words = counter_words(content[head.end() :])
    counted, seen = np.split(words, [of_counters // 8])
    rows = seen.reshape(-1, _VALUE_WORDS)
    return Counters(int(start, 16), counted, build_id, tuple(names.split()), rows)


def counter_words(content: bytes) -> Words:
    """Counters as they are in memory."""
    return np.frombuffer(content, dtype="<u8").astype(np.uint64)
