# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts, and the levels of the factor `layout` that they are drawn from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from kernsmith.errors import UserError

PROFILE = "profile"
"""In place of an order file: the order that the calls of the variant's own training give."""

_LEVEL = re.compile(
    r"(?P<plain>default|random)|(?:order:(?P<file>.+?)|(?P<profile>profile))"
    r"(?P<random>\+random(?:\+jitter:(?P<jitter>\d{1,6}))?)?"
)

_WRITTEN = re.compile(
    r"(?:default|(?P<profile>profile)|order:(?P<file>.+?))?"
    r"(?:(?:^|\+)random:(?P<seed>.+?)(?:\+jitter:(?P<jitter>\d+))?(?P<data>\+data)?)?"
)


@dataclass(frozen=True)
class Layout:
    """An order of functions that is applied when linking.

    named: whose order the first functions have: the path of an order file (one symbol a line), or
        `PROFILE`; empty when no function is named.
    seed: shuffles all that is not named; empty: it stays as the objects come.
    jitter: by how many places a named function may move, drawn by the seed.
    data: whether the seed also shuffles the data of the kernel's objects.
    """

    named: str = ""
    seed: str = ""
    jitter: int = 0
    data: bool = False

    def __str__(self) -> str:
        """`default`, `random:SEED`, `order:FILE`, `order:FILE+random:SEED` …; files by name."""
        words = []
        if self.named:
            words.append(PROFILE if self.named == PROFILE else f"order:{PurePath(self.named).name}")
        if self.seed:
            words.append(f"random:{self.seed}")
        if self.jitter:
            words.append(f"jitter:{self.jitter}")
        if self.data:
            words.append("data")
        return "+".join(words) or "default"


def read_layout(text: str) -> Layout:
    """The layout that `str` wrote; an order file is known by its name alone.

    Raises:
        UserError: no layout is written so.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise UserError(f"no layout is called {text!r}")
    named = PROFILE if match["profile"] else match["file"] or ""
    return Layout(named, match["seed"] or "", int(match["jitter"] or 0), bool(match["data"]))


@dataclass(frozen=True)
class LayoutLevel:
    """A level of the factor `layout`: one layout, or a kind of layouts that is drawn n times.

    named, jitter: as in `Layout`. drawn: whether what is not named is shuffled.
    """

    named: str = ""
    drawn: bool = True
    jitter: int = 0

    @property
    def undrawn(self) -> Layout:
        """The one layout without luck: that of the objects, or only what is named moved."""
        return Layout(self.named)

    def draw(self, seed: str) -> Layout:
        """The random layout of a seed; of a level that is not drawn, the only one there is."""
        return Layout(self.named, seed, self.jitter) if self.drawn else self.undrawn


RANDOM = LayoutLevel()
"""What variants without the factor have."""


def read_layout_level(text: str) -> LayoutLevel:
    """From `default`, `random`, `order:FILE` or `profile`; behind the last two may stand `+random`
    (what is not named is shuffled) and `+jitter:N` (what is named moves by up to N places).

    Raises:
        UserError: anything else.
    """
    match = _LEVEL.fullmatch(text)
    if match is None:
        raise UserError(
            f"no layout is called {text!r}: allowed are default, random, order:FILE and profile, "
            "the last two also with +random or +random+jitter:N behind them"
        )
    if match["plain"]:
        return LayoutLevel(drawn=match["plain"] == "random")
    named = PROFILE if match["profile"] else match["file"]
    return LayoutLevel(named, bool(match["random"]), int(match["jitter"] or 0))
