# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest said on its console: how the workload ended, and the guest's own figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from kernsmith.machine.interleaved import told_apart
from kernsmith.machine.protocol import FAILED, OK, PANIC, Placement

_FIGURE = re.compile(r"^kernsmith: metric (.*)$")
# As many letters as the ledger keeps, and what C prints as a finite number.
_METRIC = re.compile(r"(\w{1,64})=([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_BEGIN = re.compile(r"^kernsmith: begin (\S+)$")
_END = re.compile(r"^kernsmith: end (\S+) status=([0-9]{1,9})(?!\S)\s*(.*)$")
# What guest/modules/load.c prints; names are as long as the kernel lets them be.
_MODULE = re.compile(r"^kernsmith: module (\w{1,55})$", re.ASCII)
_SECTION = re.compile(
    r"^kernsmith: section (\w{1,55}) ([\w.+-]{1,200}) ([0-9a-f]{1,16})$", re.ASCII
)
_LOG = re.compile(r"^kernsmith: said (?:<\d+>)?(.*)$")
_BEGINS = re.compile(r"^kernsmith: ")
# Whose end it is that happens before a workload begins.
_BEFORE = {
    "init": "the guest could not start",
    "modules": "the kernel's modules were not loaded",
    "root": "the guest has no root file system",
}
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
# What goes on behind it is a kernel without one of its threads, which may never come to an end.
_OOPS = re.compile(r"\bOops: .*")
# mm/oom_kill.c, of a whole guest, of a group, or of a set of nodes.
_NO_MEMORY = re.compile(r"[Oo]ut of memory[^:]*: Killed process \d+ \((.{1,64}?)\)")
# What the guest's program and the tracer say to us, and how every guest ends.
_PROTOCOL = re.compile(r"kernsmith(-tracer)?: (?!said )|(\[ *\d+\.\d+\] )?reboot: ")
_SHOWN = 4
_LAST = "the console's last lines: "


@dataclass(frozen=True)
class Said:
    """The parsed console.

    ended: (workload, status, message) of the end line, None when there was none.
    panic: the kernel's own words, empty when it did not panic.
    garbled: the first figure that is no finite number, as it stands there; None without one.
    modules: where modules were loaded. log: the end of the kernel's log, where one was refused.
    oops: the first one, in the kernel's own words, empty without one.
    starved: the first program that the kernel killed, for the guest had no memory left.
    """

    began: bool
    ended: tuple[str, int, str] | None
    panic: str
    metrics: Mapping[str, float]
    garbled: str | None = None
    modules: Placement = field(default_factory=dict)
    log: tuple[str, ...] = ()
    oops: str = ""
    starved: str = ""

    def verdict(self, workload: str) -> tuple[str, str]:
        """(status, reason) for a boot that was to run this workload and has ended."""
        if self.panic:
            return PANIC, f"kernel panic: {self.panic}"
        if self.ended is None:
            what = "the workload did not end" if self.began else "the guest did not start"
            return FAILED, self.explained(what)
        name, status, message = self.ended
        if name in _BEFORE and not self.began:
            said = f"; the kernel said: {' / '.join(self.log)}" if self.log else ""
            return FAILED, f"{_BEFORE[name]}: {message or 'no reason given'} (errno {status}){said}"
        if name != workload:
            return FAILED, f"the guest ran {name!r} instead"
        if status:
            return FAILED, self.explained(
                f"the workload failed with errno {status} {message}".rstrip()
            )
        if self.garbled is not None:
            return FAILED, f"the guest's figure {self.garbled!r} is no number"
        return OK, ""

    def explained(self, what: str) -> str:
        """What happened, and what the kernel told before, of an oops or of memory."""
        if self.starved:
            what += f": the guest had no memory left, and its kernel killed {self.starved}"
        return f"{what}, behind {self.oops}" if self.oops else what


def read_console(text: str) -> Said:
    """Parse everything that came over the serial line, whole or cut anywhere.

    Foreign lines are ignored, and so are characters that no one can see.
    """
    began, ended, panic, garbled, oops, starved = False, None, "", None, "", ""
    metrics: dict[str, float] = {}
    modules: dict[str, dict[str, int]] = {}
    log: list[str] = []
    for line in told_apart(text, _BEGINS, _LOG):
        line = "".join(filter(str.isprintable, line)).strip()
        if match := _FIGURE.match(line):
            figure = _METRIC.fullmatch(match[1])
            if figure and isfinite(float(figure[2])):
                metrics[figure[1]] = float(figure[2])
            elif garbled is None:
                garbled = match[1]
        elif _BEGIN.match(line):
            began = True
        elif match := _END.match(line):
            ended = (match[1], int(match[2]), match[3])
        elif match := _MODULE.match(line):
            modules.setdefault(match[1], {})
        elif match := _SECTION.match(line):
            modules.setdefault(match[1], {})[match[2]] = int(match[3], 16)
        elif match := _LOG.match(line):
            log.append(match[1].strip())
        elif match := _PANIC.search(line):
            panic = panic or match[1]
        elif match := _OOPS.search(line):
            oops = oops or match[0]
        elif match := _NO_MEMORY.search(line):
            starved = starved or match[1]
    return Said(began, ended, panic, metrics, garbled, modules, tuple(log), oops, starved)


def last_lines(console: Path, count: int = _SHOWN) -> str:
    """The end of a console in one line, to stand behind a sentence; empty where there is none.

    What was said in the guest, and only where nothing was, what its program says to us.
    """
    try:
        text = console.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    first, _, rest = text.partition("\n")
    text = rest if first.startswith("$ ") else text  # the command that began it
    lines = ["".join(filter(str.isprintable, line)).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    last = ([line for line in lines if not _PROTOCOL.match(line)] or lines)[-count:]
    return f"{_LAST}{' / '.join(last)}" if last else "it said nothing"


def with_console(reason: str, console: Path) -> str:
    """Why a run failed, where its console is, and the end of that, which some reasons have."""
    last = "" if _LAST in reason else last_lines(console)
    return "; ".join(filter(None, (reason, f"console: {console}", last)))
