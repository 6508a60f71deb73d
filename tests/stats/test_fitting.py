# SPDX-License-Identifier: GPL-2.0-or-later
"""Fitting a model's figures to times: what counts as an error, and where a step leads."""

import numpy as np
import pytest

from kernsmith.stats.calibration import CYCLES, LAYOUT, RATIO, Case, better_values, error_rows

CASES = [
    Case("lua", "O2", True, 100.0),
    Case("lua", "O2", True, 102.0),
    Case("lua", "Os", False, 110.0),
]


def test_cycles_ratios_and_layouts_are_told_in_the_size_that_is_asked() -> None:
    modelled = np.log([110.0, 112.2, 121.0])  # 10 % too many of everything
    errors = error_rows(CASES) @ (modelled - np.log([case.measured for case in CASES]))
    assert errors == pytest.approx([np.log(1.1) / CYCLES, 0, 0, 0], abs=1e-9)
    modelled = np.log([100.0, 102.0, 110.0 * np.exp(0.02)])  # -Os 2 % too slow
    errors = error_rows(CASES) @ (modelled - np.log([case.measured for case in CASES]))
    assert errors == pytest.approx([0, 0, 0, 0.02 / RATIO], abs=1e-9)
    modelled = np.log(
        [100.0 * np.exp(0.005), 102.0 * np.exp(-0.005), 110.0]
    )  # the layouts nearer together
    errors = error_rows(CASES) @ (modelled - np.log([case.measured for case in CASES]))
    layout = 0.005 / LAYOUT / np.sqrt(2)
    assert errors == pytest.approx([0, layout, -layout, 0], abs=1e-9)


def test_steps_find_what_made_the_times() -> None:
    truth, values = np.array([6.0, 12.0]), np.array([4.0, 20.0])
    bounds = (np.array([2.0, 4.0]), np.array([8.0, 40.0]))

    def errors(at: np.ndarray) -> np.ndarray:
        return np.array([1 / at[0] - 1 / truth[0], 0.01 * (at[1] - truth[1]), at[0] / at[1] - 0.5])

    for _ in range(6):
        slopes = np.column_stack(
            [(errors(values + step) - errors(values)) / 1e-4 for step in 1e-4 * np.eye(2)]
        )
        values = better_values(values, bounds, 100 * errors(values), 100 * slopes)
    assert values == pytest.approx(truth, rel=0.01)


def test_no_step_leaves_the_bounds_and_what_nothing_depends_on_stays() -> None:
    bounds = (np.array([2.0, 0.0]), np.array([8.0, 4.0]))
    moved = better_values(np.array([7.5, 1.0]), bounds, np.array([-100.0]), np.array([[1.0, 0.0]]))
    assert moved == pytest.approx([8.0, 1.0])
