# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects of plain values, which are a scope of their own for the rule of zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kernsmith.stats.effect import Effect, effect_of
from kernsmith.stats.means import logs_of, zero_shift


def value_effect(
    baseline: Sequence[float], treated: Sequence[float], *, paired: bool = True
) -> Effect:
    """The effect of one workload's values, one a layout."""
    shift = zero_shift([*baseline, *treated])
    old, new = logs_of(baseline, shift), logs_of(treated, shift)
    return effect_of(old, new, paired=paired, half_added=shift > 0)


def mix_effect(
    workloads: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, paired: bool
) -> Effect:
    """The effect over workloads of which each has the same layouts."""
    shifts = [zero_shift([*old, *new]) for old, new in workloads.values()]
    old, new = (
        np.mean(
            [logs_of(s[i], shift) for s, shift in zip(workloads.values(), shifts, strict=True)],
            axis=0,
        )
        for i in (0, 1)
    )
    return effect_of(old, new, paired=paired, half_added=any(shifts))
