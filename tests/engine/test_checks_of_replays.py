# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays held against boots: how much of what lies between them may be the luck of a boot."""

from math import exp, log, sqrt

import pytest
import scipy

from kernsmith.engine.checks import LIMIT, Check, Replicated, find_checks
from kernsmith.ledger import RunRow, now
from kernsmith.study import Layout, Trial, Variant
from kernsmith.study.layout import read_layout

INSTRUCTIONS = 1e6
WORKLOADS = ("pipe", "fork")
OF_BOOTS = (0.0, 0.004, -0.004)  # log cycles for each instruction, of one boot after the other
ALONE = 0.002  # the standard deviation of their means with a workload that all boots do alike


def run(cycles: float, instructions: float = INSTRUCTIONS) -> RunRow:
    metrics = {
        "model_cycles": (cycles, "cycles"),
        "kernel_instructions": (instructions, "instructions"),
    }
    return RunRow("t", 1, "ok", "", "", now(), 1.0, metrics)


def trial(variant: str, number: int, workload: str, boots: int) -> Trial:
    layout = read_layout(f"random:1.{number}") if number else Layout()
    return Trial(
        Variant("", "", label=variant, given_name=variant), layout, workload, "tcg", "zen4",
        0, number, 0, number, number % boots,
    )  # fmt: skip


def checks(
    error: float, *, boots: int = 3, variants: str = "ab", traced: bool = True
) -> tuple[Check, ...]:
    """Of six layouts: the boots that check lie `error` per cent below the replays in `pipe`."""
    pairs = []
    for variant in variants:
        for number in range(1, 7):
            for workload in WORKLOADS:
                each = OF_BOOTS[number % boots] if workload == "pipe" else 0.0
                own = trial(variant, number, workload, boots)
                of_boot = run(1e6 * exp(each))
                below = exp(-error / 100) if workload == "pipe" else 1.0
                booted = run(1e6 * exp(each) * below) if number <= 2 else None
                pairs.append(
                    Replicated(own, run(1e6 * exp(each)), booted, of_boot if traced else None)
                )
    return find_checks(pairs)


def test_boots_say_how_far_two_of_them_are_apart() -> None:
    found = checks(0.0)
    assert [check.layout for check in found] == ["random:1.1", "random:1.2"] * 2
    # Two variants, three boots each: four degrees of freedom; a mean over two workloads.
    expected = 100 * float(scipy.stats.t.isf(0.025, 4)) * sqrt(2) * ALONE
    assert [check.luck for check in found] == [pytest.approx(expected)] * 4
    assert found[0].limit == pytest.approx(LIMIT + expected)


def test_what_may_be_luck_is_no_error_and_what_is_more_is_one() -> None:
    limit = checks(0.0)[0].limit
    assert all(check.holds for check in checks(2 * (limit - 0.05)))
    wrong = checks(2 * (limit + 0.05))
    assert not any(check.holds for check in wrong)
    luck = wrong[0].luck
    assert (
        f"more than the {limit:.2f} % that it may be, {luck:.2f} of them by the luck of a boot"
        in (wrong[0].sentence)
    )


def test_of_one_boot_nobody_knows_and_the_limit_is_what_it_was() -> None:
    for found in (checks(2 * 0.51, boots=1), checks(2 * 0.51, traced=False)):
        assert {check.luck for check in found} == {0.0}
        assert not any(check.holds for check in found)
        assert "and more than 0.5 %;" in found[0].sentence
    assert all(check.holds for check in checks(2 * 0.49, boots=1))


def test_a_boot_that_lacks_a_workload_says_nothing() -> None:
    pairs = [
        Replicated(trial("a", n, w, 3), run(1e6), run(1e6), run(1e6 * (1 + n)))
        for n in (1, 2)
        for w in WORKLOADS
    ]
    pairs.append(Replicated(trial("a", 3, "pipe", 3), run(1e6), None, run(9e9)))
    check = find_checks(pairs)[0]
    apart = abs(log(3) - log(2)) / sqrt(2)
    assert check.luck == pytest.approx(100 * 12.706 * sqrt(2) * apart, rel=1e-4)
