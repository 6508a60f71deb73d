# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout lab on a real kernel: what is predicted is what the relinked kernel does."""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from scipy.stats import spearmanr

from cpu_models import PENALTIES
from elsewhere import Elsewhere
from kernsmith.engine.collisions import lab_collisions
from kernsmith.engine.events import Silent
from kernsmith.engine.lab import LINKERS, Lab, open_lab
from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, load_kernel, named_kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.layout import ALGORITHMS, Costs, TracedText, TraceFile, random_order
from kernsmith.machine.tcg import open_machine

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("lab")]

TRACED = ("file", "signal")
LAYOUTS = 4


@pytest.fixture(scope="module")
def lab(micro_kernel: Kernel) -> Lab:
    workloads = load_catalogue().select(TRACED)
    return open_lab(micro_kernel, workloads, open_machine(str(PENALTIES)), Silent())


@pytest.fixture(scope="module")
def orders(lab: Lab) -> list[list[str]]:
    return [random_order(lab.evaluator.movable, f"lab {n}") for n in range(LAYOUTS)]


@pytest.fixture(scope="module")
def predicted(lab: Lab, orders: list[list[str]]) -> list[Costs]:
    return lab.evaluator.costs(orders)


@pytest.fixture(scope="module")
def measured(lab: Lab, orders: list[list[str]]) -> list[Costs]:
    return [lab.measured(order, Silent()) for order in orders]


def test_in_the_default_layout_replay_and_tracer_agree_exactly(lab: Lab) -> None:
    """In what no model decides: the trace may be one that another model's boot has written."""
    (replayed,) = lab.evaluator.costs([[]])
    for workload in TRACED:
        for name in ("conditional_branches", "taken_branches", "l1i_accesses"):
            assert replayed[workload][name] == lab.traced[workload][name]


def test_every_function_is_where_it_was_predicted_to_be(
    lab: Lab, orders: list[list[str]], measured: list[Costs]
) -> None:
    text = lab.evaluator.text
    starts = lab.evaluator.place(orders[0])
    there: dict[str, set[int]] = {}
    for symbol in read_system_map(lab.image(orders[0]).with_name("System.map")):
        there.setdefault(symbol.name, set()).add(symbol.address)
    default: dict[str, set[int]] = {}
    for symbol in read_system_map(lab.kernel.system_map):
        default.setdefault(symbol.name, set()).add(symbol.address)
    # The map also names symbols that are not where their section begins.
    first = [
        (section.symbols[0], start)
        for section, start in zip(text.sections, starts, strict=True)
        if section.symbols and section.start in default.get(section.symbols[0], ())
    ]
    assert len(first) > 10_000
    # Static functions that share their name included: they lie as the linker's sorting leaves them.
    assert [name for name, start in first if start not in there.get(name, ())] == []


def test_predicted_costs_are_those_of_the_relinked_kernel(
    predicted: list[Costs], measured: list[Costs]
) -> None:
    for before, after in zip(predicted, measured, strict=True):
        for workload in TRACED:
            for metric, most in (("l1i_misses", 0.005), ("itlb_misses", 0.02)):
                error = before[workload][metric] / after[workload][metric] - 1
                assert abs(error) < most, (workload, metric)
    for workload in TRACED:
        ranks = [
            [costs[workload]["model_cycles"] for costs in side] for side in (predicted, measured)
        ]
        assert spearmanr(*ranks).statistic >= 0.8


def test_by_function_no_layout_changes_what_is_predicted(
    micro_kernel: Kernel, orders: list[list[str]]
) -> None:
    workloads = load_catalogue().select(TRACED)
    lab = open_lab(micro_kernel, workloads, open_machine("graniterapids"), Silent())
    replayed = lab.evaluator.costs([[], *orders])
    relinked = lab.measured(orders[0], Silent())
    for workload in TRACED:
        mispredicted = [costs[workload]["branch_mispredictions"] for costs in replayed]
        assert mispredicted == [mispredicted[0]] * len(replayed)
        # Timer interrupts come at other places there, and find other work.
        assert relinked[workload]["branch_mispredictions"] == pytest.approx(
            mispredicted[0], rel=0.03
        )


def test_a_sample_of_the_traces_tells_the_same(
    lab: Lab, orders: list[list[str]], predicted: list[Costs]
) -> None:
    sampled = open_lab(lab.kernel, lab.workloads, lab.machine, Silent(), every=8)
    for costs, whole in zip(sampled.evaluator.costs(orders), predicted, strict=True):
        for workload in TRACED:
            error = costs[workload]["model_cycles"] / whole[workload]["model_cycles"] - 1
            assert abs(error) < 0.01


def test_a_part_of_a_long_trace_tells_the_same_ratios(
    lab: Lab, orders: list[list[str]], predicted: list[Costs]
) -> None:
    parted = open_lab(lab.kernel, lab.workloads, lab.machine, Silent(), every=4, most=2_000_000)
    assert parted.evaluator.whole == 4
    assert parted.evaluator.every == 16
    whole = [costs[TRACED[0]]["model_cycles"] for costs in predicted]
    for every in (1, 0):
        costs = parted.evaluator.costs(orders, every=every)
        part = [one[TRACED[0]]["model_cycles"] for one in costs]
        assert part[0] < whole[0] / 3  # it is not scaled
        for number in range(1, LAYOUTS):
            ratio = whole[number] / whole[0]
            assert part[number] / part[0] == pytest.approx(ratio, rel=0.02)


def test_orders_of_known_algorithms_beat_random_ones(lab: Lab, predicted: list[Costs]) -> None:
    known = [lab.evaluator.order(name, TRACED) for name in ALGORITHMS]
    known += [lab.linkers_order(name, TRACED) for name in LINKERS]
    for order in known:
        assert len(set(order)) == len(order) > 100
    for costs in lab.evaluator.costs(known):
        for workload in TRACED:
            worst = max(one[workload]["itlb_misses"] for one in predicted)
            assert costs[workload]["itlb_misses"] < worst / 2


def test_packing_puts_what_workloads_share_first_and_fetches_fewer_lines(lab: Lab) -> None:
    moves: list[tuple[int, int]] = []
    order = lab.evaluator.packed(TRACED, on_progress=lambda done, of: moves.append((done, of)))
    assert order == lab.evaluator.packed(TRACED)
    assert moves == sorted(moves) and moves[-1][0] <= moves[-1][1]
    assert len(set(order)) == len(order) > 0.9 * len(lab.evaluator.movable)
    shared = [name for name in lab.evaluator.shared(TRACED) if name in order]
    assert len(shared) > 100
    assert set(order[: len(shared)]) == set(shared)
    # Wherever conflicts fall.
    default, packed = (
        [
            costs[workload]["l1i_misses"]
            for way in range(4)
            for costs in lab.evaluator.costs([one], displaced=way)
            for workload in TRACED
        ]
        for one in ([], order)
    )
    ratios = [one / other for one, other in zip(packed, default, strict=True)]
    assert geometric_mean(ratios) < 0.98


def test_traces_of_another_kernel_are_refused(lab: Lab, tmp_path: Path) -> None:
    text = lab.evaluator.text
    # Other tracers' may be there as well, and passing ones of studies that run meanwhile.
    found = lab.kernel.folder.glob("traces/*/signal-*.trace")
    traces = [path for path in found if not path.name.endswith(".passing.trace")]
    trace = max(traces, key=lambda path: path.stat().st_mtime)
    with pytest.raises(UserError, match="is of another kernel or workload"):
        TracedText(text, [TraceFile("signal", trace, "another")])
    cut = tmp_path / "cut.trace"
    whole = trace.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="is cut off"):
        TracedText(text, [TraceFile("signal", cut, "another")])
    old = tmp_path / "old.trace"
    old.write_bytes(b"KSTRACE1" + bytes(4000) + b"KSTREND1")
    with pytest.raises(UserError, match="version 1, which has no map of the kernel's pages"):
        TracedText(text, [TraceFile("signal", old, "another")])


def test_replays_elsewhere_tell_the_same(
    lab: Lab, orders: list[list[str]], predicted: list[Costs], tmp_path: Path
) -> None:
    elsewhere = Elsewhere(tmp_path)
    opened = open_lab(lab.kernel, lab.workloads, lab.machine, Silent(), workers=elsewhere)
    assert opened.evaluator.costs(orders) == predicted
    assert set(elsewhere.asked) == {"replay"}


def kernsmith(*words: str, folder: Path, expect: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "layout", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def optimized(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("order")
    words = [
        "optimize", str(lab.kernel.vmlinux), "--train", "signal", "--test", "file",
        "--count", "16", "--evaluations", "200", "--search-every", "8", "--json",
        "--cpu", str(PENALTIES),
    ]  # fmt: skip
    return folder, json.loads(kernsmith(*words, folder=folder).stdout)


def test_the_best_order_is_better_than_all_others(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    _, document = optimized
    trained = document["ratios"]["trained workloads"]
    confirmed = trained.pop("best, linked and booted")["model_cycles"]
    best = trained[document["best"]]["model_cycles"]
    assert best == min(one["model_cycles"] for one in trained.values())
    assert document["best"].startswith("search")
    assert confirmed == pytest.approx(best, rel=0.005)
    assert document["floor"]["signal"]["cold_l1i_misses"] > 100
    assert set(document["ratios"]["held-out workloads"]) >= {"default", "c3", "lld cdsort"}


def test_in_folds_no_workload_is_judged_in_an_order_that_it_helped_to_make(
    lab: Lab, tmp_path: Path
) -> None:
    words = [
        "optimize", str(lab.kernel.vmlinux), "--train", "signal", "--train", "file",
        "--folds", "2", "--count", "4", "--evaluations", "100", "--search-every", "8", "--json",
        "--cpu", str(PENALTIES),
    ]  # fmt: skip
    document = json.loads(kernsmith(*words, folder=tmp_path).stdout)
    assert document["best"] == "search", "what two workloads share is not enough to be the best"
    unseen = document["cross_validated"]["as_is"]
    displaced = document["cross_validated"]["displaced"]
    for workload, other in (TRACED, TRACED[::-1]):
        for name in ALGORITHMS:
            (costs,) = lab.evaluator.costs([lab.evaluator.order(name, [other])])
            assert unseen[name][workload] == costs[workload], (name, workload)
            elsewhere = {round(one[workload]["model_cycles"]) for one in displaced[name]}
            assert len(elsewhere) > 1, "each way is another"
        chosen = unseen["best of each part"][workload]["model_cycles"]
        booted = unseen["best of each part, linked and booted"][workload]["model_cycles"]
        assert booted == pytest.approx(chosen, rel=0.01)
    for how in ("", ", displaced"):
        ratios = document["ratios"][f"each workload held out once, in 2 parts{how}"]
        assert ratios["default"]["model_cycles"] == 1


def test_an_applied_order_is_a_kernel_like_any_other(
    lab: Lab, optimized: tuple[Path, dict[str, Any]]
) -> None:
    folder, document = optimized
    told = kernsmith(
        "apply", str(lab.kernel.vmlinux), "--order", document["order"], "--json", folder=folder
    )
    made = json.loads(told.stdout)
    applied = load_kernel(Path(made["folder"]))
    assert applied is not None
    assert applied.key == made["kernel"] != lab.kernel.key
    assert applied.build_id != lab.kernel.build_id
    assert named_kernel(applied.key[:12]).folder == applied.folder
    again = kernsmith(
        "evaluate", made["vmlinux"], "--workload", "signal", "--order", document["order"],
        "--cpu", str(PENALTIES), "--json", folder=folder,
    )  # fmt: skip
    ratios = json.loads(again.stdout)["ratios"]["all workloads"]
    assert ratios[document["order"]]["l1i_misses"] == pytest.approx(1, rel=0.01)


def test_bad_words_are_told(lab: Lab, tmp_path: Path) -> None:
    order = tmp_path / "an.order"
    order.write_text("no_such_function\n")
    vmlinux = str(lab.kernel.vmlinux)
    for words, told in (
        (["evaluate", vmlinux, "--order", str(order)], "names no function of this kernel"),
        (["apply", str(tmp_path), "--order", str(order)], "is no built kernel"),
        (["sample", vmlinux, "--count", "0"], "--count must be at least 1"),
        (["optimize", vmlinux, "--train", "signal", "--folds", "2"], "--folds must be 0"),
        (["optimize", vmlinux, "--seed", "-1"], "--seed takes a whole number from 0"),
        (["sample", vmlinux, "--workload", "nothing"], "there is no workload 'nothing'"),
    ):
        assert told in kernsmith(*words, folder=tmp_path, expect=2).stderr


def test_what_collides_is_what_is_counted(lab: Lab, orders: list[list[str]]) -> None:
    found = lab_collisions(lab, orders[0])
    default, other = lab.evaluator.costs([[], orders[0]])
    for side, costs in enumerate((default, other)):
        counts = [lab.traced[name]["kernel_instructions"] for name in TRACED]
        misses = [costs[name]["l1i_misses"] for name in TRACED]
        each = [1e6 * m / count for m, count in zip(misses, counts, strict=True)]
        assert found.misses[side] == pytest.approx(sum(each) / len(each))
        assert 0 < found.conflicts[side] < found.misses[side]
        assert found.first[side] < 0.1 * found.misses[side]
    assert found.pairs[0].misses != (0, 0)
    alone = lab_collisions(lab, [])
    assert alone.misses == (found.misses[0], found.misses[0])


def test_collisions_are_printed_for_an_order(
    lab: Lab, orders: list[list[str]], tmp_path: Path
) -> None:
    path = tmp_path / "random.order"
    path.write_text("\n".join(orders[0]))
    workloads = [word for name in TRACED for word in ("--workload", name)]
    command = [sys.executable, "-m", "kernsmith", "layout", "collisions", str(lab.kernel.folder)]
    told = subprocess.run(
        [*command, "--order", str(path), *workloads], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"default: [\d,]+ L1i misses a million instructions, \d+% conflicts", told)
    assert "misses, random.order" in told
    assert "Who evicts whom" in told
