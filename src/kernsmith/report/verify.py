# SPDX-License-Identifier: GPL-2.0-or-later
"""What oracles say of kernels, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from kernsmith.document import VerifiedView
from kernsmith.report.terminal import add_texts, say, text_table

_SHOWN = 10


def print_verified(answers: Sequence[VerifiedView], console: Console) -> None:
    """Print a table of all answers, and below it what is wrong, each with the kernel's words."""
    table = text_table()
    table.add_column("oracle", no_wrap=True)
    table.add_column("variant", overflow="fold")
    for name in ("passed", "failed", "skipped"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("answer", overflow="fold")
    for answer in answers:
        counts = (answer.passed, answer.failed, answer.skipped)
        figures = map(str, counts) if answer.kernel else ("–",) * len(counts)
        add_texts(table, [answer.oracle, answer.variant, *figures, _answer(answer)])
    console.print(table)
    for answer in answers:
        for fault in answer.new[:_SHOWN]:
            say(console, f"{answer.oracle}, {answer.variant}: {fault.name}")
            for line in fault.said:
                say(console, f"    {line}")
        if (more := len(answer.new) - _SHOWN) > 0:
            say(console, f"{answer.oracle}, {answer.variant}: and {more} more (verify.json)")


def _answer(answer: VerifiedView) -> str:
    if answer.reason:
        return f"no answer: {answer.reason}"
    if answer.new:
        return f"{len(answer.new)} that the baseline does not fail"
    return "works" if not answer.failed else "works: what fails, the baseline fails, too"
