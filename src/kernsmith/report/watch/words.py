# SPDX-License-Identifier: GPL-2.0-or-later
"""A history in words: the same on its pages, in the terminal and in a comment."""

from __future__ import annotations

from kernsmith.document import ChangePointView, HistoryView, RevisionView, WatchDocument

HASH_SHOWN = 12


def name_of(revision: RevisionView) -> str:
    """Its tag, or the beginning of its hash."""
    return revision.name or revision.commit.id[:HASH_SHOWN]


def change_words(change: float, ci: tuple[float | None, float | None] | None) -> str:
    """`+0.54 % (+0.53 … +0.55)`."""
    if ci is None:
        return f"{change:+.2f} %"
    low, high = ("∞" if end is None else f"{end:+.2f}" for end in ci)
    return f"{change:+.2f} % ({low} … {high})"


def change_sentence(
    document: WatchDocument, history: HistoryView, change_point: ChangePointView
) -> str:
    """`pipe: slower by …, since v7.2.4 (subject)`."""
    revision = document.revisions[change_point.revision]
    before = document.revisions[change_point.before]
    word = "worse" if change_point.worse else "better"
    change = change_words(change_point.change, change_point.ci)
    return (
        f"{history.workload}: {document.metric} {change}, {word}, "
        f"since {name_of(revision)} {revision.commit.subject} "
        f"(the last one measured before: {name_of(before)})"
    )


def summary(document: WatchDocument) -> str:
    """What came out, in one sentence."""
    measured = sum(not revision.failed for revision in document.revisions)
    layouts = max((history.layouts for history in document.histories), default=0)
    over = f"{measured} revisions in {layouts} layouts each"
    worse = sum(change_point.worse for _, change_point in document.change_points)
    better = len(document.change_points) - worse
    if not document.change_points:
        return f"Nothing has changed in {document.metric} that layout could not fake: {over}."
    found = len(document.change_points)
    times = "once" if found == 1 else f"{found} times"
    if worse and better:
        which = f", {worse} to the worse and {better} to the better"
    else:
        which = f" to the {'worse' if worse else 'better'}"
    return f"{document.metric} has changed {times}{which}: {over}."
