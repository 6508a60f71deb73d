# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole design of a study: its factors, their levels, and how they work together."""

from __future__ import annotations

from dataclasses import dataclass

Bounds = tuple[float | None, float | None]
"""Lower and upper end of an interval; None where it has no end."""


@dataclass(frozen=True)
class TermView:
    """A main effect, or an interaction (`a × b`); None for what is infinite or undefined."""

    term: str
    df: int
    sum_of_squares: float | None
    df_error: int
    error: float | None
    f: float | None
    p: float | None
    omega_squared: float | None
    p_corrected: float | None = None


@dataclass(frozen=True)
class LevelView:
    """A level of a factor against its first one, over the levels of all other factors."""

    factor: str
    level: str
    baseline: str
    ratio: float
    ci: Bounds | None
    p: float | None
    n: int
    significant: bool
    p_corrected: float | None = None


@dataclass(frozen=True)
class FactorsView:
    """The whole design on one metric.

    layouts: of a sample of boots so many boots. left_out: combinations with fewer than two good
        ones.
    """

    metric: str
    factors: tuple[str, ...]
    layouts: int
    left_out: tuple[str, ...]
    terms: tuple[TermView, ...]
    levels: tuple[LevelView, ...]
