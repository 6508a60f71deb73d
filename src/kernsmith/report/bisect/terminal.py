# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's result in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from kernsmith.document import BisectDocument
from kernsmith.report.bisect.words import (
    HASH_SHOWN,
    bad_words,
    change_words,
    signed,
    verdict_sentence,
)
from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.words import headline
from kernsmith.report.terminal import add_texts, say, text_table


def print_bisect(document: BisectDocument, console: Console) -> None:
    """Print all steps, git's log, and the first bad commit with its verdict."""

    console.print(_steps_table(document))
    if document.log:
        say(console, document.log.rstrip())
    first_bad = document.first_bad
    if not first_bad:
        say(console, verdict_sentence(document))
    elif len(first_bad) > 1:
        say(console, "Only skipped commits are left; the first bad commit is one of:")
        for commit in first_bad:
            say(console, f"    {commit.id} {commit.subject}")
    else:
        (commit,) = first_bad
        say(console, f"first bad commit: {commit.id}")
        say(console, f"    {commit.subject}")
        say(console, f"    {commit.author}, {commit.date}")
    if verdict := document.verdict:
        for variant in verdict.others:
            lines = [line for _, line in headline(verdict, variant)]
            lines += [f"{variant}: {line}" for line in luck_lines(verdict, variant)]
            for line in lines:
                say(console, line)
        say(console, f"report   {verdict.report}")
    say(console, f"bisection {document.report}")


def _steps_table(document: BisectDocument) -> Table:
    title = f"{document.metric} against {document.good.id[:HASH_SHOWN]}; {bad_words(document)}"
    table = text_table(title)
    for name in ("commit", "subject"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for name in ("change over layouts", "layouts", "one binary said", "instructions", "decision"):
        table.add_column(name, justify="right", no_wrap=name.startswith("change"))
    for step in (document.whole, *document.steps):
        add_texts(
            table,
            [
                step.commit[:HASH_SHOWN],
                step.subject,
                change_words(step),
                str(step.layouts or "–"),
                signed(step.default_change),
                signed(step.instructions_change),
                step.decision,
            ],
        )
    return table
