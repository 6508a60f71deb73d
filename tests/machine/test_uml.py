# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `uml` on programs that tell made-up times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.machine import Job, Outcome, find_machine
from kernsmith.machine.protocol import Turns
from turning_programs import turning_program

RUNS = {"runs": 4, "patience": 0}


def outcomes(folder: Path, *images: Path) -> list[Outcome]:
    machine = find_machine("uml", "", RUNS)
    (workload,) = machine.workloads
    jobs = [
        Job(workload, folder / f"job-{number}", image=image) for number, image in enumerate(images)
    ]
    with machine.open(images[0], folder / "session") as session:
        assert isinstance(session, Turns)
        found = list(session.run_together(jobs))
    assert list(session.boots) == [each.boot for each in found]
    return found


def test_a_binary_takes_the_sum_of_its_units_in_cycles_of_the_core(tmp_path: Path) -> None:
    one = turning_program(tmp_path / "one/vmlinux", [1000, 2500])
    other = turning_program(tmp_path / "other/vmlinux", [900, 2400])
    found = outcomes(tmp_path, one, other)
    assert [each.status for each in found] == ["ok", "ok"]
    figures = [{name: value for name, (value, _) in each.metrics.items()} for each in found]
    assert figures[0] == {
        "core_cycles": 3500, "core_cycles_even": 3500, "core_cycles_odd": 3500,
    }  # fmt: skip
    assert figures[1]["core_cycles"] == 3300
    # Once more than they count, to bring pages into memory.
    assert (tmp_path / "one/turns.log").read_text().count("vmlinux") == 1 + RUNS["runs"]
    assert found[0].console.read_text().count("kernsmith: units 1000 2500") == RUNS["runs"]


def test_what_the_processor_was_like_is_kept_with_each_run(tmp_path: Path) -> None:
    (found,) = outcomes(tmp_path, turning_program(tmp_path / "one/vmlinux", [1000]))
    told = json.loads(json.dumps(found.provenance))
    assert {"processor", "governor", "load", "throttling"} <= set(told["conditions"])
    assert told["together"] == 1


def test_a_program_that_fails_does_not_fail_the_others(tmp_path: Path) -> None:
    well = turning_program(tmp_path / "well/vmlinux", [1000])
    ill = turning_program(tmp_path / "ill/vmlinux", [1000], code=3)
    found = outcomes(tmp_path, ill, well)
    assert [each.status for each in found] == ["failed", "ok"]
    assert found[0].reason == "vmlinux failed: exit code 3"
    assert not found[0].metrics
    assert (tmp_path / "ill/turns.log").read_text().count("vmlinux") == 1


def test_programs_that_did_different_work_are_not_compared(tmp_path: Path) -> None:
    one = turning_program(tmp_path / "one/vmlinux", [1000])
    other = turning_program(tmp_path / "other/vmlinux", [1000], sum="bad")
    found = outcomes(tmp_path, one, other)
    assert [each.status for each in found] == ["failed", "failed"]
    assert all("computed different sums" in each.reason for each in found)


def test_its_fingerprint_is_of_lasting_conditions_and_no_path() -> None:
    machine = find_machine("uml", "", RUNS)
    fingerprint = machine.fingerprint()
    assert fingerprint == json.loads(json.dumps(fingerprint))
    assert "load" not in fingerprint["conditions"]
    assert fingerprint["conditions"]["processor"]
    assert fingerprint != find_machine("uml", "").fingerprint()
    assert {metric.meaning for metric in machine.metrics} == {"real"}
    assert [metric.name for metric in machine.metrics if metric.headline] == ["core_cycles"]


def test_it_simulates_no_processor_and_has_only_those_of_this_host() -> None:
    with pytest.raises(UserError, match=r"machine.cpu: .*simulates no CPU model: leave zen5 out"):
        find_machine("uml", "zen5")
    with pytest.raises(UserError, match=r"machine.settings.processor: 4096 is none"):
        find_machine("uml", "", {"processor": 4096})
    with pytest.raises(UserError, match=r"machine.settings.runs: input should be greater"):
        find_machine("uml", "", {"runs": 1})
