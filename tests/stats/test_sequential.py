# SPDX-License-Identifier: GPL-2.0-or-later
"""The always-valid interval: what it says, and when a study stops."""

from math import inf, log

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kernsmith.report.sentences import decision_sentence
from kernsmith.stats.sequential import decide, look_at

RATIOS = [-0.012, -0.010, -0.011, -0.009, -0.010, -0.012, -0.011, -0.010, -0.009, -0.011]


def test_one_value_says_nothing() -> None:
    look = look_at([0.5])
    assert (look.low, look.high) == (-inf, inf)
    assert look.p == pytest.approx(1.0)


def test_the_interval_is_the_inverse_of_the_test() -> None:
    """A hypothesis on the interval's edge has a martingale of exactly 1 / alpha."""
    import numpy as np

    from kernsmith.stats.sequential import PRIOR, _log_martingale

    look = look_at(RATIOS)
    for edge in (look.low, look.high):
        shifted = np.array(RATIOS) - edge
        last = _log_martingale(shifted, np.arange(1, 11), PRIOR)[-1]
        assert last == pytest.approx(log(20))


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=30), st.sampled_from([0.05, 0.01]))
def test_the_p_value_and_the_interval_never_contradict(values: list[int], alpha: float) -> None:
    look = look_at([value / 1000 for value in values], alpha=alpha)
    assume(abs(look.p / alpha - 1) > 1e-6)
    assert (look.p < alpha) == (not look.low <= 0 <= look.high)


def test_what_the_first_values_said_does_not_stand_against_all_of_them() -> None:
    """Six near -2 %, then fourteen near +2 %: the first six give no verdict on all."""
    early = [-0.02, -0.021, -0.019, -0.0205, -0.0195, -0.02]
    assert look_at(early).p < 0.001
    look = look_at([*early, *(0.02 + 0.001 * (n % 3) for n in range(14))])
    assert look.low < 0 < look.high and look.p > 0.05


@pytest.mark.parametrize(
    ("n", "width", "stop", "reached", "words"),
    [
        (2, 0.5, False, False, "goes on after 2 layouts: the interval has no bounds yet"),
        (5, 0.4, False, False, "goes on after 5 layouts: the interval is 0."),
        (10, 0.5, True, True, "stopped after 10 layouts: the interval is 0."),
        (10, 0.01, True, False, "stopped at the limit of 10 layouts"),
    ],
)
def test_decisions(n: int, width: float, stop: bool, reached: bool, words: str) -> None:
    decision = decide(RATIOS[:n], width=width, most=10)
    assert (decision.stop, decision.reached) == (stop, reached)
    assert decision_sentence(decision).startswith(words)


def test_nothing_to_look_at_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to look at"):
        look_at([])
