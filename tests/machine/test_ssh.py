# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine ssh, as a study sees it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.machine import find_machine
from kernsmith.machine.protocol import Choosy, Unattended
from kernsmith.machine.remote.look import read_look, runner_program
from kernsmith.machine.remote.session import named
from kernsmith.machine.ssh import Ssh, Table

PIPE = Workload("pipe", ("lab",), "", 1, 1, ())


@pytest.fixture(scope="module")
def machine() -> Ssh:
    seen = read_look(process.run([runner_program(), "look"], timeout=60).output.encode())
    return Ssh("target", Table.model_validate({}), seen, "0123")


def with_settings(machine: Ssh, **settings: object) -> Ssh:
    return replace(machine, settings=Table.model_validate(settings))


def test_it_is_one_machine_that_repeats_nothing_exactly(machine: Ssh) -> None:
    assert (machine.name, machine.slots, machine.exact, machine.apart) == (
        "ssh:target", 1, False, False,
    )  # fmt: skip


def test_its_fingerprint_is_of_what_moves_figures_and_no_name(machine: Ssh) -> None:
    fingerprint = machine.fingerprint()
    assert fingerprint == json.loads(json.dumps(fingerprint))
    assert "target" not in json.dumps(fingerprint)
    for settings in ({"runs": 6}, {"words": "mitigations=off"}, {"tune": False}):
        assert with_settings(machine, **settings).fingerprint() != fingerprint
    for settings in ({"boot_seconds": 5}, {"power_cycle": "true"}, {"folder": "/srv/k"}):
        assert with_settings(machine, **settings).fingerprint() == fingerprint


def test_a_hang_is_tried_again_where_nobody_must_walk_there(machine: Ssh) -> None:
    assert isinstance(machine, Unattended)
    assert machine.hangs_stay
    assert not with_settings(machine, power_cycle="true").hangs_stay


def test_counters_are_metrics_where_the_processor_has_them(machine: Ssh) -> None:
    without = replace(machine, seen=replace(machine.seen, counts=False))
    names = [each.name for each in without.metrics]
    assert names[:3] == ["reference_cycles", "least_cycles", "seconds"]
    counting = replace(machine, seen=replace(machine.seen, counts=True))
    more = {each.name for each in counting.metrics} - {each.name for each in without.metrics}
    assert more > {"kernel_cycles", "kernel_instructions", "user_instructions", "pmu_l1i_misses"}


def test_figures_have_the_catalogues_units() -> None:
    found = named({"seconds": 1.25, "reference_cycles": 3e9})
    assert found == {"seconds": (1.25, "s"), "reference_cycles": (3e9, "cycles")}


def test_a_workload_of_another_program_is_refused_before_anything_is_built(machine: Ssh) -> None:
    assert isinstance(machine, Choosy)
    assert machine.refusal(PIPE) == ""
    other = replace(PIPE, name="nginx", initramfs=Path("/i/0123/x.cpio"))
    assert machine.refusal(other) == (
        "the machine ssh:target runs the workloads of kernsmith-guest alone, and 'nginx' is a "
        "program of its own"
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"runs": 0}, "machine.settings.runs: input should be greater than or equal to 1"),
        ({"processor": -2}, "machine.settings.processor: input should be greater than"),
        ({"folder": "var"}, "machine.settings.folder: string should match pattern"),
        ({"password": "x"}, "machine.settings: ssh has no setting password: allowed are runs,"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        find_machine("ssh:target", "", settings)
    assert str(caught.value).startswith(sentence)
