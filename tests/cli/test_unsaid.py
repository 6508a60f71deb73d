# SPDX-License-Identifier: GPL-2.0-or-later
"""What studies take unasked is what their machine has."""

from __future__ import annotations

import pytest

from kernsmith.cli import main
from kernsmith.errors import UserError
from kernsmith.study.unsaid import (
    config_on,
    cpu_on,
    oracles_on,
    pairing_on,
    runs_on,
    settings_on,
    workloads_on,
)


def test_the_lab_is_usual_and_the_machine_uml_has_its_own() -> None:
    assert (config_on("tcg", ""), workloads_on("tcg", ())) == ("lab", ("lab",))
    assert (config_on("uml", ""), workloads_on("uml", ())) == ("uml", ("uml",))
    assert (pairing_on("tcg"), pairing_on("uml")) == ("place", "seed")


def test_a_boot_serves_many_runs_on_the_machine_kvm() -> None:
    assert (config_on("kvm", ""), workloads_on("kvm", ())) == ("lab", ("lab",))
    assert (runs_on("tcg"), runs_on("kvm")) == (1, 10)
    assert (cpu_on("kvm"), pairing_on("kvm")) == ("", "place")


def test_a_boot_without_noise_serves_all_workloads() -> None:
    assert settings_on("tcg") == (("snapshots", True),)
    assert settings_on("tcg", "core") == (("depth", "core"), ("snapshots", True))
    assert settings_on("kvm") == settings_on("uml") == ()


def test_what_is_asked_for_is_taken() -> None:
    assert config_on("uml", "micro") == "micro"
    assert workloads_on("tcg", ("pipe",)) == ("pipe",)


def test_selftests_are_asked_where_kernels_boot_in_an_emulator() -> None:
    assert [oracles_on(machine) for machine in ("tcg", "kvm")] == [("selftests",)] * 2
    assert [oracles_on(machine) for machine in ("uml", "self", "ssh:target")] == [()] * 3
    assert oracles_on("tcg", ("kunit",)) == oracles_on("uml", ("kunit",)) == ("kunit",)
    assert oracles_on("tcg", ("none",)) == ()
    with pytest.raises(UserError, match="--oracle none goes with no other"):
        oracles_on("tcg", ("none", "kunit"))


@pytest.mark.parametrize(
    "words",
    [
        ("optimize", "--source", "/nowhere"),
        ("compare", "--source", "/nowhere", "default", "x=y"),
        ("bisect", "--source", "/nowhere", "--good", "v1", "--bad", "v2"),
        ("blame", "--good", "aa", "--bad", "bb"),
    ],
)
def test_this_computer_is_booted_by_its_user_alone(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--machine", "self"])
    assert ended.value.code == 2
    assert "kernsmith run STUDY --machine self" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "words",
    [
        ("optimize", "--source", "/nowhere", "--with", "autofdo"),
        ("compare", "--source", "/nowhere", "default", "optimisation=O3"),
    ],
)
def test_commands_on_the_machine_uml_fail_for_their_source_alone(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--machine", "uml"])
    assert ended.value.code == 2
    assert "/nowhere" in capsys.readouterr().err
