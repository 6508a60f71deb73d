# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make a difference: costs by function add up, and so do their changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cpu_models import PENALTIES
from kernsmith import paths
from kernsmith._native import trace_costs, trace_functions
from kernsmith.engine.attribution import SHOWN, attribution
from kernsmith.engine.function_costs import ALL, KEPT, Costs, costs_path, read_costs, write_costs
from kernsmith.engine.kernel_code import KernelCode, read_code
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import MOST_BLOCKS
from kernsmith.machine import Job
from kernsmith.machine.tcg import open_machine
from made_trace import EXECUTED, FUNCTIONS, make_kernel

SKYLAKE = paths.shipped("cpus", "skylake.toml")


def test_a_trace_is_counted_once_by_function(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    file = make_kernel(folder)
    target = costs_path(file.path, SKYLAKE)
    assert read_costs(target) is None
    write_costs(folder, file.path, SKYLAKE, target)
    found = read_costs(target)
    assert found is not None
    assert found.source is None
    costs = found.symbols
    assert len(costs) == FUNCTIONS + 1
    # These displace each other: each fetch misses.
    assert costs["hot_3"]["l1i_misses"] == costs["hot_7"]["l1i_misses"] > 0
    assert sum(each["l1i_misses"] for name, each in costs.items() if name) == pytest.approx(
        costs[ALL]["l1i_misses"]
    )
    assert costs[ALL]["kernel_instructions"] == EXECUTED
    assert found.collisions is not None
    assert sum(each.misses for each in found.collisions.sets) == costs[ALL]["l1i_misses"]
    target.write_text("{}")
    assert read_costs(target) is None
    write_costs(folder, file.path, SKYLAKE, target)
    assert read_costs(target) == found


def test_what_an_earlier_version_has_counted_is_counted_again(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    file = make_kernel(folder)
    target = costs_path(file.path, SKYLAKE)
    target.write_text('{"symbols": {}, "source": null}')
    found = read_costs(target)
    assert found is not None
    assert found.collisions is None
    write_costs(folder, file.path, SKYLAKE, target)
    found = read_costs(target)
    assert found is not None
    assert found.collisions is not None


def test_a_file_of_another_model_has_another_name(tmp_path: Path) -> None:
    other = paths.shipped("cpus", "cortex-a9.toml")
    trace = tmp_path / "pipe.trace"
    assert costs_path(trace, SKYLAKE) != costs_path(trace, other)
    assert costs_path(trace, SKYLAKE).parent == tmp_path


def _costs(**functions: tuple[float, float]) -> Costs:
    """Cycles and instructions of each function; 10 cycles more of all are of none."""
    figures = {
        name: dict.fromkeys(KEPT, 0.0) | {"model_cycles": cycles, "kernel_instructions": count}
        for name, (cycles, count) in functions.items()
    }
    total = [sum(each) for each in zip(*functions.values(), strict=True)]
    whole = {"model_cycles": total[0] + 10, "kernel_instructions": total[1]}
    return figures | {ALL: dict.fromkeys(KEPT, 0.0) | whole}


def test_changes_add_up() -> None:
    base = _costs(slow=(60, 100), same=(30, 100), gone=(10, 50))
    other = _costs(slow=(40, 100), same=(30, 100), new=(5, 25))
    found = attribution("B", ["pipe"], [base], [other], by_source=True)
    # Of 110 cycles: 20 less in one, 10 less in another, and 5 more in a third.
    changes = {each.name: each.change for each in found.functions}
    expected = {"slow": -20, "gone": -10, "new": 5, "same": 0}
    assert changes == pytest.approx({name: 100 * each / 110 for name, each in expected.items()})
    assert [each.name for each in found.functions] == list(expected)
    assert found.change == pytest.approx(-100 * 25 / 110)
    assert (found.rest, found.repeated, found.ran) == (0, pytest.approx(0), 4)
    # For each million of the baseline's 250 instructions.
    assert found.functions[0].model_cycles == pytest.approx((60 * 4000, 40 * 4000))


def test_workloads_weigh_the_same_and_few_are_shown() -> None:
    many = {f"f{number:03}": (float(number), 10.0) for number in range(SHOWN + 20)}
    base = _costs(**many)
    large = {name: {k: 1000 * v for k, v in each.items()} for name, each in base.items()}
    other = _costs(**{name: (cycles * 2, count) for name, (cycles, count) in many.items()})
    twice = {name: {k: 1000 * v for k, v in each.items()} for name, each in other.items()}
    found = attribution("B", ["a", "b"], [base, large], [other, twice], by_source=False)
    alone = attribution("B", ["a"], [base], [other], by_source=False)
    assert found.change == pytest.approx(alone.change)
    assert len(found.functions) == SHOWN
    listed = sum(each.change for each in found.functions)
    assert listed + found.rest + found.repeated == pytest.approx(found.change)
    assert found.rest == pytest.approx(alone.rest) != 0


def test_who_executes_more_is_shown_though_others_have_changed_more() -> None:
    many = {f"f{number:03}": (1000.0, 10.0) for number in range(2 * SHOWN)}
    base = _costs(**many, changed=(100.0, 100.0))
    luck = {name: (1000.0 + 10 * int(name[1:]), count) for name, (_, count) in many.items()}
    other = _costs(**luck, changed=(101.0, 130.0))
    found = attribution("B", ["pipe"], [base], [other], by_source=True)
    assert len(found.functions) == SHOWN
    assert found.functions[0].name == f"f{2 * SHOWN - 1:03}"
    assert found.functions[-1].name == "changed"
    shown = sum(each.change for each in found.functions)
    assert shown + found.rest + found.repeated == pytest.approx(found.change)


@pytest.mark.kernel
@pytest.mark.parametrize("cpu", [str(PENALTIES), "emeraldrapids"])
def test_functions_cost_together_what_the_boot_has_counted(
    micro_kernel: Kernel, tmp_path: Path, cpu: str
) -> None:
    machine = open_machine(cpu)
    (workload,) = load_catalogue().select(["pipe"])
    with machine.open(micro_kernel.vmlinux, tmp_path / "boot") as session:
        booted = session.run(Job(workload, tmp_path / "job", trace="pipe"))
    assert booted.ok
    assert booted.trace is not None
    code = read_code(micro_kernel.folder)
    told = trace_functions(booted.trace, machine.cpu, code, 0.0, MOST_BLOCKS)
    functions, whole, collided = told["parts"], told["whole"], told["collisions"]
    ((_, in_kernel),) = trace_costs(booted.trace, [machine.cpu])
    assert whole == in_kernel
    for metric in ("l1i_misses", "itlb_misses", "branch_mispredictions", "taken_branches"):
        assert sum(figures[metric] for _, figures in functions) == whole[metric]
    assert sum(misses for _, _, misses, _ in collided["sets"]) == whole["l1i_misses"]
    assert sum(fetches for _, fetches, _, _ in collided["sets"]) == whole["l1i_accesses"]
    assert 0 < sum(conflicts for *_, conflicts in collided["sets"]) < whole["l1i_misses"]
    executed = sum(figures["kernel_instructions"] for _, figures in functions)
    assert executed == pytest.approx(whole["kernel_instructions"], rel=1e-3)
    stacks = told["stacks"]
    switches, unsure = stacks["switches"]
    assert switches > 1000
    assert unsure == 0
    own = sum(figures["model_cycles"] for _, figures in functions)
    assert sum(cycles for _, _, cycles, _, _ in stacks["nodes"]) == pytest.approx(own)
    assert sum(misses for *_, misses in stacks["nodes"]) == whole["l1i_misses"]
    target = tmp_path / "costs"
    write_costs(micro_kernel.folder, booted.trace, machine.cpu, target)
    found = read_costs(target)
    assert found is not None
    assert found.source is not None
    for table in (found.symbols, found.source):
        assert table[ALL]["l1i_misses"] == whole["l1i_misses"]
        misses = [each["l1i_misses"] for name, each in table.items() if name]
        assert sum(misses) == whole["l1i_misses"]
        assert table["anon_pipe_write"]["model_cycles"] > 0
    assert found.stacks is not None
    assert found.stacks.returns > 100_000
    assert found.stacks.lost < 1e-3 * found.stacks.returns
    paths: list[tuple[str, ...]] = []
    for node in found.stacks.nodes:
        above = () if node.parent is None else paths[node.parent]
        paths.append((*above, node.function))
    (writing,) = (each for each in paths if each[-1] == "anon_pipe_write")
    callers = ["do_syscall_64", "ksys_write", "vfs_write"]
    assert writing[0].startswith("entry_SYSCALL_64")
    assert [name for name in writing if name in callers] == callers
    # Inlined functions are no symbols.
    assert len(found.source.keys() - found.symbols.keys()) > 100
    _check_a_part(booted.trace, machine.cpu, code, told)


def _check_a_part(trace: Path, cpu: Path, code: KernelCode, whole: Mapping[str, Any]) -> None:
    """A quarter of a trace, scaled, tells nearly what all of it does, and leaves nothing behind."""
    files = sorted(trace.parent.iterdir())
    told = trace_functions(trace, cpu, code, 0.0, 2_000_000)
    assert sorted(trace.parent.iterdir()) == files
    most = sorted(whole["parts"], key=lambda part: -part[1]["kernel_instructions"])[:20]
    parts = dict(told["parts"])
    for metric, off in (("kernel_instructions", 0.03), ("model_cycles", 0.1)):
        for number, figures in most:
            assert parts[number][metric] == pytest.approx(figures[metric], rel=off), metric
    metric = "kernel_instructions"
    assert told["whole"][metric] == whole["whole"][metric]
    executed = sum(figures[metric] for figures in parts.values())
    assert executed == pytest.approx(whole["whole"][metric], rel=1e-3)
    misses = (sum(each[2] for each in one["collisions"]["sets"]) for one in (told, whole))
    assert next(misses) == pytest.approx(next(misses), rel=0.25)
