# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts in words."""

import pytest

from kernsmith.report.sentences import verdict_sentence
from kernsmith.stats.observations import Observation
from kernsmith.stats.question import Question
from kernsmith.stats.study import judge
from kernsmith.stats.verdict import Verdict

BASELINE = [100.0, 104.0, 98.0, 101.0, 103.0, 99.0, 102.0, 97.0]
TREATED = [90.0, 93.1, 88.5, 90.2, 93.0, 88.8, 91.9, 87.6]


def verdict(
    old: list[float], new: list[float], metric: str, others: int = 0, looked_at: bool = False
) -> Verdict:
    """Of one workload; with `others` further metrics in the primary family, of which none moves."""
    metrics = (metric, *(f"other_{number}" for number in range(others)))
    rows = [
        Observation(variant, f"random:{layout}", "pipe", "", 0, layout, name, value)
        for name in metrics
        for variant, values in (("old", old), ("new", new if name == metric else old))
        for layout, value in enumerate(values)
    ]
    asked = Question(("old", "new"), ("pipe",), metrics, frozenset(metrics), looked_at=looked_at)
    return judge(rows, asked).verdicts[0]


@pytest.mark.parametrize(
    ("old", "new", "metric", "text"),
    [
        (
            BASELINE,
            TREATED,
            "model_cycles",
            "faster by 10.1 % (95 % CI 9.7 … 10.4 %), p = 3.4e-11, n = 8 layouts",
        ),
        (
            TREATED,
            BASELINE,
            "l1i_misses",
            "11.2 % more l1i_misses (95 % CI 10.8 … 11.6 %), p = 3.4e-11, n = 8 layouts",
        ),
        (
            TREATED,
            BASELINE,
            "kernel_instructions",
            "11.2 % more kernel_instructions (95 % CI 10.8 … 11.6 %), p = 3.4e-11, n = 8 layouts",
        ),
        (
            BASELINE,
            TREATED,
            "latency_ns",
            "faster by 10.1 % (95 % CI 9.7 … 10.4 %), p = 3.4e-11, n = 8 layouts",
        ),
        (
            [1.0, 1.1, 1.2],
            [1.1, 1.0, 1.2],
            "seconds",
            "no significant difference (95 % CI -21.1 … +26.7 %), p = 1, n = 3 layouts",
        ),
    ],
)
def test_sentences(old: list[float], new: list[float], metric: str, text: str) -> None:
    assert verdict_sentence(verdict(old, new, metric)) == text


def test_one_layout_says_nothing_about_others() -> None:
    assert verdict_sentence(verdict([100.0], [90.0], "seconds")) == (
        "faster by 10.0 % in one layout; one layout says nothing about others"
    )


def test_one_boot_says_nothing_about_others() -> None:
    assert verdict_sentence(verdict([100.0], [90.0], "seconds"), sample="boots") == (
        "faster by 10.0 % in one boot; one boot says nothing about others"
    )


def test_of_throughput_there_is_more_or_less_whatever_it_is_called() -> None:
    """`uptime` ends like a time, but more of it is better: it is not "slower"."""
    more = verdict(TREATED, BASELINE, "throughput")
    assert verdict_sentence(more, "higher") == (
        "11.2 % more throughput (95 % CI 10.8 … 11.6 %), p = 3.4e-11, n = 8 layouts"
    )
    less = verdict(BASELINE, TREATED, "uptime")
    assert verdict_sentence(less, "higher") == (
        "10.1 % less uptime (95 % CI 9.7 … 10.4 %), p = 3.4e-11, n = 8 layouts"
    )


def test_what_many_tests_take_away_is_told() -> None:
    """By itself significant at 5 %, among six tests not."""
    new = [99.0, 103.5, 97.0, 101.2, 101.0, 98.8, 101.9, 96.5]
    alone, among = (verdict(BASELINE, new, "seconds", others) for others in (0, 5))
    assert verdict_sentence(alone) == (
        "faster by 0.6 % (95 % CI 0.1 … 1.2 %), p = 0.033, n = 8 layouts"
    )
    assert verdict_sentence(among) == (
        "no significant difference among 6 tests (by itself 95 % CI -1.2 … -0.1 %), "
        "p = 0.033 (0.2 among 6 tests), n = 8 layouts"
    )
    assert among.effect == alone.effect


def test_an_interval_that_may_be_looked_at_says_so() -> None:
    found = verdict(BASELINE, TREATED, "seconds", looked_at=True)
    assert "95 % always-valid CI" in verdict_sentence(found)
    few = verdict(BASELINE[:2], TREATED[:2], "seconds", looked_at=True)
    assert "no significant difference (the interval has no bounds yet)" in verdict_sentence(few)
