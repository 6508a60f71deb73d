# SPDX-License-Identifier: GPL-2.0-or-later
"""Agreement of a model with measurements, and what noise lets it be."""

from __future__ import annotations

import numpy as np
import pytest

from kernsmith.stats.agreement import Agreement, Point, judge

BUILDS = {"O2": 1.0, "O3": 0.99, "Os": 1.04}


def points(noise: float, model: float, seed: int = 1, layouts: int = 16) -> list[Point]:
    """Two programs: each build and layout has a true time; both halves see it through noise."""
    draw = np.random.default_rng(seed)
    found = []
    for group, cycles in (("lua", 1e8), ("tcc", 3e8)):
        for build, factor in BUILDS.items():
            for layout in range(layouts):
                true = cycles * factor * np.exp(draw.normal(0, 0.01))
                first, second = true * np.exp(draw.normal(0, noise, 2))
                modelled = true * np.exp(draw.normal(0, model))
                name = f"random:{layout}"
                measured = (first + second) / 2
                found.append(Point(group, build, name, measured, first, second, modelled))
    return found


def of(noise: float, model: float, **options: int) -> Agreement:
    return judge(points(noise, model, **options), "O2")


def test_a_perfect_model_of_exact_measurements_agrees_in_everything() -> None:
    agreement = of(0, 0)
    assert agreement.cycles == pytest.approx(0)
    assert agreement.mean_error == pytest.approx(0)
    assert (agreement.builds.share, agreement.layouts.share) == (1, 1)
    assert (agreement.correlation, agreement.allowed) == (1, 1)


def test_the_ratio_of_two_layouts_is_told_beside_how_far_they_are_apart() -> None:
    """Layouts that spread by 1 %: two are 1.13 % apart on average; a model of none says 1."""
    flat = [Point(**{**vars(each), "modelled": 1.0}) for each in points(0, 0, layouts=60)]
    exact, ignorant = of(0, 0, layouts=60), judge(flat, "O2")
    assert exact.layout_error == pytest.approx(0)
    assert exact.layout_difference == ignorant.layout_error == pytest.approx(1.13, abs=0.15)
    noisy = of(0.005, 0, layouts=60).ranks[0]
    assert noisy.noise == pytest.approx(100 * 0.005 * (2 / np.pi) ** 0.5, rel=0.2)


def test_ratios_are_of_the_layouts_that_both_builds_have() -> None:
    few = [p for p in points(0, 0) if p.build != "Os" or p.layout in ("random:3", "random:7")]
    (ratio,) = (r for r in judge(few, "O2").ratios if (r.group, r.build) == ("lua", "Os"))
    both = [
        [p.measured for p in few if p.group == "lua" and p.build == build and p.layout == layout]
        for layout in ("random:3", "random:7")
        for build in ("Os", "O2")
    ]
    (os3,), (o23,), (os7,), (o27,) = both
    assert ratio.measured == pytest.approx((os3 / o23 * os7 / o27) ** 0.5)


def test_no_model_is_blamed_for_noise() -> None:
    """What a perfect model reaches is what the halves say that noise allows."""
    found = [of(0.008, 0, seed=seed, layouts=40) for seed in range(20)]
    reached = np.mean([agreement.correlation for agreement in found])
    allowed = np.mean([agreement.allowed for agreement in found])
    assert 0.6 < reached < 0.95
    assert allowed == pytest.approx(reached, abs=0.05)


def test_pairs_that_noise_hides_are_not_counted() -> None:
    quiet, loud = of(0, 0.02).layouts, of(0.02, 0.02).layouts
    assert loud.pairs < quiet.pairs / 2
    assert quiet.pairs == 6 * 16 * 15 // 2


def test_a_model_that_knows_nothing_has_half_of_the_signs() -> None:
    agreement = of(0, 1.0)
    assert agreement.layouts.share == pytest.approx(0.5, abs=0.12)
    assert abs(agreement.correlation) < 0.25


def test_one_factor_for_the_clock_costs_nothing() -> None:
    doubled = [
        Point(p.group, p.build, p.layout, p.measured, p.first, p.second, 2 * p.modelled)
        for p in points(0, 0)
    ]
    assert judge(doubled, "O2").cycles == pytest.approx(0)
    assert judge(doubled, "O2").factor == pytest.approx(0.5)
    assert judge(doubled, "O2", factor=1.0).cycles == pytest.approx(1)


def test_figures_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        judge([], "O2")
