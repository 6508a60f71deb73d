# SPDX-License-Identifier: GPL-2.0-or-later
"""The depth `core`: loads and stores are simulated, too, and nothing else changes."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.engine.held import held_in
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome, find_machine, run_once
from kernsmith.machine.metrics import OF_DATA
from kernsmith.machine.pinned import pin
from kernsmith.machine.tcg import Table, Tcg, open_machine
from kernsmith.study import Study
from kernsmith.study.file import read_study
from kernsmith.study.writing import write_study

CPU = "emeraldrapids"


def machine(depth: str) -> Tcg:
    return open_machine(CPU, Table.model_validate({"depth": depth}))


def short() -> Workload:
    (work,) = load_catalogue().select(["fork"])
    return replace(work, rounds=max(work.rounds // 10, 1))


def boot(kernel: Kernel, folder: Path, depth: str) -> Outcome:
    outcome = run_once(machine(depth), kernel.vmlinux, Job(short(), folder))
    assert outcome.ok, outcome.reason
    return outcome


@pytest.mark.kernel
def test_loads_and_stores_are_counted_the_same_in_every_boot(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    front, one, other = (
        boot(micro_kernel, tmp_path / word, depth)
        for word, depth in (("front", "frontend"), ("one", "core"), ("other", "core"))
    )
    assert one.metrics == other.metrics
    assert one.metrics.keys() - front.metrics.keys() == OF_DATA
    figures = {name: value for name, (value, _) in one.metrics.items()}
    assert 0 < figures["l3_misses"] <= figures["l2_misses"] <= figures["l1d_misses"]
    assert figures["l1d_misses"] < figures["l1d_accesses"] < figures["kernel_instructions"]
    assert 0 < figures["dtlb_misses"] < figures["l1d_accesses"]
    # What is executed, and what of the front end no data can touch.
    for name in ("kernel_instructions", "user_instructions", "taken_branches", "l1i_misses",
                 "branch_mispredictions", "itlb_misses", "virtual_seconds"):  # fmt: skip
        assert one.metrics[name] == front.metrics[name]
    assert one.metrics["model_cycles"] != front.metrics["model_cycles"]


def test_the_depth_is_of_the_key_of_a_run_and_its_data_side_of_that_depth_only() -> None:
    front, core = machine("frontend"), machine("core")
    assert front.fingerprint() == open_machine(CPU).fingerprint()
    assert core.fingerprint() | {"cpu": None} == {
        "depth": "core", **front.fingerprint(), "cpu": None
    }  # fmt: skip
    text = front.cpu.read_text().replace("fill_buffers = 16", "fill_buffers = 12")
    other = pin(text.encode(), f"{CPU}.toml")
    assert replace(front, model=other).fingerprint() == front.fingerprint()
    assert replace(core, model=other).fingerprint() != core.fingerprint()


def test_only_the_core_has_metrics_of_data_and_says_what_it_presumes() -> None:
    front, core = machine("frontend"), machine("core")
    names = [{metric.name for metric in each.metrics} for each in (front, core)]
    assert names[1] - names[0] == OF_DATA
    (gone,) = set(front.assumptions) - set(core.assumptions)
    (new,) = set(core.assumptions) - set(front.assumptions)
    assert gone.startswith("Data neither misses caches")
    assert new.startswith("Loads and stores miss caches")
    assert front.profiles and not core.profiles


def study_of(folder: Path, more: str = "") -> Study:
    file = folder / "study.toml"
    file.write_text(
        f'[source]\nuse = "debian:7.3"\n[machine]\ncpu = "{CPU}"\n'
        f'[machine.settings]\ndepth = "core"\n[factors]\noptimisation = ["O2", "Os"]\n{more}'
    )
    return read_study(file)


def test_layouts_are_booted_as_no_trace_has_loads_and_stores(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    assert (study.depth, study.design.layouts_by) == ("core", "boot")
    assert study.settings == (("depth", "core"),)
    again = tmp_path / "again.toml"
    again.write_text(write_study(study))
    assert read_study(again) == replace(study, name="again")
    with pytest.raises(UserError) as caught:
        study_of(tmp_path, '[design]\nlayouts_by = "replay"\n')
    assert str(caught.value).endswith(
        "design.layouts_by: loads and stores are in no trace, so the depth core cannot be "
        'replayed: allowed is "boot", or the depth frontend'
    )


def test_nobody_has_held_it_against_a_processor(tmp_path: Path) -> None:
    """The model's table [silicon] is of the depth frontend."""
    study = study_of(tmp_path)
    found = find_machine(study.machine, study.cpu, dict(study.settings))
    assert held_in(study, found) is None
    assert held_in(replace(study, settings=()), found) is not None
