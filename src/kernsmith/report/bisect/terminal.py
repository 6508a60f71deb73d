# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's result in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.terminal import headline, others

_HASH_SHOWN = 12


def print_bisect(document: Mapping[str, Any], console: Console) -> None:
    """Print all steps, git's log, and the first bad commit with its verdict."""

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    console.print(_steps_table(document))
    if document["log"]:
        say(document["log"].rstrip())
    first_bad = document["first_bad"]
    if not first_bad:
        say(_no_regression(document))
    elif len(first_bad) > 1:
        say("Only skipped commits are left; the first bad commit is one of:")
        for commit in first_bad:
            say(f"    {commit['id']} {commit['subject']}")
    else:
        (commit,) = first_bad
        say(f"first bad commit: {commit['id']}")
        say(f"    {commit['subject']}")
        say(f"    {commit['author']}, {commit['date']}")
    if verdict := document["verdict"]:
        for variant in others(verdict):
            lines = [line for _, line in headline(verdict, variant)]
            lines += [f"{variant}: {line}" for line in luck_lines(verdict, variant)]
            for line in lines:
                say(line)
        say(f"report   {verdict['report']}")


def _no_regression(document: Mapping[str, Any]) -> str:
    whole = document["whole"]
    words = f"there is nothing to bisect: {document['metric']} of the bad revision changes by "
    words += _change(whole)
    if whole["default_change"] is not None:
        words += f"; one binary of each would have said {whole['default_change']:+.2f} %"
    return words


def _steps_table(document: Mapping[str, Any]) -> Table:
    title = (
        f"{document['metric']} against {document['good']['id'][:_HASH_SHOWN]}; bad is what changes "
        f"by more than {document['threshold']:.2f} %"
    )
    table = Table(title=title)
    for name in ("commit", "subject"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for name in ("change over layouts", "layouts", "one binary said", "instructions", "decision"):
        table.add_column(name, justify="right", no_wrap=name.startswith("change"))
    for step in (document["whole"], *document["steps"]):
        table.add_row(
            step["commit"][:_HASH_SHOWN],
            step["subject"],
            _change(step),
            str(step["layouts"] or "–"),
            _signed(step["default_change"]),
            _signed(step["instructions_change"]),
            step["decision"],
        )
    return table


def _change(step: Mapping[str, Any]) -> str:
    if step["low"] is None or step["high"] is None:
        return _signed(step["change"])
    return f"{step['change']:+.2f} % ({step['low']:+.2f} … {step['high']:+.2f})"


def _signed(change: float | None) -> str:
    return "–" if change is None else f"{change:+.2f} %"
