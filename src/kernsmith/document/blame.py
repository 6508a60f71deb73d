# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a search for the objects that are to blame, with every mixed kernel on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class MixedSideView:
    """One of the two kernels. key: its content address. vmlinux: path of its image."""

    name: str
    key: str
    vmlinux: str


@dataclass(frozen=True)
class MixTestView:
    """One mixed kernel and what the test said of it.

    taken: how many objects of the bad kernel it has. functions: how many functions of the bad one,
        where not all of these objects are taken as a whole; else None.
    verdict: `good`, `bad` or `unresolved`; the reason is a few words.
    change, low, high: of the metric, in per cent of the good kernel, over layouts with the
        always-valid interval; None where no metric decides (the bounds also without any yet).
    seconds: that the test took.
    """

    number: int
    taken: int
    verdict: str
    reason: str
    seconds: float
    change: float | None = None
    low: float | None = None
    high: float | None = None
    layouts: int = 0
    functions: int | None = None


@dataclass(frozen=True)
class NarrowedView:
    """Functions that are to blame: one, or several that can be exchanged only together.

    along: others that these call in the bad form, and nobody else does: they come along.
    """

    functions: tuple[str, ...]
    along: tuple[str, ...] = ()


@dataclass(frozen=True)
class BlamedView:
    """An object that is to blame.

    functions: those of which its code differs in the two kernels. narrowed: those of them that are
        to blame by the test; empty where the search stays with the object. why: it does, in a few
        words; empty where no functions were searched.
    """

    object: str
    functions: tuple[str, ...]
    narrowed: tuple[NarrowedView, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class BlameDocument:
    """All of such a search's result.

    base: whose rules all mixed kernels are linked by, `good` or `bad`.
    test: in words; metric: what decides, empty where the test itself does.
    objects, suspects: how many the kernels have, and how many of them differ.
    tests: all mixed kernels in the order in which they were judged; first the good kernel, and the
        one with all objects of the bad one.
    blamed: a smallest set, without any one of which the kernel is not bad; empty when the bad
        kernel is not bad.
    limit: change of the metric, in per cent, from which a kernel counts as bad; None without one.
    link_is_bad: whether the bad kernel as it was built is bad, though its objects are not.
    vmlinux: path of the mixed kernel with the blamed objects, or with the blamed functions of them;
        empty without any.
    among: patterns of the objects that were looked at; the others are the good kernel's in every
        mixed kernel, and no suspects. Empty for all.
    report: path of the HTML page.
    """

    FORMAT: ClassVar[str] = "kernsmith-blame"
    VERSION: ClassVar[int] = 1

    good: MixedSideView
    bad: MixedSideView
    base: str
    test: str
    metric: str
    objects: int
    suspects: int
    tests: tuple[MixTestView, ...]
    blamed: tuple[BlamedView, ...]
    link_is_bad: bool = False
    limit: float | None = None
    vmlinux: str = ""
    among: tuple[str, ...] = ()
    report: str = ""
