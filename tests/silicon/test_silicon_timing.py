# SPDX-License-Identifier: GPL-2.0-or-later
"""Times of programs: the clock, and the programs themselves on this processor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.process import run
from kernsmith.silicon.binaries import (
    Binary,
    Names,
    compile_program,
    layout_names,
    link_layouts,
    movable,
)
from kernsmith.silicon.builds import find_builds
from kernsmith.silicon.programs import check_programs, find_program
from kernsmith.silicon.shared_core import Cores
from kernsmith.silicon.timing import (
    Timed,
    check_clock,
    estimate,
    halves,
    in_core_cycles,
    last_processor,
    take_turns,
    time_binaries,
)
from turning_programs import turning_program

ANYWHERE = Cores([last_processor()], patience=0)


def test_units_are_told_in_cycles_of_the_core() -> None:
    # The core runs twice as fast as the counter, then as fast; three chains were disturbed.
    chains = [30, 900, 30, 30, 900, 900, 60, 60, 60, 60]
    found = in_core_cycles([100] * 9, 60, chains)
    assert found == [200, 200, 200, 200, 200, 200, 100, 100, 100]


def test_each_run_is_of_a_copy_of_its_own(tmp_path: Path) -> None:
    """So what a file's pages are worth is not taken for what its layout is."""
    program = turning_program(tmp_path / "one/program", [1000])
    failures: list[int] = []
    (runs,) = take_turns([program], 4, ANYWHERE, lambda place, error: failures.append(place))
    assert failures == []
    assert len(runs) == 4
    files = (program.parent / "turns.log").read_text().split()
    assert len(files) == len(set(files)) == 5
    assert str(program) not in files
    left = sorted(entry.name for entry in program.parent.iterdir())
    assert left == ["program", "turns.log"]


def test_the_shortest_that_was_seen_of_each_unit_counts() -> None:
    runs = np.array([[100.0, 50.0], [101.0, 900.0], [102.0, 53.0], [500.0, 54.0], [110.0, 51.0]])
    timed = Timed(Binary("lua", "O2", "default", Path()), runs, "", alone=5)
    assert timed.cycles == estimate(runs) == 100 + 50
    assert timed.disturbed == pytest.approx((102 + 53) / 150 - 1)
    assert halves(np.array([[1.0], [7.0], [1.0], [7.0]])) == (1, 7)


def test_a_counter_that_stands_still_in_sleep_is_refused(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu tsc rdtscp constant_tsc\n")
    with pytest.raises(UserError, match="lacks nonstop_tsc"):
        check_clock(cpuinfo)
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu rdtscp constant_tsc nonstop_tsc\n")
    check_clock(cpuinfo)


def test_what_does_not_exist_is_said_with_what_does() -> None:
    with pytest.raises(UserError, match="no program 'emacs': allowed are lua"):
        check_programs(["emacs"])
    with pytest.raises(UserError, match="no build 'O9': allowed are O2"):
        find_builds(["O9"])


def test_builds_of_the_users_own_have_a_name_and_flags_that_a_study_may_have() -> None:
    baseline, unroll, size = find_builds(["unroll=-O2 -funroll-loops", "small=gcc -Os"])
    assert baseline.name == "O2"
    assert (unroll.family, unroll.flags, unroll.own) == ("clang", ("-O2", "-funroll-loops"), True)
    assert (size.name, size.family, size.flags) == ("small", "gcc", ("-Os",))
    with pytest.raises(UserError, match=r"the flag '-fplugin=x' is not allowed"):
        find_builds(["own=-fplugin=x"])
    with pytest.raises(UserError, match="'Os' is there already"):
        find_builds(["Os=-O1"])


def test_a_function_that_shares_its_name_with_data_stays(tmp_path: Path) -> None:
    source, binary = tmp_path / "names.s", tmp_path / "names.o"
    source.write_text(
        ".text\nfirst: nop\nshared: nop\nlast: nop\n.data\nshared_data: .long 1\n"
        '.section .rodata,"a"\nother: .long 2\n'
    )
    compiler = default_compiler()
    run([compiler, "-c", "-o", str(binary), str(source)], timeout=60)
    names = movable(binary)
    assert names.functions == ("first", "last", "shared")
    assert names.data == frozenset()
    order = names.order("1")
    alike = replace(names, data=frozenset({"shared"}))
    assert alike.order("1") == [name for name in order if name != "shared"]
    assert movable_of_mujs().data == {"script"}


def movable_of_mujs() -> Names:
    """MuJS has a function `script`, and so has its load a text of that name."""
    (build,) = find_builds(["O2"])
    compiler = find_compiler(default_compiler())
    objects = compile_program(find_program("mujs"), build, compiler)
    return movable(link_layouts(objects, (), compiler)[0].path)


def test_layouts_of_a_program_do_the_same_work_with_data_at_the_same_addresses() -> None:
    """Its figures are not compared: the machine is shared. `make bench` and calibration time."""
    program = find_program("tcc")
    (build,) = find_builds(["O2"])
    compiler = find_compiler(default_compiler())
    objects = compile_program(program, build, compiler)
    binaries = link_layouts(objects, layout_names(4), compiler)
    assert [one.layout for one in binaries] == list(layout_names(4))
    places = []
    for binary in binaries:
        said = run(["nm", str(binary.path)], timeout=60).output
        rows = [line.split() for line in said.splitlines()]
        symbols = {row[2]: (row[0], row[1]) for row in rows if len(row) == 3}
        places.append(symbols)
    data = [{n: a for n, (a, kind) in s.items() if kind in "dDbB"} for s in places]
    text = [{n: a for n, (a, kind) in s.items() if kind in "tT"} for s in places]
    assert len(data[0]) > 100
    assert all(one == data[0] for one in data)
    assert len({tuple(sorted(one.items())) for one in text}) == len(binaries)
    try:
        timed = time_binaries(binaries[:2], runs=4, cores=ANYWHERE)
    except UserError as error:
        pytest.skip(str(error))
    assert {len(one.units) for one in timed} == {4}
    assert len({one.sum for one in timed}) == 1
    assert all(one.cycles > 0 for one in timed)
