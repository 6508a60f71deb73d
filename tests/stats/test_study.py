# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs of variants in layouts to effects, components of variance and needs."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from kernsmith.stats.components import needed, variance_components
from kernsmith.stats.effect import effect_of
from kernsmith.stats.observations import Observation
from kernsmith.stats.question import OVERALL, Question
from kernsmith.stats.study import MetricAnalysis, analyse

RATIO = 0.97


def rows(
    layouts: int = 8,
    boots: int = 2,
    workloads: tuple[str, ...] = ("pipe", "fork"),
    own: bool = False,
) -> Iterator[Observation]:
    """Two variants in ``layouts`` random layouts and the default one; seeds are shared unless
    ``own``."""
    random = np.random.default_rng(1)
    shared = random.normal(0, 0.01, (len(workloads), layouts + 1))
    block = 0
    for layout in range(layouts + 1):
        for boot in range(boots):
            for variant, ratio in (("base", 1.0), ("afdo", RATIO)):
                for index, workload in enumerate(workloads):
                    value = 1e6 * ratio * exp(shared[index, layout] + random.normal(0, 0.001))
                    seed = f"random:{variant if own else ''}{layout}"
                    name = seed if layout else "default"
                    boot_name = f"{variant}{layout}{workload}{boot}"
                    yield Observation(variant, name, workload, boot_name, 0, block, "cycles", value)
            block += 1


ASKED = Question(("base", "afdo"), ("pipe", "fork"), ("cycles",), frozenset({"cycles"}))


def analysed(**how: object) -> MetricAnalysis:
    return analyse(list(rows(**how)), ASKED)[0]  # type: ignore[arg-type]


def test_every_workload_and_all_of_them() -> None:
    found = analysed()
    assert found.baseline == "base"
    assert [each.workload for each in found.verdicts] == [OVERALL, "pipe", "fork"]
    for each in found.verdicts:
        assert each.effect.paired
        assert each.effect.n == 8
        assert each.effect.ratio == pytest.approx(RATIO, abs=0.001)
        assert each.significant


def test_effects_are_those_of_the_layout_means() -> None:
    overall, pipe, fork = analysed(boots=1).verdicts
    for each in (overall, pipe, fork):
        sides = np.array(each.baseline), np.array(each.treated)
        assert each.effect == effect_of(*sides, paired=True)
    assert overall.baseline == pytest.approx(np.mean([pipe.baseline, fork.baseline], axis=0))


def test_layouts_of_their_own_are_compared_as_independent() -> None:
    found = analysed(own=True)
    assert not found.verdicts[0].effect.paired
    assert found.sequential == ()


def test_the_default_layout_alone_is_better_than_nothing() -> None:
    found = analysed(layouts=0, boots=1)
    assert found.verdicts[0].effect.n == 1
    assert found.verdicts[0].effect.ci is None
    assert not found.verdicts[0].significant


def test_where_the_variance_comes_from() -> None:
    pipe = analysed().components[0]
    assert [part.name for part in pipe.components] == ["layout", "boot + run"]
    assert pipe.components[0].share > 0.9
    assert pipe.components[0].df == 14


def test_always_valid_intervals_are_wider() -> None:
    found = analysed()
    (variant, look), overall = found.sequential[0], found.verdicts[0].effect
    assert variant == "afdo"
    assert overall.ci is not None
    assert exp(look.low) < overall.ci[0] < overall.ci[1] < exp(look.high)


def test_a_variant_without_runs_of_a_workload_is_named() -> None:
    """And without it there is no whole mix."""
    some = [row for row in rows() if (row.variant, row.workload) != ("afdo", "fork")]
    (found,) = analyse(some, ASKED)
    assert found.missing == ("fork",)
    assert [each.workload for each in found.verdicts] == ["pipe"]


def test_a_failed_run_costs_its_layout_in_the_overall_effect_only() -> None:
    some = [
        row
        for row in rows()
        if (row.variant, row.workload, row.layout) != ("afdo", "fork", "random:3")
    ]
    overall, pipe, fork = analyse(some, ASKED)[0].verdicts
    assert (pipe.effect.n, fork.effect.n, overall.effect.n) == (8, 7, 7)


def test_a_metric_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(ValueError, match="no finished run has the metric 'misses'"):
        analyse(list(rows()), replace(ASKED, metrics=("cycles", "misses")))


def test_components_of_a_balanced_design_by_hand() -> None:
    """Two layouts of two boots of two runs: mean squares 4, 1 and 0.5 by construction."""
    values, layout, boot = [], [], []
    for a, i in ((1.0, 0), (-1.0, 1)):
        for b, j in ((0.5, 0), (-0.5, 1)):
            for c in (0.5, -0.5):
                values.append(exp(a + b + c))
                layout.append(i)
                boot.append(j)
    parts = {part.name: part for part in variance_components(values, ["v"] * 8, layout, boot)}
    assert parts["run"].variance == pytest.approx(0.5)
    assert parts["boot"].variance == pytest.approx((1.0 - 0.5) / 2)
    assert parts["layout"].variance == pytest.approx((8.0 - 1.0) / 4)
    assert sum(part.share for part in parts.values()) == pytest.approx(1.0)


def test_levels_without_replication_are_joined_and_named() -> None:
    parts = variance_components([1.0, 2.0, 3.0, 4.0], list("aabb"), [0, 1, 0, 1], [0, 0, 0, 0])
    assert [part.name for part in parts] == ["layout + boot + run"]
    assert variance_components([1.0, 2.0], ["a", "b"], [0, 0], [0, 0]) == ()


def test_how_many_more_layouts_or_runs() -> None:
    layouts_only = variance_components(
        [exp(x) for x in (0.01, 0.01, -0.01, -0.01)], ["v"] * 4, [0, 0, 1, 1], [0, 1, 0, 1]
    )
    need = needed(layouts_only, (2, 2, 1), 1.0, 0.8)
    assert need.runs is None  # no number of runs helps against layouts
    assert need.layouts is not None
    again = needed(layouts_only, (need.layouts, 2, 1), 1.0, 0.8)
    assert again.runs == 1
    assert needed(layouts_only, (need.layouts - 1, 2, 1), 1.0, 0.8).runs is None
    smaller = needed(layouts_only, (2, 2, 1), 0.5, 0.8).layouts
    assert smaller == pytest.approx(need.layouts * (log(1.01) / log(1.005)) ** 2, rel=0.05)
