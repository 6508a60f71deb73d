# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that is a kernel: its table, its linker script, and what it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from kernels import ALL, kept_kernel
from kernsmith.errors import KernsmithError
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped, sources
from kernsmith.process import run
from kernsmith.silicon.binaries import Binary, layout_names, link_layouts
from kernsmith.silicon.builds import BASELINE, find_builds
from kernsmith.silicon.programs import Table, find_program, program_tables
from kernsmith.silicon.simulation import simulate
from kernsmith.silicon.timing import all_cores, time_binaries
from kernsmith.silicon.uml import compile_with_kernel, is_built, kernel_folder, with_data_apart
from kernsmith.study import Variant

OWN = {"files": ["one.c"]}
KERNEL = {"source": "debian:7.3", "config": "c", "files": ["k.c"], "builds": ["O2"]}
FOREIGN = {"debian": "zlib", "files": ["*.c"]}


def test_a_program_is_a_kernel_or_made_of_sources_and_not_both() -> None:
    assert Table.model_validate({"description": "one", "kernel": KERNEL, "own": OWN}).kernel
    for wrong in ({}, {"kernel": KERNEL, "source": [FOREIGN]}):
        with pytest.raises(ValidationError, match=r"either \[\[source\]\] or \[kernel\]"):
            Table.model_validate({"description": "one", "own": OWN, **wrong})


def test_the_kernel_takes_builds_that_are_there_and_has_no_library_for_counters() -> None:
    kernel = program_tables()["uml"].kernel
    assert kernel is not None
    known = {build.name: build for build in find_builds()}
    assert BASELINE in kernel.builds
    assert {known[name].profile for name in kernel.builds} == {
        "",
        "autofdo",
        "autofdo+propeller",
    }


def test_its_config_leaves_out_what_moves_addresses_or_links_twice() -> None:
    kernel = program_tables()["uml"].kernel
    assert kernel is not None
    symbols = parse_config(shipped("guest/programs", kernel.config).read_text())
    assert symbols["STATIC_LINK"] == symbols["UML_TIME_TRAVEL_SUPPORT"] == "y"
    assert symbols["KALLSYMS"] == symbols["VMAP_STACK"] == "n"


SCRIPT = """\
SECTIONS
{
  . = 0x60000000 + SIZEOF_HEADERS;
  . = ALIGN((1 << 12));
  _text = .;
  .text : { *(.text) }
  . = ALIGN((1 << 12));
  .syscall_stub : { *(.stub) }
  .rela.plt : { *(.rela.iplt) }
  .tdata : { *(.tdata) }
  .sdata : { *(.sdata) }
  . = ALIGN(0); .bss : { *(.bss) }
}
"""


def test_data_lie_apart_from_the_text_and_the_header_before_it() -> None:
    apart = with_data_apart(SCRIPT)
    assert apart.index(".text :") < apart.index(". = 0x61000000;") < apart.index(".syscall_stub :")
    assert ". = ALIGN(64);\n  _text = .;" in apart
    assert "*(.rela.iplt) *(.rela.dyn)" in apart
    assert ".tdata : { *(.tdata) } :data :tls\n  .sdata : { *(.sdata) } :data\n" in apart
    with pytest.raises(KernsmithError, match=r"another form: it lacks .*syscall_stub"):
        with_data_apart(SCRIPT.replace(".syscall_stub", ".stub"))


@pytest.fixture(scope="module")
def binaries() -> list[Binary]:
    """The default layout and a random one of -O2; the kernel takes minutes to build."""
    program = find_program("uml")
    assert program.kernel is not None
    (build,) = find_builds([BASELINE])
    compiler = find_compiler(default_compiler())
    if not is_built(kernel_folder(program.kernel, build, compiler)) and not os.environ.get(ALL):
        pytest.skip("the kernel of the program uml is not built yet: make test-all builds it")
    objects = compile_with_kernel(program, program.kernel, build, compiler)
    return link_layouts(objects, layout_names(1), compiler)


@pytest.mark.kernel
def test_layouts_of_a_kernel_do_the_same_work_with_data_at_the_same_addresses(
    binaries: list[Binary],
) -> None:
    places = []
    for binary in binaries:
        said = run(["nm", str(binary.path)], timeout=60).output
        rows = [line.split() for line in said.splitlines()]
        places.append([tuple(row) for row in rows if len(row) == 3])
    data = [sorted(row for row in rows if row[1] in "dDbBrR") for rows in places]
    assert len(data[0]) > 1000
    assert data[0] == data[1]
    sends = {row for rows in places for row in rows if row[2] == "tcp_sendmsg"}
    assert len(sends) == 2
    timed = time_binaries(binaries, runs=4, cores=all_cores(patience=0))
    assert len({one.sum for one in timed}) == 1
    assert all(one.cycles > 0 for one in timed)


@pytest.mark.kernel
def test_a_kernel_counts_the_same_instructions_in_each_layout(
    binaries: list[Binary], tmp_path: Path
) -> None:
    source = resolve_source("debian:7.3", sources())
    guest = kept_kernel(make_recipe(Variant("debian:7.3", "micro"), source))
    machine = open_machine("emeraldrapids")
    counted = []
    for name, binary in (("first", binaries[0]), ("again", binaries[0]), ("random", binaries[1])):
        outcome = simulate(machine, guest.vmlinux, binary, tmp_path / name)
        counted.append({metric: value for metric, (value, _) in outcome.metrics.items()})
    assert counted[0] == counted[1]
    instructions = [one["user_instructions"] for one in counted]
    assert instructions[0] > 50e6
    assert instructions[0] == instructions[2]
    assert counted[0]["l1i_misses"] > 5e-3 * instructions[0]
