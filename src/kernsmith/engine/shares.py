# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects bring most of what two kernels differ by.

Delta debugging finds the smallest set that is bad; a gain has no such set: many objects bring a
little each. So the difference is shared out first, function by function, from traces of the good
kernel and of one with all objects of the bad one. The objects of which most is expected are then
measured: each alone in the good kernel, over the same random layouts, and in the end together.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from pathlib import Path

import numpy as np

from kernsmith.document.shares import FunctionShareView, MixChangeView, SharesDocument, ShareView
from kernsmith.engine.blame import pair_key, side_view
from kernsmith.engine.events import Events
from kernsmith.engine.journal import Journal, mix_name
from kernsmith.engine.mix_replay import Measured, MeasuresMixes
from kernsmith.engine.object_costs import ObjectCosts
from kernsmith.errors import KernsmithError
from kernsmith.files import locked
from kernsmith.kernel.link import LinkFailed
from kernsmith.kernel.mixed import Pair
from kernsmith.machine import MachineFailed
from kernsmith.stats.effect import Effect, effect_of, t_interval
from kernsmith.stats.multiple import holm_with_levels
from kernsmith.threads import each_of, threads

ALPHA = 0.05
_FUNCTIONS_SHOWN = 3
_TRIES = 2
"""A kernel that does not run does not run again either; one whose machine was killed does."""
_CANDIDATES = 2
"""So many times as many objects are measured as are asked for: what is expected of one is of one
layout, and partly luck."""


@dataclass(frozen=True)
class Shares:
    """What to look for, and where to keep the state.

    top: how many objects. folder: of the state of this question and no other one.
    cpu: the CPU model, as the user named it. slots: mixed kernels at once.
    """

    pair: Pair
    measures: MeasuresMixes
    top: int
    folder: Path
    events: Events
    cpu: str = ""
    slots: int = os.cpu_count() or 1

    def run(self) -> SharesDocument:
        """Share out, measure, and put together.

        Raises:
            UserError: the kernels cannot be mixed.
            KernsmithError: one of the two does not run the workloads.
        """
        self.pair.check()
        with locked(self.folder / "lock"):
            return self._run(Journal(self.folder / "tests.jsonl"))

    def _run(self, journal: Journal) -> SharesDocument:
        suspects = self.pair.suspects
        empty = self._empty()
        if not suspects:
            return empty
        self.events.stage(f"{len(suspects)} of {len(self.pair.objects)} objects differ")
        good, bad = self._measured(journal, [(), suspects], by_object=True)
        for side, name in ((good, "good"), (bad, "bad")):
            if side.failure:
                raise KernsmithError(f"the {name} kernel cannot be measured: {side.failure}")
        expected = share_out(good.costs, bad.costs)
        of_suspects = {name: sum(expected.get(name, {}).values()) for name in suspects}
        effect = _effect(good, bad)
        found = replace(
            empty,
            ran=sum(name in expected for name in suspects),
            whole=_mix_change(len(suspects), effect, ALPHA),
            unchanged=sum(sum(f.values()) for n, f in expected.items() if n not in of_suspects),
            unmeasured=sum(of_suspects.values()),
        )
        if effect.p is None or effect.p >= ALPHA:
            return found
        candidates = _candidates(of_suspects, self.top * _CANDIDATES)
        self.events.stage(f"measure {len(candidates)} objects, each alone in the good kernel")
        alone = self._measured(journal, [(name,) for name in candidates])
        views = _views(candidates, expected, good, alone)
        top, others = _ranked(views, self.top, down=effect.ratio < 1)
        together = None
        if top:
            taken = tuple(view.object for view in top)
            self.events.stage(f"measure the {len(top)} objects together")
            (both,) = self._measured(journal, [taken])
            if not both.failure:
                together = _mix_change(len(top), _effect(good, both), ALPHA)
        unmeasured = sum(of_suspects.values()) - sum(view.expected for view in views)
        return replace(found, top=top, others=others, together=together, unmeasured=unmeasured)

    def _measured(
        self, journal: Journal, mixes: Sequence[Collection[str]], *, by_object: bool = False
    ) -> list[Measured]:
        """Each mixed kernel, measured once."""
        measure = partial(self._one, journal, by_object=by_object)
        progress = partial(self.events.progress, "mixed kernels")
        with threads(self.slots) as pool:
            return each_of(pool, measure, mixes, progress)

    def _one(self, journal: Journal, taken: Collection[str], *, by_object: bool) -> Measured:
        name = mix_name(taken)
        known = journal.of(name)
        if known is not None:
            return Measured.read(known)
        folder = self.folder / name
        found = Measured()
        for left in reversed(range(_TRIES)):
            try:
                found = self.measures.measure(self.pair, taken, folder, by_object=by_object)
            except MachineFailed:
                if not left:
                    raise
                continue
            except LinkFailed as error:
                if error.of_host:
                    raise
                found = Measured(failure=f"it does not link: {str(error).splitlines()[0]}")
            if not found.failure:
                break
        journal.add(name, len(taken), found.as_plain())
        return found

    def _empty(self) -> SharesDocument:
        pair = self.pair
        return SharesDocument(
            good=side_view(pair.good),
            bad=side_view(pair.bad),
            base="good" if pair.base is pair.good else "bad",
            workloads=tuple(each.name for each in self.measures.workloads),
            metric=self.measures.metric,
            cpu=self.cpu,
            layouts=self.measures.layouts,
            alpha=ALPHA,
            objects=len(pair.objects),
            suspects=len(pair.suspects),
            ran=0,
            whole=None,
            top=(),
            others=(),
            together=None,
            unmeasured=0.0,
            unchanged=0.0,
            among=pair.among,
        )


def shares_key(pair: Pair, measures: MeasuresMixes) -> str:
    """What tells one question from another: a word for a folder's name. How many objects are asked
    for is no part of it: what was measured serves both."""
    return pair_key(pair, measures.identity())


def share_out(
    good: Sequence[ObjectCosts], bad: Sequence[ObjectCosts]
) -> dict[str, dict[str, float]]:
    """What each function of each object costs more or less in the bad kernel, in per cent of all
    that the good one costs; mean over workloads.

    good, bad: costs of the workloads, in their order.
    """
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for before, after in zip(good, bad, strict=True):
        whole = sum(sum(functions.values()) for functions in before.values())
        for costs, sign in ((before, -1), (after, 1)):
            for name, functions in costs.items():
                for function, value in functions.items():
                    found[name][function] += sign * 100 * value / whole / len(good)
    return {name: dict(functions) for name, functions in found.items()}


def _candidates(expected: Mapping[str, float], count: int) -> list[str]:
    """The objects of which most is expected, in either direction."""
    ordered = sorted(expected, key=lambda name: (-abs(expected[name]), name))
    return [name for name in ordered[:count] if expected[name]]


def _views(
    names: Sequence[str],
    expected: Mapping[str, Mapping[str, float]],
    good: Measured,
    alone: Sequence[Measured],
) -> list[ShareView]:
    """Each object as it was measured, with p-values and intervals corrected for all of them."""
    effects = [None if each.failure else _effect(good, each) for each in alone]
    p_values = [nan if e is None or e.p is None else e.p for e in effects]
    corrected = holm_with_levels(p_values, ALPHA)
    views = []
    for name, measured, effect, test in zip(names, alone, effects, corrected, strict=True):
        functions = sorted(expected[name].items(), key=lambda item: -abs(item[1]))
        view = ShareView(
            object=name,
            expected=sum(expected[name].values()),
            functions=tuple(FunctionShareView(*item) for item in functions[:_FUNCTIONS_SHOWN]),
            failure=measured.failure,
        )
        if effect is not None:
            change = _mix_change(1, effect, test.level)
            view = replace(
                view,
                change=change.change, low=change.low, high=change.high,
                p=test.p, significant=test.p < ALPHA,
            )  # fmt: skip
        views.append(view)
    return views


def _ranked(
    views: Sequence[ShareView], top: int, *, down: bool
) -> tuple[tuple[ShareView, ...], tuple[ShareView, ...]]:
    """So many that bring most in the direction of the whole, and the rest; the largest first."""

    def brought(view: ShareView) -> float:
        return 0.0 if view.change is None else -view.change if down else view.change

    ordered = sorted(views, key=lambda view: (-brought(view), view.object))
    first = tuple(view for view in ordered if brought(view) > 0)[:top]
    others = sorted(
        (view for view in ordered if view not in first), key=lambda view: -abs(brought(view))
    )
    return first, tuple(others)


def _effect(good: Measured, other: Measured) -> Effect:
    return effect_of(np.array(good.logs), np.array(other.logs), paired=True, alpha=ALPHA)


def _mix_change(taken: int, effect: Effect, level: float) -> MixChangeView:
    """With the interval of confidence 1 - level."""
    assert effect.error is not None
    assert effect.df is not None
    shift = float(np.log(effect.ratio))
    low, high = t_interval(shift, effect.error, effect.df, level)
    return MixChangeView(taken, effect.change, 100 * (low - 1), 100 * (high - 1))
