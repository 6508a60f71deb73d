# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions counts are about, and how much of the run each of them is."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.kernel.build import read_build_id
from kernsmith.kernel.symbols import Symbol, code_symbols
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts

NM_SECONDS = 120.0
NAMELESS = "?"
"""Code of no function that is known."""


@dataclass(frozen=True)
class FunctionShare:
    """A function in a profile.

    address: of its first byte, for static functions that share a name; 0 of code without one.
    share: of all bytes of code that were executed, from 0 to 1.
    entered: how often a branch led to its first byte.
    """

    name: str
    share: float
    entered: int
    address: int = 0


def function_symbols(vmlinux: Path, toolchain: Toolchain) -> list[Symbol]:
    """The code symbols of an image, as `code_symbols` has them.

    Raises:
        UserError: the file is no image.
    """
    command: list[str | Path] = [toolchain.tool("llvm-nm"), "--print-size", vmlinux]
    with _an_image(vmlinux):
        return code_symbols(process.run(command, timeout=NM_SECONDS, merge=False).output)


@contextmanager
def _an_image(vmlinux: Path) -> Iterator[None]:
    """LLVM's tools read what is none with an error."""
    try:
        yield
    except ProcessFailed as error:
        reason = error.tail.rpartition("error: ")[2].strip() or "it cannot be read"
        raise UserError(f"{vmlinux} is no vmlinux ({reason})") from None


def check_image(counts: BranchCounts, file: Path, vmlinux: Path, toolchain: Toolchain) -> None:
    """That the counts of a file are of this image.

    Raises:
        UserError: the build ids differ, or the file is no image.
    """
    with _an_image(vmlinux):
        own = read_build_id(toolchain.tool("llvm-readelf"), vmlinux)
    if counts.build_id != own:
        raise UserError(
            f"{file} is of another kernel: its build id is {counts.build_id or 'absent'}, "
            f"that of {vmlinux} is {own or 'absent'}"
        )


def function_shares(counts: BranchCounts, symbols: Sequence[Symbol]) -> list[FunctionShare]:
    """All functions that ran, the one with most of the run first.

    symbols: of code, by address; of several at one address the first names the function. What is
        before all of them, and what such a symbol is at, is called `?`.
    """
    names = {0: NAMELESS}
    for symbol in symbols:
        names.setdefault(symbol.address, symbol.name)
    starts = sorted(names)
    executed: Counter[int] = Counter()
    for (first, last), count in counts.ranges.items():
        start = starts[bisect_right(starts, first) - 1]
        executed[start if names[start] != NAMELESS else 0] += (last - first + 1) * count
    entered: Counter[int] = Counter()
    for (_, target), count in counts.branches.items():
        if target in names:
            entered[target] += count
    total = executed.total()
    if not total:
        return []
    return [
        FunctionShare(names[start], weight / total, entered[start], start)
        for start, weight in sorted(
            executed.items(), key=lambda item: (-item[1], names[item[0]], item[0])
        )
    ]
