# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite of lmbench's own programs: its rows, and that what they do depends on no clock."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from kernsmith.guest.own import OwnWorkload, parse_own_workload, shipped_files
from kernsmith.guest.workloads import load_catalogue

FILES = shipped_files("lmbench-original")
SCRIPT = FILES[0].with_name("lmbench.sh").read_text(encoding="utf-8")
PREFIX = "lmbench-original-"

# What an iteration of a row's program is in operations.
OPERATIONS = {
    "file-read": 512, "mmap-read": 512, "pipe-bandwidth": 1024, "tcp-bandwidth": 16384,
    "unix-bandwidth": 1024, "context-switch": 8, "page-fault": 2048,
}  # fmt: skip
# Programs that call benchmp() several times, and count all of what these do.
CALLS = {"file-create": 8, "rpc-latency": 2}


def rows() -> dict[str, tuple[tuple[int, int], ...]]:
    """Of each row the iterations of an interval, and the intervals, of each program."""
    cases = re.findall(r"^([a-z-]+)\)(.*?);;$", SCRIPT.partition("\ncase $1 in")[2], re.M | re.S)
    return {
        name: tuple(
            (int(iterations), int(repetitions))
            for iterations, repetitions in re.findall(r"(?:fixed|alone) (\d+) (\d+) ", body)
        )
        for name, body in cases
    }


ROWS = rows()


def said(row: str) -> OwnWorkload:
    (path,) = shipped_files(PREFIX + row)
    return parse_own_workload(path)


def iterations_made(enough: int, loop_cost: float, took: float, repetitions: int) -> int:
    """How many iterations of `took` microseconds one program makes.

    benchmp_interval() of lmbench 3.0-a9, lib_timing.c, for one process: state is warmup,
    timing_interval and cooldown, and the parent answers at once.
    """
    batch, made, kept = 1, 1, 0
    while True:
        made += batch
        result = int(batch * took) - batch * loop_cost
        kept += result > 0.95 * enough
        if kept == repetitions:
            return made + 1
        if not 0.99 * enough <= result <= 1.2 * enough:
            assert result > 150
            batch = int(batch / result * 1.1 * enough + 1)


def test_it_has_the_rows_of_lmbench() -> None:
    own = {each.name.removeprefix("lmbench-") for each in load_catalogue().select(["lmbench"])}
    assert {path.stem.removeprefix(PREFIX) for path in FILES} == own == set(ROWS)
    for row in own:
        assert said(row).arguments == ["lmbench.sh", row]
        assert said(row).set_up == ["sh", "lmbench.sh", "start", row]


def test_no_other_set_has_them_and_all_share_a_root() -> None:
    assert not [each for each in load_catalogue() if each.name.startswith(PREFIX)]
    roots = {str(said(row).root) for row in ROWS}
    assert len(roots) == 1 and "non-free" in roots.pop()


@pytest.mark.parametrize(
    ("iterations", "repetitions"), sorted({each for calls in ROWS.values() for each in calls})
)
def test_how_much_is_done_depends_on_no_time(
    tmp_path: Path, iterations: int, repetitions: int
) -> None:
    program = tmp_path / "lat_syscall"
    program.write_text('#!/bin/sh\necho "$ENOUGH $TIMING_O $LOOP_O"\n')
    program.chmod(0o755)
    function = re.search(r"^fixed\(\) \{.*?^\}", SCRIPT, re.M | re.S)
    assert function
    shell = function[0].replace(">>/tmp/said 2>&1", "") + '\nfixed "$@"'
    told = subprocess.check_output(
        ["sh", "-c", shell, "sh", str(iterations), str(repetitions), "lat_syscall", "null"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        text=True,
    )
    enough, timing, loop_cost = told.split()
    assert timing == "0" and int(enough) * 2 < 2**31, "benchmp() doubles it in an int"
    most = 550e6 / iterations**2
    for microseconds in (0.1, 1, most / 20, most * 0.99):
        made = iterations_made(int(enough), float(loop_cost), microseconds, repetitions)
        assert made == iterations * repetitions + 3


@pytest.mark.parametrize("row", sorted(ROWS))
def test_a_round_is_as_many_operations_as_are_said(row: str) -> None:
    script_calls = list(ROWS[row])
    if row == "process":
        script_calls *= 3  # a loop over three kinds
    if row == "signal":
        # do_catch() of lat_sig.c sends one signal less than it is asked for; `install` sends none.
        (iterations, repetitions) = script_calls[-1]
        assert said(row).operations == (iterations - 1) * repetitions
        return
    made = sum(iterations * repetitions + 3 for iterations, repetitions in script_calls)
    assert said(row).operations == made * OPERATIONS.get(row, 1) * CALLS.get(row, 1)
