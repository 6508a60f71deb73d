# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds against a baseline, over the random layouts that both have."""

from __future__ import annotations

import numpy as np
import pytest

from kernsmith.stats.agreement import Measured
from kernsmith.stats.builds import build_effects


def rows(build: str, cycles: dict[str, float], apart: float = 0.0) -> list[Measured]:
    """apart: how much more the second half of the runs says than the first."""
    return [
        Measured("lua", build, layout, took, took, took * (1 + apart))
        for layout, took in cycles.items()
    ]


BASE = {"default": 90.0, "random:1": 100.0, "random:2": 104.0, "random:3": 108.0}


def test_layouts_are_pairs_and_the_default_one_is_a_mark() -> None:
    slower = {name: took * 1.02 for name, took in BASE.items()} | {"default": 81.0}
    (found,) = build_effects([*rows("O2", BASE), *rows("Os", slower)], "O2")
    assert (found.group, found.build) == ("lua", "Os")
    assert found.effect is not None and found.effect.n == 3
    assert found.effect.ratio == pytest.approx(1.02)
    assert found.effect.ci == pytest.approx((1.02, 1.02))
    assert found.default == pytest.approx(0.9)


def test_the_interval_is_that_of_the_layouts() -> None:
    draw = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        base = {f"random:{n}": 100 * np.exp(draw.normal(0, 0.02)) for n in range(6)}
        other = {name: took * 0.97 * np.exp(draw.normal(0, 0.01)) for name, took in base.items()}
        (found,) = build_effects([*rows("O2", base), *rows("O3", other)], "O2")
        assert found.effect is not None and found.effect.ci is not None
        inside += found.effect.ci[0] < 0.97 < found.effect.ci[1]
    assert 0.92 < inside / 400 < 0.98


def test_what_two_halves_do_not_agree_on_is_noise() -> None:
    (quiet,) = build_effects([*rows("O2", BASE), *rows("O3", BASE)], "O2")
    (noisy,) = build_effects([*rows("O2", BASE), *rows("O3", BASE, apart=0.02)], "O2")
    assert quiet.noise == pytest.approx(0)
    assert noisy.noise == pytest.approx(0.99, abs=0.01)


def test_one_binary_of_each_has_no_interval() -> None:
    (found,) = build_effects([*rows("O2", BASE), *rows("gcc-O2", {"default": 99.0})], "O2")
    assert found.effect is None
    assert found.default == pytest.approx(1.1)


def test_builds_without_a_layout_in_common_are_not_compared() -> None:
    assert not build_effects([*rows("O2", BASE), *rows("O3", {"random:9": 1.0})], "O2")


def test_figures_are_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        build_effects(rows("O2", {"default": 0.0}), "O2")
