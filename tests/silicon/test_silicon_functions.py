# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions a program's cycles are of: here by samples, and in a model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.errors import KernsmithError
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.binaries import UNPLACED, Binary
from kernsmith.silicon.functions import FunctionTime, function_times, misplaced, sample
from kernsmith.silicon.shared_core import Cores
from kernsmith.silicon.simulation import simulate
from kernsmith.silicon.timing import last_processor

TIMES = 40_000
# Sixteen instructions each: one waits for the other, or none does.
SOURCE = """\
#include "program.h"
const char *const program_name = "two";
const unsigned program_units = 20;
int program_set_up(void) { return 0; }
__attribute__((noinline)) void waiting(void)
{
	for (int n = 0; n < TIMES; n++)
		asm volatile(".rept 16\\n imul %%eax, %%eax\\n .endr" ::: "eax");
}
__attribute__((noinline)) void at_once(void)
{
	for (int n = 0; n < TIMES; n++)
		asm volatile(".rept 16\\n mov $1, %%eax\\n .endr" ::: "eax");
}
uint64_t program_unit(unsigned number) { waiting(); at_once(); return number; }
"""


def two_functions(folder: Path) -> Path:
    (folder / "unit.c").write_text(SOURCE)
    programs = paths.shipped("guest/programs")
    words = ["gcc", "-O2", "-D_GNU_SOURCE", f"-DTIMES={TIMES}", *UNPLACED, f"-I{programs}"]
    words += ["-o", "two", "unit.c", str(programs / "program.c")]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "two"


@pytest.mark.kernel
def test_a_function_that_waits_has_more_of_the_cycles_here(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    program = two_functions(tmp_path)
    try:
        samples = sample(program, 4, Cores([last_processor()], patience=0))
    except KernsmithError as error:
        pytest.skip(str(error))
    machine = open_machine("zen3")
    binary = Binary("two", "O2", "default", program)
    outcome = simulate(machine, micro_kernel.vmlinux, binary, tmp_path, trace=True)
    assert outcome.trace is not None
    cycles = 1e8
    found = function_times(program, outcome.trace, machine.cpu, samples, cycles)
    by_name = {one.name: one for one in found}
    waiting, at_once = by_name["waiting"], by_name["at_once"]
    # All of a run is in these two; what times it is left out.
    assert waiting.here + at_once.here > 0.9 * cycles
    assert "main" not in by_name
    assert 16 < waiting.instructions / (20 * TIMES) < 20
    assert waiting.instructions == pytest.approx(at_once.instructions, rel=0.01)
    # Three cycles for each multiplication; the model does not know what waits for what.
    assert waiting.here > 4 * at_once.here
    assert waiting.model == pytest.approx(at_once.model, rel=0.3)
    assert misplaced(found) > 0.25
    assert found[0].error < 0.1 * found[0].here


def test_cycles_of_other_functions_are_misplaced_however_many_there_are() -> None:
    functions = [FunctionTime("one", 1, 60.0, 20.0, 100), FunctionTime("other", 1, 40.0, 20.0, 0)]
    assert misplaced(functions) == pytest.approx(0.1)
    assert functions[0].error == pytest.approx(6.0)
    assert functions[1].error == 0.0
