# SPDX-License-Identifier: GPL-2.0-or-later
"""One rule for zeros: whatever is said of a comparison with a zero in it says the same."""

from math import exp, log

import pytest

from kernsmith.stats.means import geometric_mean, mean_ratio, zero_shift
from kernsmith.stats.observations import Observation
from kernsmith.stats.question import Question
from kernsmith.stats.study import analyse

ONE_ZERO = {"old": {"a": 1000.0, "b": 0.0}, "new": {"a": 1000.0, "b": 1.0}}


def rows(layouts: int = 6) -> list[Observation]:
    """Two workloads; one has no miss in the baseline and one miss in the variant."""
    return [
        Observation(variant, f"random:{layout}", workload, "", 0, layout, "misses", value)
        for layout in range(layouts)
        for variant, values in ONE_ZERO.items()
        for workload, value in values.items()
    ]


def test_the_effect_and_the_look_are_about_the_same_ratio() -> None:
    asked = Question(("old", "new"), ("a", "b"), ("misses",), frozenset())
    (found,) = analyse(rows(), asked)
    overall = found.verdicts[0].effect
    ((_, look),) = found.sequential
    assert overall.ratio == pytest.approx(exp(log(1.5 / 0.5) / 2), rel=1e-14)
    assert exp(look.mean) == overall.ratio


def test_a_scope_with_a_zero_is_moved_by_half_and_no_other() -> None:
    assert zero_shift([3, 0, 5]) == 0.5
    assert zero_shift([3, 5]) == 0.0
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([0.0, 7.5]) == pytest.approx(2.0)
    assert mean_ratio([(1000.0, 1000.0), (0.0, 1.0)]) == pytest.approx(3**0.5)


def test_the_ratio_of_two_means_of_a_scope_is_the_mean_ratio() -> None:
    old, new = [0.0, 4.0, 9.0], [1.0, 2.0, 8.0]
    shift = zero_shift([*old, *new])
    ratio = geometric_mean(new, shift) / geometric_mean(old, shift)
    pairs = [(a + shift, b + shift) for a, b in zip(old, new, strict=True)]
    assert ratio == pytest.approx(mean_ratio(pairs))


@pytest.mark.parametrize("values", [[-1.0], [float("nan")], [float("inf"), 1.0]])
def test_what_is_no_count_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        zero_shift(values)
