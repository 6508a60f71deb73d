# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine is like just now, as far as its times depend on it: looked at and told.

Nothing is changed. Files and their meaning: the kernel's Documentation/admin-guide/pm,
Documentation/ABI/testing/sysfs-devices-system-cpu, and proc(5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_CPUS = "sys/devices/system/cpu"
_BUSY = 0.25
"""Load above which other work is a sentence, a processor."""

WARNINGS = "warnings"
"""Of a run's provenance: by the name of a condition, what it does to times."""

_OFT = frozenset({"governor", "turbo", "clock", "throttling"})


@dataclass(frozen=True)
class Condition:
    """value: empty where it cannot be seen. warning: what it does to times, and what helps."""

    name: str
    value: str
    warning: str = ""


@dataclass(frozen=True)
class Throttled:
    """How often processors were slowed because of heat since the boot; None where it is not told.

    Two of these, before and after, say whether it happened in between.
    """

    times: int | None


def conditions(root: Path = Path("/")) -> tuple[Condition, ...]:
    """All of them. root: in which `sys` and `proc` are looked at."""
    cpus = root / _CPUS
    info = _fields(_text(root / "proc/cpuinfo"))
    return (
        Condition("processor", _processor(info)),
        Condition("microcode", info.get("microcode", "")),
        _hypervisor(info),
        _governor(cpus),
        _turbo(cpus),
        _smt(cpus),
        _isolated(cpus / "isolated"),
        Condition("c_states", _text(cpus / "cpuidle/current_driver")),
        _huge_pages(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        _mitigations(cpus / "vulnerabilities"),
        _clock(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        _load(root),
    )


def as_told(seen: Iterable[Condition]) -> dict[str, dict[str, str]]:
    """Conditions as a run's provenance has them: their values, and what those that are another in
    each kernel or at each time do to times. (A load of the last minute may be the caller's own.)"""
    found = tuple(seen)
    return {
        "conditions": {each.name: each.value for each in found},
        WARNINGS: {each.name: each.warning for each in found if each.warning and each.name in _OFT},
    }


def throttled(root: Path = Path("/")) -> Throttled:
    """Counted over all processors."""
    counts = [
        int(text)
        for path in (root / _CPUS).glob("cpu[0-9]*/thermal_throttle/core_throttle_count")
        if (text := _text(path)).isdigit()
    ]
    return Throttled(sum(counts) if counts else None)


def throttling(before: Throttled, after: Throttled) -> Condition:
    """What happened between two looks."""
    if before.times is None or after.times is None:
        return Condition("throttling", "")
    times = after.times - before.times
    warning = f"heat slowed processors {times} times meanwhile: cool down, or lower the clock"
    return Condition("throttling", str(times), warning if times else "")


def _processor(info: dict[str, str]) -> str:
    """Its name, with family, model and stepping."""
    if "model name" not in info:
        return os.uname().machine
    numbers = "-".join(info.get(key, "?") for key in ("cpu family", "model", "stepping"))
    return f"{info['model name']} ({numbers})"


def _hypervisor(info: dict[str, str]) -> Condition:
    inside = "hypervisor" in info.get("flags", "").split()
    warning = "this is a virtual machine: neighbours on the host make times longer, unseen"
    return Condition("virtual", "yes" if inside else "no", warning if inside else "")


def _governor(cpus: Path) -> Condition:
    found = _several(cpus, "cpu[0-9]*/cpufreq/scaling_governor")
    warning = ""
    if found and found != "performance":
        warning = (
            "the clock's frequency follows the load: sudo cpupower frequency-set -g performance"
        )
    return Condition("governor", found, warning)


def _turbo(cpus: Path) -> Condition:
    no_turbo, boost = _text(cpus / "intel_pstate/no_turbo"), _text(cpus / "cpufreq/boost")
    state = {"0": "on", "1": "off"}.get(no_turbo) or {"1": "on", "0": "off"}.get(boost, "")
    switch = "1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
    if not no_turbo:
        switch = "0 > /sys/devices/system/cpu/cpufreq/boost"
    warning = f"the clock's frequency depends on heat and on other cores: echo {switch}"
    return Condition("turbo", state, warning if state == "on" else "")


def _smt(cpus: Path) -> Condition:
    state = {"1": "on", "0": "off"}.get(_text(cpus / "smt/active"), "")
    warning = "what runs on a core's other thread takes part of its time: a run may meet it or not"
    return Condition("smt", state, warning if state == "on" else "")


def _isolated(path: Path) -> Condition:
    """Processors that the scheduler leaves alone."""
    return Condition("isolated", (_text(path) or "none") if path.exists() else "")


def _huge_pages(path: Path) -> Condition:
    words = [word for word in _text(path).split() if word.startswith("[")]
    return Condition("transparent_huge_pages", words[0].strip("[]") if words else "")


def _mitigations(folder: Path) -> Condition:
    """How many of the known vulnerabilities are mitigated, and which are open."""
    if not folder.is_dir():
        return Condition("mitigations", "")
    told = {path.name: _text(path) for path in sorted(folder.iterdir())}
    mitigated = sum(text.startswith("Mitigation") for text in told.values())
    opened = [name for name, text in told.items() if text.startswith("Vulnerable")]
    value = f"{mitigated} on" + (f"; open: {', '.join(opened)}" if opened else "")
    return Condition("mitigations", value)


def _clock(path: Path) -> Condition:
    source = _text(path)
    coarse = source in ("hpet", "acpi_pm", "jiffies", "refined-jiffies")
    warning = "reading the clock is slow or coarse: see dmesg for why the TSC is not trusted"
    return Condition("clock", source, warning if coarse else "")


def _load(root: Path) -> Condition:
    """The load of the last minute, which earlier runs of the caller's are in."""
    words = _text(root / "proc/loadavg").split()
    try:
        load = float(words[0])
    except (IndexError, ValueError):
        return Condition("load", "")
    processors = len(re.findall(r"^processor\s*:", _text(root / "proc/cpuinfo"), re.MULTILINE)) or 1
    warning = f"other work runs here: load {load:g} on {processors} processors in the last minute"
    return Condition("load", words[0], warning if load > _BUSY * processors else "")


def _several(folder: Path, pattern: str) -> str:
    """What processors say, each answer once."""
    return ", ".join(dict.fromkeys(_answers(folder, pattern)))


def _answers(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(pattern)):
        if text := _text(path):
            yield text


def _fields(cpuinfo: str) -> dict[str, str]:
    """Of the first processor."""
    lines = (line.partition(":") for line in cpuinfo.partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
