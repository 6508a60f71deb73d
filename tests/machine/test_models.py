# SPDX-License-Identifier: GPL-2.0-or-later
"""The shipped CPU models: honest about their figures, exact, and in an order that cores have."""

import re
import tomllib
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith._native import cpu_model_check, trace_costs
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.models import shipped_models, shipped_names
from kernsmith.machine.tcg import open_machine

NEW = ("cortex-a72", "neoverse-n1", "skylake", "cortex-a9")
HELD = {"emeraldrapids", "graniterapids", "zen3", "zen4", "zen5"}
# Each of their figures names a source, or says that it is assumed or fitted.
TOLD = (*NEW, "graniterapids", "zen3", "zen4", "zen5")
FIGURE = re.compile(r"^(?!#)[^#]*= *(?:\{|[\d.\"])[^#]*(?:# (?P<comment>.*))?$")


def lines(name: str) -> list[str]:
    return paths.shipped("cpus", f"{name}.toml").read_text().splitlines()


def sources(name: str) -> set[str]:
    """As the head of the file lists them."""
    return {found[1] for line in lines(name) if (found := re.match(r"#   (\[\w+\])", line))}


def test_all_are_listed_with_what_is_known_of_their_truth() -> None:
    found = {model.name: model for model in shipped_models()}
    assert found.keys() == {*HELD, *NEW}
    assert {name for name, model in found.items() if model.held} == HELD
    assert all(model.in_time for model in found.values())
    assert all(model.description for model in found.values())


@pytest.mark.parametrize("name", sorted(NEW))
def test_a_model_says_that_nobody_held_it(name: str) -> None:
    assert any("Nobody held" in line for line in lines(name))


@pytest.mark.parametrize("name", shipped_names())
def test_every_figure_names_a_source_that_the_file_lists(name: str) -> None:
    """Or a reason: assumed, fitted, taken from another model, or a sentence of its own."""
    told = lines(name)
    known = sources(name)
    assert known
    table = ""
    for line in told:
        if line.startswith("["):
            table = line.split("]")[0].strip("[")
        found = FIGURE.match(line)
        if found is None or table == "silicon" or line.startswith(("name", "description")):
            continue
        for word in re.findall(r"\[\w+\]", found["comment"] or ""):
            assert word in known, line
        if name in TOLD:
            reasons = r"\[\w+\]|assumed: |fitted|x86 code|instructions may"
            assert re.match(reasons, found["comment"]), line


@pytest.mark.parametrize("name", sorted(TOLD))
def test_sources_that_a_file_lists_are_used(name: str) -> None:
    figures = " ".join(line for line in lines(name) if not line.startswith("#"))
    assert {word for word in sources(name) if word not in figures} == set()


def test_no_model_is_another_one() -> None:
    figures = [
        {
            key: value
            for key, value in tomllib.loads("\n".join(lines(name))).items()
            if key not in ("name", "description")
        }
        for name in shipped_names()
    ]
    assert all(one not in figures[:place] for place, one in enumerate(figures))


def boot(kernel: Kernel, cpu: str, folder: Path, trace: str = "") -> Outcome:
    (pipe,) = load_catalogue().select(["pipe"])
    return run_once(open_machine(cpu), kernel.vmlinux, Job(pipe, folder, trace=trace))


@pytest.mark.kernel
@pytest.mark.parametrize("name", TOLD)
def test_two_boots_and_a_replay_cost_the_same(
    micro_kernel: Kernel, tmp_path: Path, name: str
) -> None:
    first = boot(micro_kernel, name, tmp_path / "first", trace="pipe")
    assert first.ok, first.reason
    assert boot(micro_kernel, name, tmp_path / "second").metrics == first.metrics
    assert_traced_as_counted(first, paths.shipped("cpus", f"{name}.toml"))


def assert_traced_as_counted(booted: Outcome, cpu: Path) -> None:
    """A boot's trace costs what the boot has counted."""
    assert booted.trace is not None
    ((_, in_kernel),) = trace_costs(booted.trace, [cpu])
    both = in_kernel.keys() & booted.metrics.keys()
    assert {"model_cycles", "l1i_misses", "branch_mispredictions", "itlb_misses"} <= both
    counted = {name: booted.metrics[name][0] for name in both}
    assert {name: round(in_kernel[name], 3) for name in both} == counted


@pytest.mark.kernel
def test_instructions_that_wait_do_so_in_a_boot_and_in_its_trace(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    shipped = paths.shipped("cpus/graniterapids.toml")
    waiting = tmp_path / "waiting.toml"
    core = "[decoupled.core]\n"
    text = shipped.read_text().replace('name = "graniterapids"', 'name = "waiting"')
    assert core in text
    waiting.write_text(text.replace(core, f"{core}window = 97\nload_cycles = 5\n"))
    booted = boot(micro_kernel, str(waiting), tmp_path / "boot", trace="pipe")
    assert booted.ok, booted.reason
    assert_traced_as_counted(booted, waiting)
    assert booted.trace is not None
    ((_, without),) = trace_costs(booted.trace, [shipped])
    cycles = booted.metrics["model_cycles"][0]
    assert without["model_cycles"] < cycles, "nothing is faster for waiting"
    for same in ("l1i_misses", "branch_mispredictions"):
        assert booted.metrics[same][0] == without[same]


@pytest.mark.kernel
def test_a_workload_orders_the_cores_as_they_are(micro_kernel: Kernel, tmp_path: Path) -> None:
    """One trace through all models: what a cache holds and what a core takes at once tell."""
    booted = boot(micro_kernel, "zen5", tmp_path, trace="pipe")
    assert booted.trace is not None
    names = shipped_names()
    costs = trace_costs(booted.trace, [paths.shipped("cpus", f"{name}.toml") for name in names])
    found = {name: in_kernel for name, (_, in_kernel) in zip(names, costs, strict=True)}
    counted = {(each["kernel_instructions"], each["taken_branches"]) for each in found.values()}
    assert len(counted) == 1, "what is executed depends on no model"

    def of(metric: str, *models: str) -> list[float]:
        return [found[name][metric] for name in models]

    # 64, 48 and 32 KiB of L1i, with lines of 64 bytes, and the line behind brought as well.
    misses = of("l1i_misses", "neoverse-n1", "cortex-a72", "skylake")
    assert misses == sorted(misses) and len(set(misses)) == 3
    assert len(set(of("l1i_misses", "zen5", "skylake"))) == 1
    # 8, 6, 4 and 3 micro-ops a cycle; the last one's predictor does not fetch ahead.
    cycles = of("model_cycles", "zen5", "emeraldrapids", "neoverse-n1", "cortex-a72")
    assert cycles == sorted(cycles) and len(set(cycles)) == 4
    for name in names:
        width = cpu_model_check(paths.shipped("cpus", f"{name}.toml"))["width"]
        assert found[name]["model_cycles"] > found[name]["kernel_instructions"] / width / 2
