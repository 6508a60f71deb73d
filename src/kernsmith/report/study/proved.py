# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an installed package is what was measured, in words."""

from __future__ import annotations

from kernsmith.document import ProvedView, StudyDocument
from kernsmith.report.page import Column, Table


def proved_lines(document: StudyDocument) -> list[str]:
    """A sentence for each package that was, or was to be, proved."""
    return [_sentence(each) for each in document.proved]


def refuted_lines(document: StudyDocument) -> list[str]:
    """Of these sentences, those about packages that are not what was measured."""
    return [_sentence(each) for each in document.proved if not each.holds]


def proved_table(answer: ProvedView) -> Table:
    """What the system that the package was installed in was asked, and said."""
    rows = [
        (fact.what, fact.seen, "" if fact.holds else f"WRONG, the package says: {fact.expected}")
        for fact in answer.facts
    ]
    columns = [Column("asked"), Column("said"), Column("")]
    return Table(columns, rows, caption=f"The package of {answer.variant}, installed and booted")


def _sentence(answer: ProvedView) -> str:
    return f"the package of {answer.variant}: {_words(answer)}"


def _words(answer: ProvedView) -> str:
    if answer.reason:
        return f"not proved: {answer.reason}"
    if answer.failed:
        return f"could not be installed, or did not boot: {answer.failed}"
    if wrong := [fact for fact in answer.facts if not fact.holds]:
        said = "; ".join(f"{each.what}: {each.seen}, not {each.expected}" for each in wrong)
        return f"is not what it says: {said}"
    return (
        "proved: installed in a fresh Debian it boots from disk by firmware, and is the kernel "
        f"that was measured (login after {answer.seconds:.0f} s)"
    )
