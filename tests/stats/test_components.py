# SPDX-License-Identifier: GPL-2.0-or-later
"""Components of variance where spreads are tiny, or none."""

import numpy as np
import pytest

from kernsmith.stats.components import variance_components


def test_equal_layouts_have_no_variance() -> None:
    values = [123456.7] * 9 + [98765.4] * 9
    layouts = [layout for layout in range(6) for _ in range(3)]
    parts = variance_components(values, ["a"] * 9 + ["b"] * 9, layouts, list(range(18)))
    assert [part.variance for part in parts] == [0.0] * len(parts)


def test_a_tiny_spread_of_runs_is_seen_beside_a_large_one_of_layouts() -> None:
    random = np.random.default_rng(1)
    logs = 20 + np.repeat(random.normal(0, 0.1, 10), 10) + random.normal(0, 1e-10, 100)
    layouts = [layout for layout in range(10) for _ in range(10)]
    parts = variance_components(list(np.exp(logs)), ["v"] * 100, layouts, layouts)
    assert len(parts) == 2
    assert parts[-1].variance == pytest.approx(1e-20, rel=0.5)
