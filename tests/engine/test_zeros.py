# SPDX-License-Identifier: GPL-2.0-or-later
"""One zero in a study: effect, look, factors and default ratio speak of the same figures."""

from dataclasses import replace
from math import exp

import pytest
from test_verdicts import OPTIMIZE, judged

from kernsmith.engine.verdicts import overall_log_ratios
from kernsmith.study import Design, Study, Trial

TWO_FACTORS = Study(
    source="x",
    config="lab",
    factors=(("optimisation", ("O2", "O3")), ("march", ("default", "x86-64-v3"))),
)


def misses(trial: Trial) -> float:
    """The workload `fork` never misses in the baseline and once in what is compared with it."""
    changed = bool(trial.variant.steps) or "O3" in dict(trial.variant.levels).values()
    if trial.workload == "fork":
        return 1.0 if changed else 0.0
    return 1000.0


def test_effect_look_and_default_ratio() -> None:
    result = judged(OPTIMIZE, misses)
    verdict = result.verdict("profile=autofdo", "overall", "model_cycles")
    assert verdict is not None
    assert verdict.effect.half_added
    assert verdict.effect.ratio == pytest.approx(3 ** (1 / 3), rel=1e-14)
    assert verdict.default_ratio == verdict.effect.ratio
    ratios = overall_log_ratios(result.prepared, result.measured, "profile=autofdo")
    assert {exp(ratio) for ratio in ratios} == {verdict.effect.ratio}
    fork = result.verdict("profile=autofdo", "fork", "model_cycles")
    assert fork is not None
    assert fork.default_ratio == fork.effect.ratio
    assert (fork.default_baseline, fork.default_treated) == (0.0, 1.0)


def test_factors() -> None:
    result = judged(TWO_FACTORS, misses)
    verdict = result.verdict("optimisation=O3 march=default", "overall", "model_cycles")
    found = result.factors[0]
    (level,) = [each for each in found.levels if each.level == "O3"]
    assert verdict is not None
    assert level.effect.ratio == verdict.effect.ratio
    assert level.effect.half_added


def test_a_zero_of_a_third_variant_changes_all_alike() -> None:
    """Ratios of one study multiply: C against A is C against B times B against A."""
    study = replace(OPTIMIZE, factors=(("optimisation", ("O2", "O3", "Os")),))
    misses_of = {"O2": 2.0, "O3": 8.0, "Os": 0.0}
    result = judged(study, lambda trial: misses_of[trial.variant.levels[0][1]])
    ratios = {
        name: verdict.effect.ratio
        for name in ("O3", "Os")
        if (verdict := result.verdict(f"optimisation={name}", "overall", "model_cycles"))
    }
    assert ratios["O3"] == pytest.approx(8.5 / 2.5, rel=1e-14)
    assert ratios["Os"] == pytest.approx(0.5 / 2.5, rel=1e-14)


def test_a_zero_among_replicates() -> None:
    """Replicates are averaged on logarithms, too, and not once so and once so."""
    study = replace(OPTIMIZE, design=Design(layouts=4, replicates=2))

    def figure(trial: Trial) -> float:
        return float(trial.replicate) * (3.0 if trial.variant.steps else 1.0)

    verdict = judged(study, figure).verdict("profile=autofdo", "overall", "model_cycles")
    assert verdict is not None
    assert verdict.effect.ratio == pytest.approx((3.5 / 1.5) ** 0.5, rel=1e-14)
    assert verdict.default_ratio == verdict.effect.ratio
