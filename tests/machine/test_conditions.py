# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditions of machines, from trees of files as they have them."""

from pathlib import Path

import pytest

from kernsmith.machine.conditions import (
    Condition,
    Throttled,
    as_told,
    conditions,
    throttled,
    throttling,
)

CPU = "sys/devices/system/cpu"
QUIET = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU\ncpu family\t: 6\nmodel\t: 207\n"
    "stepping\t: 2\nmicrocode\t: 0x21\nflags\t\t: fpu tsc\n\nprocessor\t: 1\nmicrocode\t: 0x99\n",
    "proc/loadavg": "0.01 0.02 0.03 1/200 4242",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu1/cpufreq/scaling_governor": "performance",
    f"{CPU}/intel_pstate/no_turbo": "1",
    f"{CPU}/smt/active": "0",
    f"{CPU}/isolated": "1",
    f"{CPU}/cpuidle/current_driver": "intel_idle",
    f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI",
    f"{CPU}/vulnerabilities/spectre_v2": "Mitigation: Retpolines",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3",
    f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "4",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
}


def look(root: Path, changed: dict[str, str]) -> dict[str, Condition]:
    for name, text in {**QUIET, **changed}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return {each.name: each for each in conditions(root)}


def test_a_quiet_machine_is_told_without_a_warning(tmp_path: Path) -> None:
    found = look(tmp_path, {})
    assert {name: each.value for name, each in found.items()} == {
        "processor": "Some CPU (6-207-2)",
        "microcode": "0x21",
        "virtual": "no",
        "governor": "performance",
        "turbo": "off",
        "smt": "off",
        "isolated": "1",
        "c_states": "intel_idle",
        "transparent_huge_pages": "madvise",
        "mitigations": "2 on",
        "clock": "tsc",
        "load": "0.01",
    }
    assert not any(each.warning for each in found.values())


@pytest.mark.parametrize(
    ("file", "text", "name", "value", "warning"),
    [
        (f"{CPU}/cpu1/cpufreq/scaling_governor", "powersave", "governor",
         "performance, powersave", "cpupower frequency-set -g performance"),
        (f"{CPU}/intel_pstate/no_turbo", "0", "turbo", "on", "1 > /sys/devices/system/cpu/intel_"),
        (f"{CPU}/smt/active", "1", "smt", "on", "a core's other thread"),
        (f"{CPU}/isolated", "", "isolated", "none", ""),
        ("proc/loadavg", "900.5 1 1 3/4 5", "load", "900.5", "other work runs here: load 900.5"),
        ("proc/cpuinfo", "flags : fpu hypervisor", "virtual", "yes", "this is a virtual machine"),
        (f"{CPU}/vulnerabilities/mds", "Vulnerable: no microcode", "mitigations",
         "2 on; open: mds", ""),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "clock",
         "hpet", "slow or coarse"),
    ],
)  # fmt: skip
def test_what_moves_times_is_warned_of(
    tmp_path: Path, file: str, text: str, name: str, value: str, warning: str
) -> None:
    found = look(tmp_path, {file: text})[name]
    assert found.value == value
    assert warning in found.warning
    assert bool(found.warning) == bool(warning)


def test_amds_boost_has_another_file(tmp_path: Path) -> None:
    (tmp_path / CPU / "cpufreq").mkdir(parents=True)
    (tmp_path / CPU / "cpufreq" / "boost").write_text("1\n")
    found = {each.name: each for each in conditions(tmp_path)}["turbo"]
    assert found.value == "on"
    assert "echo 0 > /sys/devices/system/cpu/cpufreq/boost" in found.warning


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = {each.name: each.value for each in conditions(tmp_path)}
    silent = {name for name, value in found.items() if not value}
    assert silent == set(found) - {"processor", "virtual"}


def test_heat_between_two_looks(tmp_path: Path) -> None:
    look(tmp_path, {})
    before = throttled(tmp_path)
    look(tmp_path, {f"{CPU}/cpu1/thermal_throttle/core_throttle_count": "9"})
    assert throttling(before, throttled(tmp_path)) == Condition(
        "throttling",
        "5",
        "heat slowed processors 5 times meanwhile: cool down, or lower the clock",
    )
    assert throttling(before, before).warning == ""
    assert throttling(Throttled(None), before) == Condition("throttling", "")


def test_a_run_keeps_what_moves_its_times(tmp_path: Path) -> None:
    changed = {f"{CPU}/intel_pstate/no_turbo": "0", f"{CPU}/smt/active": "1"}
    told = as_told(look(tmp_path, changed | {"proc/loadavg": "7.5 0 0 1/200 42"}).values())
    assert (told["conditions"]["turbo"], told["conditions"]["load"]) == ("on", "7.5")
    # The threads of a core are the same in all runs, and the load may be the run's own.
    assert list(told["warnings"]) == ["turbo"]
    assert "depends on heat" in told["warnings"]["turbo"]
