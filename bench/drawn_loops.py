# SPDX-License-Identifier: GPL-2.0-or-later
"""What places of code cost, here and in models: loops whose branches lie anywhere.

``python bench/drawn_loops.py [MODEL...]``: groups of loops, each with so many branches of some kind
at places that are drawn (`bench/probes/drawn.py`), are timed as the programs of `kernsmith silicon`
are, and executed by models, without what data cost. For each group it says what a block costs here,
how far loops are apart, and how well two halves of the runs agree on their order; for each model
what a block costs, how far its loops are apart, and how well it ranks them. No program has a part:
what is written into a model because of such loops is not tuned on what judges it.
Without words: the model `zen3`. Two minutes, and up to five more for a core that nobody shares;
nothing should run beside it.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
from mechanisms import without
from probes.drawn import REGION_BITS, Group, Step, code, drawn
from probes.probe import failed, linked
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from kernsmith._native import loop_cycles
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.timing import all_cores, estimate, processor_name, take_turns

RUNS = 24
PATIENCE = 300.0
"""Seconds, for a core that nobody shares."""
LOOPS = 40
"""Of each group."""
BLOCKS = 40_000
"""In a unit, at least."""
FEWEST = 30
"""Times round in a unit."""
TWICE = 2
"""Units of each loop: behind the first one all is known."""
FIRST = 0x4000_0000
"""The region of the first loop; each has one of its own."""

UNIT = """\
#include "program.h"

#include <string.h>
#include <sys/mman.h>

/* Of each loop: where it begins. Of each piece: its address, its size, and then its code. */
extern const uint64_t loops[];
extern const unsigned char pieces[], pieces_end[];

const char *const program_name = "loops";
const unsigned program_units = {loops} * {twice};

int program_set_up(void)
{{
	const unsigned char *at = pieces;
	void *wanted = (void *)(uintptr_t){first};
	void *got = mmap(wanted, (size_t){loops} << {bits}, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != wanted)
		return -1;
	while (at < pieces_end) {{
		uint64_t address, size;

		memcpy(&address, at, 8);
		memcpy(&size, at + 8, 8);
		memcpy((void *)(uintptr_t)address, at + 16, size);
		at += 16 + size;
	}}
	return 0;
}}

uint64_t program_unit(unsigned number)
{{
	uint32_t times = {times};

	__asm__ volatile("test %0, %0\\n\\tcall *%1"
			: "+c"(times) : "r"(loops[number / {twice}]) : "cc", "memory");
	return number;
}}
"""
DATA = """\
	.section .rodata
	.globl loops, pieces, pieces_end
	.balign 8
loops:	.quad {loops}
pieces:	.incbin "pieces"
pieces_end:
	.section .note.GNU-stack,"",@progbits
"""


KINDS = (
    Group("jumps", jumps=1.0, body=(2, 8)),
    Group("calls", calls=1.0),
    Group("conditional", untaken=0.5),
    Group("a mixture", calls=0.3, jumps=0.2, untaken=0.5),
)


def groups() -> Iterator[Group]:
    for blocks in (200, 400, 800, 1600):
        for kind in KINDS:
            yield replace(kind, what=f"{blocks:,} blocks, {kind.what}", blocks=blocks)


def region(number: int) -> int:
    """Where the region of a loop begins."""
    return FIRST + (number << REGION_BITS)


def times(group: Group) -> int:
    """Times round in a unit."""
    return max(FEWEST, BLOCKS // group.blocks)


def built(group: Group, loops: Sequence[Sequence[Step]], folder: Path) -> Path:
    """A program of which each unit is a loop."""
    folder.mkdir()
    pieces = (piece for steps in loops for piece in code(steps).items())
    (folder / "pieces").write_bytes(
        b"".join(
            at.to_bytes(8, "little") + len(what).to_bytes(8, "little") + what for at, what in pieces
        )
    )
    begins = ", ".join(f"{steps[0].start:#x}" for steps in loops)
    (folder / "data.s").write_text(DATA.format(loops=begins))
    words = {"loops": len(loops), "first": FIRST, "bits": REGION_BITS, "times": times(group)}
    (folder / "unit.c").write_text(UNIT.format(twice=TWICE, **words))
    return linked(folder, "-mno-red-zone", "unit.c", "data.s")


def without_data(models: Sequence[str], folder: Path) -> list[Path]:
    """Copies of models in which data cost nothing."""
    copies = []
    for number, model in enumerate(models):
        source = Path(open_machine(model).cpu)
        copies.append(folder / str(number) / source.name)
        copies[-1].parent.mkdir(parents=True)
        copies[-1].write_text(without(source.read_text(), {"decoupled.core.stall_cycles": 0}))
    return copies


def each(units: np.ndarray) -> np.ndarray:
    """What each loop takes. units: of shape (runs, loops)."""
    return np.array([estimate(units[:, [loop]]) for loop in range(units.shape[1])])


def rank(one: np.ndarray, other: np.ndarray) -> float:
    return float(spearmanr(one, other).statistic)


def main(*models: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpus = without_data(models or ("zen3",), folder / "models")
        table = Table("cycles of a block", f"here: {processor_name()}", "apart", "halves agree")
        for cpu in cpus:
            for title in (cpu.stem, "apart", "rank"):
                table.add_column(title, justify="right")
        drawn_groups = [
            (group, [drawn(group, Random(f"{group.what} {n}"), region(n)) for n in range(LOOPS)])
            for group in groups()
        ]
        files = [built(*group, folder / str(n)) for n, group in enumerate(drawn_groups)]
        found = take_turns(files, RUNS, all_cores(PATIENCE, Console(stderr=True).print), failed)
        for (group, loops), runs in zip(drawn_groups, found, strict=True):
            per_block = 1 / (group.blocks * times(group))
            units = np.array([run.units[TWICE - 1 :: TWICE] for run in runs]) * per_block
            here = each(units)
            agree = rank(each(units[0::2]), each(units[1::2]))
            row = [group.what, f"{here.mean():.2f}", f"{here.std():.3f}", f"{agree:.2f}"]
            for cpu in cpus:
                simulated = [[step.simulated for step in steps] for steps in loops]
                there = np.array([loop_cycles(cpu, steps, times(group)) for steps in simulated])
                there /= group.blocks
                row += [f"{there.mean():.2f}", f"{there.std():.3f}", f"{rank(here, there):.2f}"]
            table.add_row(*row)
    Console(width=100 + 24 * len(cpus)).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
