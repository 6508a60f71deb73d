# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether variants that are better work as well, in words."""

from __future__ import annotations

from kernsmith.document import StudyDocument, VerifiedView

_NAMED = 3


def verified_lines(document: StudyDocument) -> list[str]:
    """A sentence for each answer of an oracle; none where no oracle was asked."""
    return [f"{each.variant}: {each.oracle}: {_words(each)}" for each in document.verified]


def _words(answer: VerifiedView) -> str:
    if answer.reason:
        return f"no answer: {answer.reason}"
    counts = f"{answer.passed:,} passed, {answer.failed:,} failed, {answer.skipped:,} skipped"
    if not answer.new:
        same = ", all of which the baseline fails, too" if answer.failed else ""
        return f"works ({counts}{same})"
    names = ", ".join(fault.name for fault in answer.new[:_NAMED])
    more = f" and {len(answer.new) - _NAMED} more" if len(answer.new) > _NAMED else ""
    return f"does not work: {names}{more}, which the baseline does not fail ({counts})"
