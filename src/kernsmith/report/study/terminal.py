# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from kernsmith.report.plan_tables import duration
from kernsmith.report.study.luck import luck_lines

Document = Mapping[str, Any]
MODEL_CYCLES = "model_cycles"

MODEL_WORDS = (
    "model_cycles is a model: instructions and front-end events of a simulated CPU, added up. "
    "It does not see data caches, memory or out-of-order execution; see docs/model.md."
)


_PATHS = (
    ("vmlinux", "vmlinux"),
    ("bzImage", "bzimage"),
    ("profile", "profile"),
    ("package", "package_command"),
)


def print_study(document: Document, console: Console) -> None:
    """Print verdicts, failures, and where the kernel, the profile and the report are."""
    for variant in others(document):
        console.print(_mix_table(document, variant))
        console.print(_workload_table(document, variant))
        for _, line in headline(document, variant):
            console.print(line, soft_wrap=True, markup=False)
        for line in luck_lines(document, variant):
            console.print(f"{variant}: {line}", soft_wrap=True, markup=False)
    for line in sequential(document):
        console.print(line, soft_wrap=True, markup=False)
    if any(metric == MODEL_CYCLES for metric in _measured(document)):
        console.print(MODEL_WORDS, soft_wrap=True, markup=False)
    for failure in document["failures"]:
        console.print(f"failed: {failure}", soft_wrap=True, markup=False)
    console.print(f"took {duration(document['seconds'])}", markup=False)
    for variant in document["variants"]:
        if variant["vmlinux"] and not variant["baseline"]:
            console.print(f"{variant['name']}:", soft_wrap=True, markup=False)
            for title, key in _PATHS:
                if variant[key]:
                    console.print(f"{title}  {variant[key]}", soft_wrap=True, markup=False)
    console.print(f"report   {document['report']}", soft_wrap=True, markup=False)


def _measured(document: Document) -> set[str]:
    return {verdict["metric"] for verdict in document["verdicts"]}


def others(document: Document) -> list[str]:
    """Names of the variants that are compared with the baseline."""
    return [variant["name"] for variant in document["variants"] if not variant["baseline"]]


def baseline(document: Document) -> str:
    """Name of the variant that the others are compared with."""
    return next(str(v["name"]) for v in document["variants"] if v["baseline"])


def mixes(document: Document, variant: str) -> Iterator[Mapping[str, Any]]:
    """Verdicts of a variant over all workloads, and over trained and held-out ones."""
    for verdict in document["verdicts"]:
        if verdict["variant"] == variant and verdict["workload"].startswith("overall"):
            yield verdict


def headline(document: Document, variant: str) -> list[tuple[Mapping[str, Any], str]]:
    """What was found on the metric that the study is about: verdict, words."""
    metric = document["study"]["metric"]
    words = {
        "overall": "whole mix",
        "overall-trained": "workloads trained on",
        "overall-held-out": "workloads held out",
    }
    return [
        (verdict, f"{variant}: {words[verdict['workload']]}: {verdict['sentence']}")
        for verdict in mixes(document, variant)
        if verdict["metric"] == metric
    ]


def sequential(document: Document) -> list[str]:
    """For studies that went on until their interval was narrow: what holds whenever one stops."""
    lines = []
    for look in document["sequential"]:
        if look["ci"] is None:
            lines.append(f"{look['variant']}: {look['sentence']}")
            continue
        low, high = (100 * (bound - 1) for bound in look["ci"])
        lines.append(
            f"{look['variant']}: {look['sentence']}; the change is {low:+.2f} … {high:+.2f} %, "
            f"p = {look['p']:.2g}, valid whatever made the study stop"
        )
    return lines


def interval(verdict: Mapping[str, Any]) -> str:
    """`0.8412 … 0.8467`, or a dash when there is one layout only."""
    if verdict["ci"] is None:
        return "–"
    return f"{verdict['ci'][0]:.4f} … {verdict['ci'][1]:.4f}"


def number(value: float | None, form: str) -> str:
    """A formatted figure, or a dash."""
    return "–" if value is None else format(value, form)


def judgement(verdict: Mapping[str, Any]) -> str:
    """One or two words: what the interval says ("no difference": none that is significant)."""
    if verdict["p"] is None:
        return "no verdict"
    if not verdict["significant"]:
        return "no difference"
    return "less" if verdict["ratio"] < 1 else "more"


def confidence(document: Document) -> str:
    """The intervals' confidence in words: `95 %`."""
    return f"{100 * (1 - document['study']['alpha']):g} %"


def _columns(document: Document) -> list[str]:
    interval_title = f"{confidence(document)} interval"
    return ["ratio", interval_title, "p", "layout's share", "one binary said", "verdict"]


def _cells(verdict: Mapping[str, Any]) -> list[str]:
    return [
        f"{verdict['ratio']:.4f}",
        interval(verdict),
        number(verdict["p"], ".2g"),
        number(verdict["layout_share"], ".1%"),
        number(verdict["default_ratio"], ".4f"),
        judgement(verdict),
    ]


def _mix_table(document: Document, variant: str) -> Table:
    table = Table(title=f"{variant} against {baseline(document)}: geometric mean over workloads")
    table.add_column("mix", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for title in _columns(document):
        table.add_column(title, justify="right", no_wrap="interval" in title)
    headlines = {metric["name"] for metric in document["metrics"] if metric["headline"]}
    for verdict in mixes(document, variant):
        if verdict["metric"] in headlines:
            table.add_row(verdict["workload"], verdict["metric"], *_cells(verdict))
    return table


def _workload_table(document: Document, variant: str) -> Table:
    metric = document["study"]["metric"]
    table = Table(title=f"{variant} against {baseline(document)}: {metric} by workload")
    table.add_column("workload", no_wrap=True)
    for title in _columns(document):
        table.add_column(title, justify="right", no_wrap="interval" in title)
    for verdict in document["verdicts"]:
        mine = verdict["variant"] == variant and not verdict["workload"].startswith("overall")
        if mine and verdict["metric"] == metric:
            held = " (held out)" if verdict["trained"] is False else ""
            table.add_row(verdict["workload"] + held, *_cells(verdict))
    return table
