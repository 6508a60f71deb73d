# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command's programs cost: `python bench/overhead.py kernsmith optimize …`.

Without words, of README's first look, of which the caches may have a part.

Processor seconds of each program that the command has started, by the system's own process
accounting (acct(5); it needs root's rights), and what all but compilers and linkers costs on top of
these. Accounting tells user and system time of each process in whole hundredths of a second, and
drops what is left of one. The exact sum over all processes is known (getrusage(2)): half a
hundredth is added to each time that is not 0, and what is missing then is shared evenly among the
processes.
"""

import ctypes
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FIRST_LOOK = (
    "kernsmith", "optimize", "--source", "debian:7.3", "--config", "micro", "--with", "autofdo",
    "--workload", "pipe", "--workload", "file", "--workload", "fork", "--layouts", "8",
)  # fmt: skip
COMPILERS = ("clang", "gcc", "cc1", "ld", "lld", "as", "rustc", "collect2", "cc", "ccache")
TICK = 0.01
WHOLE = 2.0
"""Seconds by which whole ones may be off; a number is not given again so soon."""
# struct acct_v3, of linux/acct.h.
RECORD = struct.Struct("<2xH4xII II I f HH 12x 16s")


@dataclass(frozen=True)
class Ended:
    """A process. parent: as of when it ended. seconds: of processors. begun, ended: seconds since
    1970; when it began, in whole ones."""

    name: str
    process: int
    parent: int
    seconds: float
    begun: int
    ended: float


def _seconds(packed: int) -> float:
    """A comp_t: 13 bits, and three of an exponent of 8."""
    return ((packed & 0x1FFF) << 3 * (packed >> 13)) * TICK


def ended(file: Path) -> Iterator[Ended]:
    """All processes of an accounting file, the first that ended first."""
    data = file.read_bytes()
    for at in range(0, len(data) - len(data) % 64, 64):
        fields = RECORD.unpack_from(data, at)
        process, parent, begun, lasted, user, system, name = fields[3:]
        spent = sum(time + TICK / 2 for time in map(_seconds, (user, system)) if time)
        called = name.rstrip(b"\0").decode(errors="replace")
        yield Ended(called, process, parent, spent, begun, begun + lasted * TICK)


def below(processes: list[Ended], top: int) -> Iterator[Ended]:
    """A process and those that it has started; children end before who waits for them.

    Numbers are given again, to others' processes, too: who began before one of the family or
    behind its end is no child of it.
    """
    family: dict[int, Ended] = {}
    for each in reversed(processes):
        parent = family.get(each.parent)
        lives = parent and parent.begun - WHOLE <= each.begun <= parent.ended + WHOLE
        if each.process == top or lives:
            family[each.process] = each
            yield each


def by_program(processes: list[Ended], total: float) -> dict[str, float]:
    """Seconds of each program. total: of all of them."""
    missing = (total - sum(each.seconds for each in processes)) / max(len(processes), 1)
    spent: dict[str, float] = defaultdict(float)
    for each in processes:
        spent[each.name] += each.seconds + missing
    return spent


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_compiler(name: str) -> bool:
    """Whether a program compiles or links: clang-22, x86_64-linux-gnu-gcc-12, ld.lld …"""
    words = name.replace(".", "-").split("-")
    return any(word in COMPILERS for word in words)


def account(file: bytes | None) -> None:
    """Switch accounting on, into a file, or off."""
    if ctypes.CDLL(None, use_errno=True).acct(file):
        sys.exit(f"acct: {os.strerror(ctypes.get_errno())}: it needs root's rights")


def main(command: list[str]) -> None:
    """Run the command and print the table."""
    with tempfile.NamedTemporaryFile() as kept:
        account(kept.name.encode())
        try:
            began, before = time.monotonic(), _of_children()
            running = subprocess.Popen(command)
            status = running.wait()
            wall, total = time.monotonic() - began, _of_children() - before
        finally:
            account(None)
        family = list(below(list(ended(Path(kept.name))), running.pid))
        spent = by_program(family, total)
    built = sum(seconds for name, seconds in spent.items() if is_compiler(name))
    rest = sum(spent.values()) - built
    print(f"\nstatus {status}; {wall:.0f} s of the clock; of processors, in seconds:\n")
    print("| program | seconds |\n| --- | ---: |")
    for name, seconds in sorted(spent.items(), key=lambda each: -each[1])[:20]:
        print(f"| `{name}`{', compiles or links' * is_compiler(name)} | {seconds:.1f} |")
    share = f"{100 * rest / built:.0f} % on top of it" if built else "nothing was compiled"
    print(f"\ncompilers and linkers {built:.0f} s, all else {rest:.0f} s: {share}")


def first_look() -> None:
    """The same of README's first look; nothing of it stays but what the caches keep."""
    if os.geteuid():
        print("process accounting needs root's rights: left out")
        return
    program = Path(sys.executable).with_name(FIRST_LOOK[0])
    with tempfile.TemporaryDirectory() as folder:
        main([str(program), *FIRST_LOOK[1:], "--output", folder])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1:])
    else:
        first_look()
