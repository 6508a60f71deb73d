# SPDX-License-Identifier: GPL-2.0-or-later
"""perf stat -x,"""

from pathlib import Path

import pytest
from harness_files import read, values

from kernsmith.errors import UserError
from kernsmith.harness import Asked, read_harness


def test_an_event_that_occurs_again_is_of_another_run() -> None:
    found = read("perf-stat.csv", asked=Asked(value="task-clock"))
    assert found.by == ("file",)
    assert values(found) == {None: {"perf-stat.csv": [1.08, 1.04, 1.13, 0.98]}}
    assert found.reading.notes[1] == "not counted on that machine and left out: cycles"


def test_the_duration_is_meant_where_it_was_counted() -> None:
    found = read("perf-stat.csv")
    assert found.value == "duration_time"
    assert (
        "the file also has 'task-clock', 'context-switches', 'page-faults'"
        in (found.reading.notes[-1])
    )


def test_means_of_repeated_runs_are_called_so() -> None:
    found = read("perf-stat-repeated.csv", asked=Asked(value="page-faults"))
    assert values(found) == {None: {"perf-stat-repeated.csv": [102]}}
    assert "means of repeated runs (-r)" in found.reading.notes[1]


def test_intervals_are_called_so() -> None:
    found = read("perf-stat-interval.csv", asked=Asked(value="page-faults"))
    assert values(found) == {None: {"perf-stat-interval.csv": [75, 0]}}
    assert found.reading.notes[2] == "the values are of intervals of time (-I), not of runs"


def test_decimal_commas_of_some_languages(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("1,08;msec;task-clock;1083503;100,00;0,403;CPUs utilized\n")
    found = read_harness([file], Asked())
    assert found is not None
    assert values(found) == {None: {"x": [1.08]}}


def test_raw_events_with_commas_and_other_separators(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for mark in ",;|":
        lines = [
            f"{count},,cpu/event=0x3c,umask=0x0/u,1000,100.00,,".replace(",", mark)
            for count in (5, 6)
        ]
        file.write_text("\n".join(lines))
        found = read_harness([file], Asked())
        assert found is not None
        assert found.value == "cpu/event=0x3c,umask=0x0/u".replace(",", mark)
        assert values(found) == {None: {"x": [5, 6]}}


def test_times_in_two_units_are_converted(tmp_path: Path) -> None:
    for name, line in (("old", "10.0,msec"), ("new", "0.0101,sec")):
        (tmp_path / name).write_text(f"{line},task-clock,1000,100.00,,\n")
    found = read_harness([tmp_path / "old", tmp_path / "new"], Asked())
    assert found is not None
    assert values(found) == {None: {"old": [10.0], "new": [pytest.approx(10.1)]}}
    assert found.reading.notes[1:] == (
        "values in sec were converted to msec",
        "'task-clock' is in msec",
    )


def test_an_event_in_units_that_do_not_convert_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("10.0,Joules,power/energy/,1000,100.00,,\n9,MiB,power/energy/,1000,100.00,,\n")
    with pytest.raises(UserError, match="is in 'Joules' and in 'MiB', which cannot be compared"):
        read_harness([file], Asked())


def test_a_table_whose_first_cell_is_a_number_is_none_of_perf_stat(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("12,a,b,c\n13,a,b,c\n")
    assert read_harness([file], Asked()) is None


def test_figures_of_cgroups_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("12,msec,task-clock,web,1000,100.00,,\n")
    with pytest.raises(UserError, match="line 1: figures of a cgroup; measure without -G"):
        read_harness([file], Asked())
