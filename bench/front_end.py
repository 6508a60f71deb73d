# SPDX-License-Identifier: GPL-2.0-or-later
"""What this processor's front end does, and what a model of it does, one thing at a time.

``python bench/front_end.py [MODEL [WORDS…]]``: small loops of which each does one thing over and
over (jumps that fit a buffer, code that fits a cache, pages that fit a TLB, directions and targets
that fit a predictor) are timed here as the programs of `kernsmith silicon` are, and the same files
are simulated. No program and no kernel has a part in it: what it tells can be written into a model
without tuning that on what judges it. Without a model: `emeraldrapids`. WORDS: only loops whose
names have one of them. All take four minutes, and up to ten more for a core that nobody shares;
nothing should run beside them.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from probes.fetched import (
    between_jumps,
    calls,
    crowded,
    distant,
    jumps,
    lone,
    mixed_jumps,
    mixed_runs,
    nested,
    one_set,
    pages,
    runs,
    straight,
    taken_for_another,
    there_and_back,
)
from probes.forwarded import forwarded
from probes.predicted import (
    KINDS,
    between_chances,
    chances,
    chosen,
    directions,
    remembered,
    targets,
)
from probes.probe import UNITS, Probe, failed, linked
from rich.console import Console
from rich.table import Table

from kernsmith._native import trace_costs
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.silicon import guest_kernel, simulated
from kernsmith.kernel.artifact import file_digest
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.binaries import Binary
from kernsmith.silicon.timing import all_cores, estimate, processor_name, take_turns

RUNS = 25
PATIENCE = 600.0
"""Seconds, for a core that nobody shares."""

UNIT = """\
#include "program.h"
void probe(long times);
const char *const program_name = "probe";
const unsigned program_units = {units};
int program_set_up(void) {{ return 0; }}
uint64_t program_unit(unsigned number) {{ probe({times}); return number; }}
"""
LOOP = """\
	.text
	.globl probe
	.balign 4096
probe:
	{first}
1:	{body}
	sub $1, %rdi
	jz 2f
	jmp 1b
2:	ret
	.data
	.balign 64
pattern:
	{data}
	.section .note.GNU-stack,"",@progbits
"""


def repeated(instruction: str, size: int) -> Probe:
    """A string instruction on so many quadwords, and what it needs in registers."""
    registers = f"lea pattern+4096, %rdi\n lea pattern, %rsi\n mov ${size}, %ecx"
    body = f"mov %rdi, %r8\n .rept 16\n {registers}\n rep {instruction}\n .endr\n mov %r8, %rdi"
    return Probe(f"rep {instruction} of {size}", 16, body, "xor %eax, %eax", ".skip 8192")


def probes() -> Iterator[Probe]:
    yield from (jumps(count, 64) for count in (64, 192, 384))
    yield from (jumps(count, 128) for count in (10240, 12288))
    yield from (jumps(count, 32) for count in (1024, 4096, 6144, 8192, 12288, 16384, 24576))
    yield from (jumps(12288, apart) for apart in (8, 16))
    yield jumps(49152, 16)
    yield from (mixed_jumps(count, 16) for count in (192, 1024, 4096, 8192))
    yield from (mixed_jumps(count, 64) for count in (896, 1024, 1280, 4096))
    yield from (crowded(lines, each) for lines, each in ((4608, 1), (4608, 2), (4352, 4)))
    yield from (there_and_back(count, 2048) for count in (4096, 5120, 5632, 8192))
    yield from (there_and_back(count, 8192) for count in (2048, 3584, 4096, 8192))
    yield from (there_and_back(count, 8192, "test %eax, %eax\n jz") for count in (2048, 8192))
    yield from (lone(lines) for lines in (256, 384, 448))
    yield from (taken_for_another(*elsewhere) for elsewhere in ((), (0x40,), (0, 0x80)))
    yield from (one_set(count) for count in (4, 8, 12))
    yield distant(3000)
    yield from (between_jumps(lines, 8) for lines in (512, 2048))
    yield from (between_chances(lines) for lines in (512, 2048))
    yield from (straight(size, 4) for size in (8, 24, 128, 6144))
    yield from (straight(size, 8) for size in (8, 24, 128))
    yield from (runs(900, count) for count in (6, 7))
    yield from (mixed_runs(count) for count in (256, 384, 512, 768, 1024, 4096))
    yield from (calls(64, jumps, how) for jumps in (0, 2, 4) for how in ("call", "jmp"))
    yield from (nested(depth) for depth in (16, 24, 32, 40))
    yield from (pages(count) for count in (64, 96, 128, 256, 320, 384, 1536))
    yield from (pages(count, 3, rounds=True) for count in (128, 320))
    yield from (pages(count, indirect=True) for count in (256, 384))
    yield from (pages(count, lines) for count, lines in ((48, 4), (96, 4), (128, 4)))
    yield from (directions(1, period) for period in (4096, 16384, 65536))
    yield from (directions(64, period) for period in (64, 256, 512, 1024))
    yield from (directions(512, period) for period in (32, 64, 128))
    yield from (targets(1, 16, period) for period in (256, 1024, 2048, 4096))
    yield from (targets(1, 256, period) for period in (256, 512, 2048))
    yield from (targets(64, 4, period) for period in (16, 32, 64))
    yield from (targets(64, 16, period) for period in (16, 32))
    yield from (
        chosen(first, far, then) for first in KINDS for far in (0, 3) for then in ("", *KINDS)
    )
    yield from (remembered(branches) for branches in (64, 256))
    yield from (
        repeated(name, size) for name in ("stosq", "movsq") for size in (8, 12, 16, 24, 32, 64)
    )
    yield from forwarded()
    yield chances("nop", "a number by chance")
    yield chances("jz 7f\n nop\n7:", "and a branch by it, wrong every second time")


def compiled(probe: Probe, folder: Path) -> Path:
    folder.mkdir()
    (folder / "probe.s").write_text(
        LOOP.format(first=probe.first, body=probe.body, data=probe.data)
    )
    (folder / "unit.c").write_text(UNIT.format(units=UNITS, times=probe.times))
    return linked(folder, "unit.c", "probe.s")


def main(model: str = "emeraldrapids", *words: str) -> None:
    all_probes = [one for one in probes() if not words or any(w in one.what for w in words)]
    if not all_probes:
        sys.exit(f"no loop's name has {' or '.join(map(repr, words))}")
    machine = open_machine(model)
    with tempfile.TemporaryDirectory() as folder, ProgressDisplay() as display:
        kernel = guest_kernel(display)
        files = [compiled(probe, Path(folder) / str(n)) for n, probe in enumerate(all_probes)]
        found = take_turns(files, RUNS, all_cores(PATIENCE), failed)
        binaries = [Binary("probe", str(n), "default", file) for n, file in enumerate(files)]
        traces = simulated(machine, kernel, binaries, display, traced=True)
        table = Table("cycles each", f"here: {processor_name()}", Path(model).stem)
        for probe, file, runs in zip(all_probes, files, found, strict=True):
            trace = traces[file_digest(file)].trace
            assert trace is not None
            events = UNITS * probe.count * probe.times
            here = estimate(np.array([run.units for run in runs])) / events
            there = trace_costs(trace, [machine.cpu])[0][0][MODEL_CYCLES] / events
            table.add_row(probe.what, f"{here:.2f}", f"{there:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
