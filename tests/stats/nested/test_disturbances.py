# SPDX-License-Identifier: GPL-2.0-or-later
"""Drift and outliers of a nested design."""

from math import exp

import numpy as np

from kernsmith.stats.nested import Timing, drifts, outliers

LAYOUTS, BOOTS, RUNS = 6, 4, 8


def study(seed: int, run_drift: float = 0.0, study_drift: float = 0.0) -> list[Timing]:
    """One variant, boot after boot. The drifts are of logarithms, from the first to the last."""
    random = np.random.default_rng(seed)
    found: list[Timing] = []
    total = LAYOUTS * BOOTS * RUNS
    layouts = random.normal(0, 0.01, LAYOUTS)
    for boot in range(BOOTS):
        for layout in range(LAYOUTS):
            of_boot = random.normal(0, 0.002)
            for run in range(RUNS):
                place = len(found)
                log = layouts[layout] + of_boot + random.normal(0, 0.003)
                log += run_drift * run / (RUNS - 1) + study_drift * place / (total - 1)
                name = f"{layout}-{boot}"
                found.append(Timing("v", str(layout), name, str(run), exp(log), place))
    return found


def test_runs_that_warm_up_within_boots() -> None:
    (found,) = drifts(study(1, run_drift=-0.02))
    assert (found.variant, found.within) == ("v", "boots")
    assert -2.3 < found.percent < -1.6


def test_a_machine_that_gets_slower_over_the_study() -> None:
    found = {drift.within: drift for drift in drifts(study(2, study_drift=0.02))}
    assert 1.4 < found["study"].percent < 2.4


def test_without_a_drift_there_is_none_in_most_studies() -> None:
    """In 5 % of studies at most there is one by chance; of 100, 12 would be far more."""
    wrong = sum(bool(drifts(study(seed))) for seed in range(100, 200))
    assert 1 <= wrong <= 12


def test_too_few_runs_to_see_a_drift() -> None:
    assert drifts([Timing("v", "l", "b", str(i), 1.0 + i, i) for i in range(4)]) == ()


def test_outliers_of_every_level_are_named() -> None:
    rows = study(3)
    changed = [
        Timing(
            row.variant, row.layout, row.boot, row.run,
            row.value
            * (1.2 if row.layout == "2" else 1)
            * (1.1 if row.boot == "1-3" else 1)
            * (1.5 if (row.boot, row.run) == ("0-0", "4") else 1),
            row.position,
        )
        for row in rows
    ]  # fmt: skip
    found = {(each.level, each.key): each.percent for each in outliers(changed)}
    assert ("layout", ("2",)) in found
    assert ("boot", ("1", "1-3")) in found
    assert found["run", ("0", "0-0", "4")] > 40
    assert len(found) == 3


def test_clean_runs_have_no_outliers() -> None:
    assert outliers(study(4)) == ()
