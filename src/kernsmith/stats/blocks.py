# SPDX-License-Identifier: GPL-2.0-or-later
"""Factorial analysis of variance in blocks: every combination of levels is measured in each block.

Each term is tested against its own interaction with the blocks, as in repeated measures (Maxwell &
Delaney, Designing Experiments and Analyzing Data, chapter 12), and not against one pooled residual:
blocks may agree on what one factor does and differ on another. With two levels in a complete design
that is the paired t-test of the two, F = t². Terms have type II sums of squares, see
`kernsmith.stats.factorial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from kernsmith.stats.anova import f_test
from kernsmith.stats.factorial import all_terms, indicators
from kernsmith.stats.rounding import without_rounding
from kernsmith.stats.samples import Array


@dataclass(frozen=True)
class BlockRow:
    """A main effect or an interaction.

    error, df_error: sum of squares and degrees of freedom of the term's interaction with the
        blocks. f, p: infinite and 0 without error, NaN when nothing varies.
    omega_squared: partial omega squared (Keren & Lewis 1979).
    p_corrected: for other tests that are made with it; NaN where it was not corrected.
    """

    term: str
    df: int
    sum_of_squares: float
    df_error: int
    error: float
    f: float
    p: float
    omega_squared: float
    p_corrected: float = nan


def factorial_in_blocks(
    factors: Sequence[str], cells: Sequence[Sequence[str]], values: Array
) -> tuple[BlockRow, ...]:
    """All main effects and interactions.

    cells: the levels of each combination, one a factor. values: combinations × blocks.

    Empty with fewer than two factors or blocks. Combinations may be missing: terms then lose
    degrees of freedom.
    """
    blocks = values.shape[1]
    if len(factors) < 2 or blocks < 2:
        return ()
    columns = {term: indicators(term, cells) for term in all_terms(factors)}
    terms = list(columns)
    centred = values - values.mean(axis=0)
    largest = max(1.0, float(np.abs(values).max()))
    rows = []
    for term in terms:
        others = [columns[other] for other in terms if not set(term) <= set(other)]
        without, with_it = (
            _projector(others, len(cells)),
            _projector([*others, columns[term]], len(cells)),
        )
        part = (with_it - without) @ centred
        df = round(float(np.trace(with_it) - np.trace(without)))
        mean = part.mean(axis=1, keepdims=True)
        square = without_rounding(blocks * float((mean**2).sum()), largest, values.size)
        error = without_rounding(float(((part - mean) ** 2).sum()), largest, values.size)
        df_error = df * (blocks - 1)
        f, p = f_test(square, df, error, df_error)
        rows.append(
            BlockRow(
                " × ".join(factors[i] for i in term),
                df,
                square,
                df_error,
                error,
                f,
                p,
                _omega_squared(square, df, error, df_error, values.size),
            )
        )
    return tuple(rows)


def _omega_squared(square: float, df: int, error: float, df_error: int, total: int) -> float:
    if df < 1 or square + error <= 0:
        return nan
    mean_error = error / df_error
    excess = square - df * mean_error
    return excess / (excess + total * mean_error)


def _projector(parts: Sequence[Array], cells: int) -> Array:
    """Onto the space that the columns span together with the grand mean."""
    design = np.hstack([np.ones((cells, 1)), *parts])
    left, size, _ = np.linalg.svd(design, full_matrices=False)
    basis = left[:, size > 1e-10 * size[0]]
    projector: Array = basis @ basis.T
    return projector
