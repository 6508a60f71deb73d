# SPDX-License-Identifier: GPL-2.0-or-later
"""Factorial analysis of variance with all interactions, from n, mean and sd of each cell.

Sums of squares are of type II (Langsrud 2003, Statistics and Computing 13): each term is tested
after all terms that do not contain it. In balanced designs that is what every type gives. The
error is the spread within the cells, so cell figures are all that is needed, and a published
table can be analysed like raw data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan

import numpy as np

from kernsmith.stats.anova import f_test
from kernsmith.stats.rounding import without_rounding
from kernsmith.stats.samples import Array, Summary

Term = tuple[int, ...]


@dataclass(frozen=True)
class FactorialRow:
    """A line of the table: a main effect, an interaction, or the residual.

    sum_of_squares: 0 where the rounding of the means alone could make it.
    f, p: infinite and 0 where a term has an effect and the residual is 0, NaN where both are 0, and
        for the residual.
    omega_squared: partial omega squared (Keren & Lewis 1979); NaN for the residual.
    """

    term: str
    df: int
    sum_of_squares: float
    f: float
    p: float
    omega_squared: float


def factorial(factors: Sequence[str], cells: Sequence[Summary]) -> tuple[FactorialRow, ...]:
    """The table of all main effects and interactions.

    Empty with fewer than two factors or without replicates. Combinations without values are
    allowed: terms then lose degrees of freedom, and a term without any has NaN for F and p.
    """
    total = sum(cell.n for cell in cells)
    if len(factors) < 2 or total <= len(cells):
        return ()
    levels = [cell.levels for cell in cells]
    columns = {term: indicators(term, levels) for term in all_terms(factors)}
    terms = list(columns)
    within = sum((cell.n - 1) * cell.variance for cell in cells if cell.n > 1)
    error = without_rounding(within, _largest(cells), total)
    df_error = total - len(cells)
    rows = [_row(term, terms, columns, factors, cells, (error, df_error), total) for term in terms]
    return (*rows, FactorialRow("residual", df_error, error, nan, nan, nan))


def _row(
    term: Term,
    terms: Sequence[Term],
    columns: dict[Term, Array],
    factors: Sequence[str],
    cells: Sequence[Summary],
    residual: tuple[float, int],
    total: int,
) -> FactorialRow:
    error, df_error = residual
    others = [other for other in terms if not set(term) <= set(other)]
    without, rank_without = _fit([columns[other] for other in others], cells)
    with_it, rank_with = _fit([columns[t] for t in [*others, term]], cells)
    df = rank_with - rank_without
    gain = float(((with_it - without) ** 2).sum())
    square = without_rounding(gain, _largest(cells), total)
    f, p = f_test(square, df, error, df_error)
    mean_error = error / df_error
    excess = square - df * mean_error
    below = excess + total * mean_error
    omega = excess / below if below > 0 and df > 0 else nan
    return FactorialRow(" × ".join(factors[i] for i in term), df, square, f, p, omega)


def all_terms(factors: Sequence[str]) -> list[Term]:
    """Main effects, then interactions of two factors, and so on."""
    return [
        term
        for size in range(1, len(factors) + 1)
        for term in combinations(range(len(factors)), size)
    ]


def indicators(term: Term, cells: Sequence[Sequence[str]]) -> Array:
    """One column a combination of the term's levels, cells × columns of 0 and 1.

    cells: the levels of each, one a factor.
    """
    keys = [tuple(levels[index] for index in term) for levels in cells]
    names = sorted(set(keys))
    return np.array([[float(key == name) for name in names] for key in keys])


def _largest(cells: Sequence[Summary]) -> float:
    return max(abs(cell.mean) for cell in cells)


def _fit(parts: Sequence[Array], cells: Sequence[Summary]) -> tuple[Array, int]:
    """The cell means that a model gives, weighted by the roots of n, and the model's rank.

    Of two models, one within the other, the squared distance is the difference of their misfits
    (Pythagoras), without its cancellation.
    """
    design = np.hstack([np.ones((len(cells), 1)), *parts])
    means = np.array([cell.mean for cell in cells])
    root = np.sqrt([float(cell.n) for cell in cells])
    centred = means - means.mean()
    weighted = design * root[:, None]
    solution, _, rank, _ = np.linalg.lstsq(weighted, centred * root, rcond=1e-10)
    fitted: Array = weighted @ solution
    return fitted, int(rank)
