# SPDX-License-Identifier: GPL-2.0-or-later
"""The result in words, the same in the terminal, in Markdown and on the page."""

from __future__ import annotations

from kernsmith.document import BlameDocument, BlamedView, MixTestView, NarrowedView

_FUNCTIONS_SHOWN = 5


def verdict_sentence(document: BlameDocument) -> str:
    """What came out: the objects, or that there is nothing to blame one for."""
    good, bad = document.good.name, document.bad.name
    if document.blamed:
        names = ", ".join(view.object for view in document.blamed)
        many = "suspects are" if len(document.blamed) > 1 else "suspects is"
        narrowed = "".join(f" {words}" for view in document.blamed if (words := found_words(view)))
        return (
            f"{len(document.blamed)} of {document.suspects} {many} to blame: with {names} of "
            f"{bad!r}, {good!r} is bad{_change_words(document)}.{narrowed}"
        )
    if document.link_is_bad:
        return (
            f"No object is to blame: {bad!r} is bad as it was built, and good when its objects are "
            f"linked by the rules of {good!r}; it is the link."
        )
    if not document.suspects:
        return f"There is nothing to blame: {bad!r} has the same objects as {good!r}."
    if document.among:
        return f"Nothing of {', '.join(document.among)} is to blame: with it {good!r} is good."
    return f"There is nothing to blame: {bad!r} is good."


def condition_words(document: BlameDocument) -> str:
    """What was tested, how often, and how long that took."""
    tests = len(document.tests)
    seconds = sum(test.seconds for test in document.tests)
    took = f", {seconds:.0f} s of them on the machine" if seconds else ""
    what = f"{document.metric} of {document.test}" if document.metric else document.test
    fitting = f" and fit {', '.join(document.among)}" if document.among else ""
    return (
        f"Test: {what}. {document.suspects} of {document.objects} objects differ{fitting}; {tests} "
        f"mixed kernels were linked and judged{took}; linked by the rules of the {document.base} "
        "kernel."
    )


def found_words(view: BlamedView) -> str:
    """The functions of an object that are to blame; nothing where the search stays with it."""
    if not view.narrowed:
        return ""
    many = "functions" if sum(len(each.functions) for each in view.narrowed) > 1 else "function"
    return f"Of {view.object} it is the {many} {', '.join(map(_unit_words, view.narrowed))}."


def _unit_words(unit: NarrowedView) -> str:
    words = " and ".join(unit.functions)
    return (
        f"{words} (with {', '.join(unit.along)}, which it calls in the same form)"
        if unit.along
        else words
    )


def amount_words(test: MixTestView) -> str:
    """What a mixed kernel has of the bad one."""
    count, word = test.taken, "object"
    if test.functions is not None:
        count, word = test.functions, "function"
    return f"{count} {word}{'' if count == 1 else 's'}"


def narrowed_words(view: BlamedView) -> str:
    """The functions that are to blame by the test, or why none are named."""
    if view.narrowed:
        return ", ".join(map(_unit_words, view.narrowed))
    return f"not told apart: {view.why}" if view.why else ""


def function_words(view: BlamedView) -> str:
    """The functions that differ in an object; how many, where there are many."""
    count = len(view.functions)
    if count > _FUNCTIONS_SHOWN:
        return f"{count} functions: {', '.join(view.functions[:_FUNCTIONS_SHOWN])}, …"
    return ", ".join(view.functions)


def change_of(test: MixTestView) -> str:
    """`+0.54 % (+0.53 … +0.55)`, or a dash where no metric was measured."""
    if test.change is None:
        return "–"
    if test.low is None or test.high is None:
        return f"{test.change:+.2f} %"
    return f"{test.change:+.2f} % ({test.low:+.2f} … {test.high:+.2f})"


def final_test(document: BlameDocument) -> MixTestView | None:
    """The test of the kernel with the blamed objects and no others."""
    count = len(document.blamed)
    bad = [test for test in document.tests if test.verdict == "bad" and test.taken == count]
    return bad[-1] if bad and count else None


def _change_words(document: BlameDocument) -> str:
    last = final_test(document)
    if last is None:
        return ""
    if last.change is not None:
        return f": {document.metric} {change_of(last)}"
    return f" ({last.reason})" if last.reason else ""
