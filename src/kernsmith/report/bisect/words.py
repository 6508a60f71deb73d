# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's figures in words, the same in the terminal and on the page."""

from __future__ import annotations

from kernsmith.document import BisectDocument, StepView

HASH_SHOWN = 12


def verdict_sentence(document: BisectDocument) -> str:
    """What came out: the first bad commit, those that it may be, or that there is none."""
    first_bad, whole = document.first_bad, document.whole
    if len(first_bad) == 1:
        commit = first_bad[0]
        return (
            f"First bad commit: {commit.id[:HASH_SHOWN]} {commit.subject} "
            f"({commit.author}, {commit.date})."
        )
    if first_bad:
        names = ", ".join(f"{commit.id[:HASH_SHOWN]} {commit.subject}" for commit in first_bad)
        return f"Only skipped commits are left; the first bad commit is one of: {names}."
    words = (
        f"There is nothing to bisect: {document.metric} of the bad revision changes by "
        f"{change_words(whole)}"
    )
    if whole.default_change is not None:
        words += f"; one binary of each would have said {whole.default_change:+.2f} %"
    return words


def bad_words(document: BisectDocument) -> str:
    """On which side of the threshold bad commits lie, by the metric's direction."""
    side = "above" if document.whole.better == "lower" else "below"
    return f"bad is a change {side} {document.threshold:.2f} %"


def change_words(step: StepView) -> str:
    """`+0.54 % (+0.53 … +0.55)`, or a dash when nothing was measured."""
    if step.change is None or step.low is None or step.high is None:
        return signed(step.change)
    return f"{step.change:+.2f} % ({step.low:+.2f} … {step.high:+.2f})"


def signed(change: float | None) -> str:
    """A change in per cent, or a dash."""
    return "–" if change is None else f"{change:+.2f} %"
