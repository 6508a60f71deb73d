# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a metric of a sequence of kernels has changed, told apart from luck of layout.

Each kernel of the sequence (a revision of a source) is measured in the same draws of layouts. PELT
(Killick, Fearnhead & Eckley 2012, by `ruptures`) finds places at which the mean over layouts may
have changed. A place stays when a paired t-test over layouts, of the stretches before and behind
it, says so as one of all tests that could have been made: as many as there are neighbours in the
sequence, times the sequences that are looked at (Bonferroni). So what is found in a sequence in
which nothing has changed is found with probability `alpha` at most, however it was searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
import ruptures

from kernsmith.stats.effect import Effect, effect_of
from kernsmith.stats.means import Logs

LEAST = 1e-4
"""A change of the logarithm below which none is told: a kernel that is one unused function longer
executes some instructions more, the same in all layouts."""

_NO_NOISE = 1e-6


@dataclass(frozen=True)
class ChangePoint:
    """at: the first place of the sequence that has changed. effect: of the stretch from there on,
    up to the next change point, against the stretch before; its interval and p are those of one
    among all tests that could have been made."""

    at: int
    effect: Effect


def find_change_points(
    logs: Logs, *, alpha: float = 0.05, sequences: int = 1, least: float = LEAST
) -> tuple[ChangePoint, ...]:
    """The change points of one sequence, in its order.

    logs: of shape (layouts, places), natural logarithms.
    sequences: how many are looked at together. least: of the logarithm; smaller ones are none.

    Raises:
        ValueError: fewer than two layouts, which tell nothing of luck.
    """
    layouts, places = logs.shape
    if layouts < 2:
        raise ValueError("change points are told apart from luck of layout by at least two layouts")
    if places < 2:
        return ()
    tests = (places - 1) * sequences
    cuts = _candidates(logs)
    while cuts:
        ends = [0, *cuts, places]
        effects = [
            effect_of(
                logs[:, begin:at].mean(axis=1),
                logs[:, at:end].mean(axis=1),
                paired=True,
                alpha=alpha / tests,
            )
            for (begin, at), end in zip(pairwise(ends), ends[2:], strict=False)
        ]
        weakest = max(range(len(cuts)), key=lambda number: _weakness(effects[number], least))
        if _weakness(effects[weakest], least) * tests <= alpha:
            return tuple(ChangePoint(at, each) for at, each in zip(cuts, effects, strict=True))
        del cuts[weakest]
    return ()


def _weakness(effect: Effect, least: float) -> float:
    """The p-value; 1 of a change that is too small to be told."""
    return 1.0 if abs(log(effect.ratio)) < least else effect.p or 0.0


def _candidates(logs: Logs) -> list[int]:
    """Places at which the mean over layouts may have changed, rather too many than too few."""
    layouts, places = logs.shape
    steps = np.diff(logs, axis=1)
    # Of the mean at one place: a change is the same in all layouts, and adds nothing to it.
    noise = np.sqrt(steps.var(axis=0, ddof=1).mean() / (2 * layouts))
    signal = logs.mean(axis=0) / max(float(noise), _NO_NOISE)
    search = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(signal.reshape(-1, 1))
    return [int(at) for at in search.predict(pen=2 * log(max(places, 3)))[:-1]]
