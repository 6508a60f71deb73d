# SPDX-License-Identifier: GPL-2.0-or-later
"""The result in words, the same in the terminal, in Markdown and on the page."""

from __future__ import annotations

from kernsmith.document.shares import MixChangeView, SharesDocument, ShareView

_NAMED = 3


def verdict_sentence(document: SharesDocument) -> str:
    """What the objects bring together, and which are the first of them."""
    good, bad, whole = document.good.name, document.bad.name, document.whole
    if whole is None:
        return f"There is no difference to share out: {bad!r} has the same objects as {good!r}."
    words = f"{document.metric} {change_words(whole)}"
    if not document.top:
        return f"There is no difference to share out: {bad!r} against {good!r}: {words}."
    first = ", ".join(f"{view.object} {view.change:+.2f} %" for view in document.top[:_NAMED])
    more = ", …" if len(document.top) > _NAMED else ""
    count = len(document.top)
    those = f"{count} of {document.suspects} objects that differ bring"
    if count == 1:
        those = f"1 of {document.suspects} objects that differ brings"
    if document.together is None or document.share is None:
        return f"{those} most of what {bad!r} differs by ({words}): {first}{more}."
    return (
        f"{those} {document.share:.0f} % of what {bad!r} differs by ({words}), together "
        f"{change_words(document.together)}: {first}{more}."
    )


def condition_words(document: SharesDocument) -> str:
    """What was measured, and how."""
    measured = len(document.top) + len(document.others)
    fitting = f" and fit {', '.join(document.among)}" if document.among else ""
    return (
        f"{document.metric} of {', '.join(document.workloads)} on {document.cpu}, in "
        f"{document.layouts} random layouts, the same of every kernel. {document.suspects} of "
        f"{document.objects} objects differ{fitting}, of {document.ran} something was executed; "
        f"{measured} were measured, each alone among the objects of {document.good.name!r} (all "
        f"others together: {document.unmeasured:+.2f} % expected; objects that do not differ, and "
        f"lie elsewhere: {document.unchanged:+.2f} %). Intervals of single objects are corrected "
        f"for all of them (Holm); linked by the rules of the {document.base} kernel."
    )


def change_words(view: MixChangeView | ShareView) -> str:
    """`-1.20 % (-1.31 … -1.08)`, or why there is none."""
    if view.change is None or view.low is None or view.high is None:
        return view.failure if isinstance(view, ShareView) else "–"
    return f"{view.change:+.2f} % ({view.low:+.2f} … {view.high:+.2f})"


def function_words(view: ShareView) -> str:
    """The functions of which most is expected."""
    return ", ".join(f"{each.name} {each.expected:+.2f}" for each in view.functions)


def p_words(view: ShareView) -> str:
    """The corrected p-value."""
    if view.p is None:
        return "–"
    return "< 0.001" if view.p < 0.001 else f"{view.p:.3f}"
