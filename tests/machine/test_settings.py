# SPDX-License-Identifier: GPL-2.0-or-later
"""`[machine.settings]`: the table of a study file that a kind of machine brings."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.guest.own import described, shipped_files
from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Machine, find_machine
from kernsmith.machine.tcg import Tcg
from kernsmith.study import Study
from kernsmith.study.file import read_study
from kernsmith.study.writing import write_study

SOURCE = '[source]\nuse = "debian:7.3"\n'


def study_of(folder: Path, settings: str) -> Study:
    file = folder / "study.toml"
    machine = '[machine]\ncpu = "skylake"\n'
    file.write_text(f"{SOURCE}{machine}[machine.settings]\n{settings}\n")
    return read_study(file)


def opened(study: Study) -> Machine:
    return find_machine(study.machine, study.cpu, dict(study.settings))


def test_what_a_study_file_sets_the_machine_has(tmp_path: Path) -> None:
    machine = opened(study_of(tmp_path, "time_limit = 12.5\nslots = 3\nsnapshots = true"))
    assert isinstance(machine, Tcg)
    assert (machine.boot_seconds, machine.slots, machine.snapshots) == (12.5, 3, True)


def test_a_boot_may_take_what_the_study_says_else_the_workload_else_300_seconds(
    tmp_path: Path,
) -> None:
    said, silent = (opened(study_of(tmp_path, text)) for text in ("time_limit = 12.5", "slots = 3"))
    assert isinstance(said, Tcg) and isinstance(silent, Tcg)
    (pipe,) = load_catalogue().select(["pipe"])
    (compiles,) = (described(file) for file in shipped_files("bzimage"))
    (serves,) = (described(file) for file in shipped_files("nginx"))
    limits = [(said.limit(each), silent.limit(each)) for each in (pipe, compiles, serves)]
    assert limits == [(12.5, 300), (12.5, 1800), (12.5, 900)]
    assert said.hanging(compiles) == "no end after 12.5 s"
    assert silent.hanging(pipe).endswith("(time_limit in a study's [machine.settings] allows more)")
    assert silent.hanging(compiles).endswith("bzimage.toml allows more)")


def test_what_it_does_not_set_is_as_without_the_table(tmp_path: Path) -> None:
    usual, machine = find_machine("tcg", "skylake"), opened(study_of(tmp_path, "slots = 7"))
    assert machine == replace(usual, slots=7)  # type: ignore[type-var]


def test_settings_are_part_of_the_study_and_none_are_nothing(tmp_path: Path) -> None:
    """A study without the table has the digest that it has in ledgers of before there was one."""
    none, some = study_of(tmp_path, ""), study_of(tmp_path, "time_limit = 300\nslots = 2")
    assert none.settings == ()
    assert none.digest == replace(some, settings=()).digest != some.digest
    again = tmp_path / "again.toml"
    again.write_text(write_study(some))
    assert read_study(again).settings == some.settings == (("slots", 2), ("time_limit", 300))
    assert "[machine.settings]" not in write_study(none)


def test_how_many_boot_at_once_and_how_long_they_may_is_no_condition_of_a_figure(
    tmp_path: Path,
) -> None:
    machine = opened(study_of(tmp_path, "time_limit = 12.5\nslots = 3"))
    assert machine.fingerprint() == find_machine("tcg", "skylake").fingerprint()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            "hugepages = true",
            "machine.settings: tcg has no setting hugepages: allowed are time_limit, slots, depth, "
            "vcpus, snapshots",
        ),
        ("slots = 0", "machine.settings.slots: input should be greater than or equal to 1"),
        ("time_limit = 0", "machine.settings.time_limit: input should be greater than 0"),
        ('depth = "deep"', "machine.settings.depth: input should be 'frontend' or 'core'"),
        (
            'depth = "core"',
            "the CPU model skylake knows only the depth frontend: core needs a model that has "
            "[data], such as emeraldrapids",
        ),
        (
            'slots = "many"',
            "machine.settings.slots: input should be a valid integer, unable to parse string as "
            "an integer",
        ),
    ],
)
def test_mistakes_name_the_key_and_what_is_allowed(
    tmp_path: Path, settings: str, sentence: str
) -> None:
    study = study_of(tmp_path, settings)
    with pytest.raises(UserError) as caught:
        opened(study)
    assert str(caught.value) == sentence


def test_a_setting_is_a_word_or_a_number(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"study\.toml: machine\.settings\.slots\.\w+: input should be"
    ):
        study_of(tmp_path, "slots = [1, 2]")
