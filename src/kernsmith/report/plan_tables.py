# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from kernsmith.report.terminal import add_texts

_SHOWN_TRIALS = 30


def print_plan(plan: Mapping[str, Any], console: Console) -> None:
    """Print what `kernsmith plan` found out (see `engine.estimate`)."""
    builds = Table(title="kernels, in the order in which they are built")
    for title in ("variant", "objects", "expected"):
        builds.add_column(title, justify="left" if title == "variant" else "right")
    for build in plan["builds"]:
        expected = "in the cache" if build["cached"] else duration(build["seconds"])
        add_texts(builds, [build["variant"], str(build["objects"] or "?"), expected])
    console.print(builds)
    for refused in plan["refused"]:
        console.print(
            f"refused: {refused['variant']}: {refused['reason']}", soft_wrap=True, markup=False
        )
    for sentence in plan["not_checked"]:
        console.print(f"not checked: {sentence}", soft_wrap=True, markup=False)
    for remark in plan["remarks"]:
        console.print(f"note: {remark}", soft_wrap=True, markup=False)
    if plan["training"]:
        console.print(f"training runs: {', '.join(plan['training'])}", soft_wrap=True, markup=False)
    open_trials = [trial for trial in plan["trials"] if not trial["done"]]
    finished = len(plan["trials"]) - len(open_trials)
    title = f"{len(open_trials)} trials, in the order in which they are planned"
    trials = Table(title=title + (f" ({finished} more are in the ledger)" if finished else ""))
    for title in ("#", "block", "variant", "layout", "workload", "replicate", "by"):
        trials.add_column(title)
    for trial in open_trials[:_SHOWN_TRIALS]:
        way = "replay" if trial["replayed"] else "boot"
        add_texts(trials, [*(str(trial[key]) for key in _KEYS), way])
    console.print(trials)
    if len(open_trials) > _SHOWN_TRIALS:
        console.print(f"… and {len(open_trials) - _SHOWN_TRIALS} more (all with --json)")
    boots = plan["boots"]
    if plan["replays"] or boots["checks"]:
        console.print(
            f"{plan['replays']} replays; boots: {boots['trials']} trials, {boots['traces']} more "
            f"that write traces, {boots['checks']} that check replays"
        )
    seconds = plan["seconds"]
    basis = "the ledger's history" if plan["history"] else "no history yet: a rough guess"
    console.print(
        f"expected: {duration(seconds['total'])} = builds {duration(seconds['builds'])}"
        f" + training {duration(seconds['training'])}"
        f" + {plan['links']} layouts {duration(seconds['links'])}"
        f" + trials {duration(seconds['trials'])}"
        f" + replays {duration(seconds['replays'])} ({basis})"
    )


def print_spending(found: Mapping[str, Any], console: Console) -> None:
    """Print what `kernsmith plan --change` or `--width` found out (see `engine.spending`)."""
    goal, costs = found["goal"], found["costs"]
    wanted = f"an interval {goal['percent']:g} % wide"
    if goal["power"] is not None:
        wanted = f"a change of {goal['percent']:g} %, found with power {goal['power']:g}"
    table = Table(title=f"{found['metric']}: what to spend for {wanted}")
    by_boot = found["sample"] == "boots"
    titles = ("boots", "layouts") if by_boot else ("layouts", "boots of each", "runs in each")
    for title in ("of", "scatter (SD)", *titles, "takes"):
        table.add_column(title, justify="left" if title.startswith(("of", "sc")) else "right")
    for name, one in found["of"].items():
        scatter = ", ".join(
            f"{part} {figures['percent']:.2f} %" for part, figures in one["components"].items()
        )
        spent = one["spend"]
        most = "a study may have" if by_boot else "4000 layouts"
        words = [f"more than {most}", *[""] * len(titles)]
        if spent:
            keys = ("boots", "layouts") if by_boot else ("layouts", "boots", "runs")
            words = [*(str(spent[key]) for key in keys), duration(spent["seconds"])]
        elif not one["components"]:
            unit = "boot" if by_boot else "run"
            words = [f"measure more than one {unit} of each first", *[""] * len(titles)]
        add_texts(table, [name, scatter, *words])
    console.print(table)
    of_each = (
        f"a boot of a kernel with a workload costs {costs['boot']:.3g} s, a replayed layout "
        f"{costs['run']:.3g} s"
        if by_boot
        else f"a layout costs {costs['layout']:.3g} s, a boot {costs['boot']:.3g} s, a run "
        f"{costs['run']:.3g} s"
    )
    console.print(f"for {found['variants']} variants; {of_each}", soft_wrap=True)


_KEYS = ("position", "block", "variant", "layout", "workload", "replicate")


def duration(seconds: float) -> str:
    """Seconds in the words of a clock: `45 s`, `7 min`, `1 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
