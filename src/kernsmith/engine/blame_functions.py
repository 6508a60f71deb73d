# SPDX-License-Identifier: GPL-2.0-or-later
"""From the objects that are to blame to their functions, by the same test, and by linking alone.

Object by object: all others stay as they were found, and this one is made of both kernels', with
some functions in the bad kernel's form. With none of them it has to be good, and with all of them
bad: else something else in the object is to blame, or a function that cannot be exchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kernsmith.engine.ddmin import ddmin
from kernsmith.engine.mix_judge import MixJudge
from kernsmith.engine.mix_tests import BAD, GOOD, MixTest
from kernsmith.kernel.exchange import Exchange, NotExchangeable, Unit, function_of

_SHOWN = 3


@dataclass(frozen=True)
class Narrowed:
    """What became of an object.

    units: the functions that are to blame; empty where the search stays with the object. why: it
        does, in a few words.
    """

    units: tuple[Unit, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class FunctionSearch:
    """judge: what knows what was judged. test: by which the objects were found."""

    judge: MixJudge
    test: MixTest

    def run(self, blamed: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Narrowed]]:
        """What is to blame, as mixing takes it, and what became of each object.

        Raises:
            Flaky: the test says different things of one kernel.
        """
        taken: dict[str, tuple[str, ...]] = {name: (name,) for name in blamed}
        found: dict[str, Narrowed] = {}
        for name in blamed:
            beside = tuple(each for other in blamed if other != name for each in taken[other])
            found[name] = self._narrow(name, beside)
            if units := found[name].units:
                mixed = (function_of(name, unit.name) for unit in units)
                taken[name] = (function_of(name), *mixed)
        return tuple(each for name in blamed for each in taken[name]), found

    def _narrow(self, name: str, beside: tuple[str, ...]) -> Narrowed:
        try:
            exchange = self.judge.pair.exchange(name)
        except NotExchangeable as error:
            return Narrowed(why=str(error))
        units = {function_of(name, unit.name): unit for unit in exchange.units}
        if not units:
            return Narrowed(why=_kept_words(exchange) or "the code of no function of it differs")
        self.judge.events.stage(f"functions of {name}: {len(units)} are suspects")
        beside = (*beside, function_of(name))
        none, all_ = self.judge.each(self.test, [beside, (*beside, *units)])
        if none.verdict != GOOD:
            said = "bad, too" if none.verdict == BAD else f"not to be judged ({none.reason})"
            return Narrowed(why=f"with all of its functions from the good kernel it is {said}")
        if all_.verdict != BAD:
            said = "good" if all_.verdict == GOOD else f"not to be judged ({all_.reason})"
            how_many = f"all {len(units)} functions" if len(units) > 1 else "the function"
            why = f"with {how_many} that can be exchanged it is {said}"
            kept = _kept_words(exchange)
            return Narrowed(why=f"{why}; {kept}" if kept else why)
        judge = partial(self.judge.first_bad, self.test, beside)
        members = ddmin(tuple(units), judge, partial(self._tell, len(units)), self.judge.parts)
        self.judge.confirm(self.test, (*beside, *members), "confirm-functions")
        return Narrowed(tuple(units[member] for member in members))

    def _tell(self, total: int, left: int) -> None:
        self.judge.events.progress("functions are no suspects any more", total - left, total)
        self.judge.events.note(f"{left} functions left" if left > 1 else "1 function left")


def _kept_words(exchange: Exchange) -> str:
    """Why functions cannot be exchanged, of the first of them."""
    kept: Mapping[str, str] = exchange.kept
    if not kept:
        return ""
    words = "; ".join(f"{name}: {why}" for name, why in list(kept.items())[:_SHOWN])
    count = f"{len(kept)} functions" if len(kept) > 1 else "1 function"
    return f"{count} cannot be exchanged ({words}{'; …' if len(kept) > _SHOWN else ''})"
