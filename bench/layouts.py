# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast layouts are evaluated, and how well: predicted against relinked and booted kernels.

    bench/layouts.py [KERNEL [LAYOUTS [CPU]]] [--plot FILE.png]

KERNEL is a kernel that kernsmith built (default: the micro kernel, which is built if need be).
Targets, in CPU (default emeraldrapids) and in each of `SPED`: 60 layouts a minute and core over the
whole traces, 500 over a sample whose error is under 1 %. In CPU alone: L1i misses within 0.5 %,
iTLB misses within 2 %, and a rank correlation of the model cycles of at least 0.95 over LAYOUTS
(default 12) random layouts.
"""

from __future__ import annotations

import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from scipy.stats import spearmanr

from kernsmith import paths
from kernsmith.engine.events import Silent
from kernsmith.engine.lab import Lab, open_lab
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, named_kernel
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.layout import Costs, random_order
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Study, plan_variants

# A sum of penalties, and a model that is simulated in time.
PENALTIES = str(Path(__file__).parents[1] / "tests/data/penalties.toml")
SPED = (PENALTIES, "emeraldrapids")
SPEEDS = (1, 8, 16, 32)
# In how many displaced layouts packing is judged.
WAYS = 4
# A workload that executes more or fewer instructions in another layout cannot be predicted.
SAME = 0.002
COMPARED = ("l1i_misses", "l2i_misses", "itlb_misses", "branch_mispredictions", "model_cycles")


def micro() -> Kernel:
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none",)),))
    source = resolve_source("debian:7.3", paths.sources())
    return build_kernel(make_recipe(plan_variants(study, ())[0], source))


def speed(lab: Lab, orders: list[list[str]]) -> None:
    """Layouts a minute and core, and the error of samples, each against the whole traces."""
    evaluator = lab.evaluator
    whole: list[Costs] = []
    what = f"{evaluator.blocks:,} blocks in {len(evaluator.workloads)} traces"
    print(f"{evaluator.cpu.stem}: a layout is {what}")
    for every in SPEEDS:
        evaluator.every = every
        evaluator._scales = []
        evaluator.costs(orders[:1])  # what a sample stands for is found out once
        began = time.process_time()
        costs = evaluator.costs(orders)
        seconds = (time.process_time() - began) / len(orders)
        whole = whole or costs
        errors = {
            metric: max(
                abs(total(a, metric) / total(b, metric) - 1)
                for a, b in zip(costs, whole, strict=True)
            )
            for metric in COMPARED
        }
        told = ", ".join(f"{metric} {100 * error:.2f} %" for metric, error in errors.items())
        print(
            f"1 of {every:2} windows: {60 / seconds:6.0f} layouts a minute; at most off by: {told}"
        )
    evaluator.every = 1


def packing(lab: Lab) -> None:
    """How long it takes to pack, and what that is worth to the workloads it was made for."""
    evaluator = lab.evaluator
    began = time.process_time()
    order = evaluator.packed(evaluator.workloads)
    seconds = time.process_time() - began
    told = []
    for metric in ("model_cycles", "l1i_misses", "itlb_misses"):
        sides = [
            [total(evaluator.costs([one], displaced=way)[0], metric) for way in range(WAYS)]
            for one in (order, [])
        ]
        ratios = [log(packed / default) for packed, default in zip(*sides, strict=True)]
        told.append(f"{metric} {exp(sum(ratios) / WAYS):.4f}")
    print(
        f"packing {len(order)} functions: {seconds:.1f} s on one core; displaced, of the default:"
    )
    print("  " + ", ".join(told))


def total(costs: Costs, metric: str) -> float:
    """Geometric mean over workloads."""
    return exp(sum(log(one[metric] + 0.5) for one in costs.values()) / len(costs))


def main() -> None:
    words = sys.argv[1:]
    plot = words.pop(words.index("--plot") + 1) if "--plot" in words else ""
    words = [word for word in words if word != "--plot"]
    kernel = named_kernel(words[0]) if words else micro()
    count = int(words[1]) if len(words) > 1 else 12
    workloads = load_catalogue().select(["lab"])
    cpu = words[2] if len(words) > 2 else "emeraldrapids"
    labs = {
        name: open_lab(kernel, workloads, open_machine(name), Silent())
        for name in dict.fromkeys((cpu, *SPED))
    }
    lab = labs[cpu]
    orders = [random_order(lab.evaluator.movable, f"bench/{n}") for n in range(count)]
    for each in labs.values():
        speed(each, orders[:8])
    packing(lab)
    predicted = lab.evaluator.costs(orders)
    measured = [lab.measured(order, Silent()) for order in orders]
    rows = [
        {"layout": n, "workload": w, "metric": m, "predicted": p[w][m], "measured": r[w][m]}
        for n, (p, r) in enumerate(zip(predicted, measured, strict=True))
        for w in lab.evaluator.workloads
        for m in COMPARED
    ]
    print("all workloads in all layouts")
    tell(rows, predicted, measured)
    same = {
        (n, w)
        for n, (p, r) in enumerate(zip(predicted, measured, strict=True))
        for w in p
        if abs(p[w]["kernel_instructions"] / r[w]["kernel_instructions"] - 1) < SAME
    }
    always = [w for w in lab.evaluator.workloads if all((n, w) in same for n in range(count))]
    print(f"where as many instructions are executed, within {100 * SAME:g} %: {', '.join(always)}")
    kept = [[{w: costs[w] for w in always} for costs in side] for side in (predicted, measured)]
    tell([row for row in rows if row["workload"] in always], *kept)
    if plot:
        draw(predicted, measured, Path(plot))


def tell(rows: list[dict[str, Any]], predicted: list[Costs], measured: list[Costs]) -> None:
    """Errors of single figures, and of the mix; rank correlation over layouts, of the mix."""
    table = pl.DataFrame(rows)
    print(f"{'metric':24} {'mean error':>10} {'largest':>8} {'of the mix':>10} {'rank r':>7}")
    for metric in COMPARED:
        part = table.filter(pl.col("metric") == metric)
        error = (part["predicted"] / part["measured"] - 1).abs()
        mixes = [[total(costs, metric) for costs in side] for side in (predicted, measured)]
        of_mix = max(abs(a / b - 1) for a, b in zip(*mixes, strict=True))
        rank = spearmanr(*mixes).statistic
        print(
            f"{metric:24} {100 * error.mean():8.3f} % {100 * error.max():6.2f} % "
            f"{100 * of_mix:8.3f} % {rank:7.4f}"
        )


def draw(predicted: list[Costs], measured: list[Costs], path: Path) -> None:
    """Predicted against measured, for the mix."""
    rows = [
        {"metric": m, "predicted": total(p, m), "measured": total(r, m)}
        for p, r in zip(predicted, measured, strict=True)
        for m in ("model_cycles", "l1i_misses", "itlb_misses")
    ]
    scale = alt.Scale(zero=False)
    points = alt.Chart(pl.DataFrame(rows)).mark_point(filled=True, size=50)
    axes = {
        "x": alt.X("predicted:Q", scale=scale, title="predicted from one trace"),
        "y": alt.Y("measured:Q", scale=scale, title="linked and booted"),
    }
    chart = points.encode(**axes).properties(width=260, height=260)
    chart.facet("metric:N", columns=3).resolve_scale(x="independent", y="independent").save(path)


if __name__ == "__main__":
    main()
