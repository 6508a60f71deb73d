# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether variants that are better work as well, in words."""

from __future__ import annotations

from kernsmith.document import StudyDocument, VerifiedView

_NAMED = 3


def verified_lines(document: StudyDocument) -> list[str]:
    """A sentence for each answer of an oracle, and for each variant that is better and was not
    asked about."""
    asked = {each.variant for each in document.verified}
    names = (each.name for each in document.variants if each.name in document.better)
    unasked = [name for name in names if name not in asked]
    baseline = {each.name for each in document.variants if each.baseline}
    told = (
        _of_baseline(each) if each.works and each.variant in baseline else _sentence(each)
        for each in document.verified
    )
    return [*told, *map(_unasked, unasked)]


def broken_lines(document: StudyDocument) -> list[str]:
    """Of these sentences, those about variants that do not work, or were not judged."""
    return [_sentence(each) for each in document.verified if not each.works]


def _sentence(answer: VerifiedView) -> str:
    return f"{answer.variant}: {answer.oracle}: {_words(answer)}"


def _of_baseline(answer: VerifiedView) -> str:
    return f"{answer.variant}: {answer.oracle}: {_counts(answer)}, which others are held against"


def _unasked(variant: str) -> str:
    return (
        f"{variant}: it boots, and its workloads check what they did; no oracle was asked whether "
        "the rest of it works (kernsmith verify)"
    )


def _words(answer: VerifiedView) -> str:
    if answer.reason:
        return f"no answer: {answer.reason}"
    counts = _counts(answer)
    if not answer.new:
        same = ", all of which the baseline fails, too" if answer.failed else ""
        return f"works ({counts}{same})"
    names = ", ".join(fault.name for fault in answer.new[:_NAMED])
    more = f" and {len(answer.new) - _NAMED} more" if len(answer.new) > _NAMED else ""
    return f"does not work: {names}{more}, which the baseline does not fail ({counts})"


def _counts(answer: VerifiedView) -> str:
    return f"{answer.passed:,} passed, {answer.failed:,} failed, {answer.skipped:,} skipped"
