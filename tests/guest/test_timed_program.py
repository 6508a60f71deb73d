# SPDX-License-Identifier: GPL-2.0-or-later
"""Guest programs for real clocks, run on this host as any other program."""

from __future__ import annotations

import re
import subprocess

import pytest

from kernsmith.guest.workloads import guest_program, load_catalogue, timed_program
from kernsmith.machine.console import read_console
from kernsmith.machine.metrics import OF_TIMED
from kernsmith.machine.session_lines import chunks_in


def test_every_program_with_workloads_has_one_for_real_clocks() -> None:
    for workload in load_catalogue():
        assert timed_program(workload).is_file()
        assert timed_program(workload).name in (guest_program().name, workload.program)


def test_the_region_is_timed_and_counted_as_far_as_there_are_counters() -> None:
    (pipe,) = load_catalogue().select(["pipe"])
    words = [timed_program(pipe), "--run", "pipe", "--rounds", "20", "--warmup", "2"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    said = read_console(printed)
    assert said.verdict("pipe") == ("ok", "")
    assert said.metrics["reference_cycles"] > 1e4
    assert 0 < said.metrics["seconds"] < 60
    absent = dict(re.findall(r"^kernsmith: absent (\w+): (.+)$", printed, re.MULTILINE))
    assert absent.keys() | said.metrics.keys() == set(OF_TIMED)
    assert not absent.keys() & said.metrics.keys()


@pytest.mark.parametrize(("rounds", "chunks"), [(200, 64), (64, 64), (20, 20), (1, 1)])
def test_the_regions_parts_are_timed_and_make_the_whole(rounds: int, chunks: int) -> None:
    (pipe,) = load_catalogue().select(["pipe"])
    words = [timed_program(pipe), "--run", "pipe", "--rounds", str(rounds), "--warmup", "3"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = chunks_in(printed.splitlines())
    assert len(found) == chunks
    assert min(found) > 0
    # Behind the last one only the end of the region is left.
    whole = read_console(printed).metrics["reference_cycles"]
    assert 0.5 * whole < sum(found) <= whole
