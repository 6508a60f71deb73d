# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units a comparison has, and what its interval is of."""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from kernsmith.stats.nested import Timing, nested_effect, pair_units


def timings(variant: str, times: dict[str, dict[str, list[float]]]) -> list[Timing]:
    """From times by layout and boot; positions in that order."""
    found = []
    for layout, boots in times.items():
        for boot, values in boots.items():
            for run, value in enumerate(values):
                found.append(Timing(variant, layout, boot, str(run), value, len(found)))
    return found


OLD = timings("old", {"x": {"1": [1.0, 1.1], "2": [1.2]}, "y": {"3": [1.3, 1.0]}})


def test_layouts_are_the_unit_where_both_sides_have_several() -> None:
    new = timings("new", {"p": {"7": [1.0]}, "q": {"8": [2.0, 2.0]}, "r": {"9": [3.0]}})
    units = pair_units(OLD, new)
    assert (units.level, units.fixed, units.paired) == ("layout", (), False)
    assert units.new.tolist() == pytest.approx([0.0, log(2), log(3)])
    of_x = ((log(1.0) + log(1.1)) / 2 + log(1.2)) / 2
    assert units.old[0] == pytest.approx(of_x), "a boot with more runs does not weigh more"


def test_layouts_of_one_name_are_paired() -> None:
    new = timings("new", {"y": {"8": [1.0]}, "z": {"9": [1.0]}, "x": {"7": [1.0]}})
    units = pair_units(OLD, new)
    assert units.paired
    assert units.log_ratios == pytest.approx((-units.old).tolist())


def test_one_layout_each_leaves_boots_and_says_so() -> None:
    old = timings("old", {"default": {"1": [1.0, 1.2], "2": [1.1]}})
    new = timings("new", {"default": {"3": [1.0], "4": [1.3], "5": [1.2]}})
    units = pair_units(old, new)
    assert (units.level, units.fixed, units.paired) == ("boot", ("layout",), False)
    assert (len(units.old), len(units.new)) == (2, 3)


def test_commands_in_one_boot_are_paired_by_their_rounds() -> None:
    old = timings("old", {"k": {"b": [1.0, 2.0, 4.0]}})
    new = timings("new", {"k": {"b": [1.1, 2.2, 4.4]}})
    found = nested_effect([*old, *new], "old", "new")
    assert (found.units.level, found.units.fixed) == ("run", ("layout", "boot"))
    assert found.effect.ratio == pytest.approx(1.1)
    assert found.effect.ci == pytest.approx((1.1, 1.1))


def test_one_run_each_is_a_ratio_without_an_interval() -> None:
    found = nested_effect(
        [Timing("old", "k", "b", "0", 2.0, 0), Timing("new", "k", "b", "1", 1.0, 1)], "old", "new"
    )
    assert found.effect.ratio == pytest.approx(0.5)
    assert (found.effect.ci, found.robust, found.units.level) == (None, None, None)


def test_the_interval_is_students_over_the_units() -> None:
    random = np.random.default_rng(1)
    rows = [
        Timing(name, layout, f"{name}{layout}{boot}", str(run), exp(random.normal(0, 0.1)), run)
        for name in ("old", "new")
        for layout in "abcde"
        for boot in range(2)
        for run in range(3)
    ]
    logs = {
        name: np.log([row.value for row in rows if row.variant == name]).reshape(5, 6).mean(axis=1)
        for name in ("old", "new")
    }
    expected = stats.ttest_rel(logs["new"], logs["old"])
    found = nested_effect(rows, "old", "new").effect
    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert found.ci == pytest.approx((exp(low), exp(high)))


def test_a_study_that_was_looked_at_has_an_always_valid_interval() -> None:
    new = timings("new", {"x": {"7": [0.9]}, "y": {"8": [1.0]}})
    assert nested_effect([*OLD, *new], "old", "new", looked_at=True).effect.always_valid


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_times_are_positive(value: float) -> None:
    rows = [Timing("old", "k", "b", "0", value, 0), Timing("new", "k", "b", "1", 1.0, 1)]
    with pytest.raises(ValueError, match="positive"):
        nested_effect(rows, "old", "new")


def test_a_side_without_runs() -> None:
    with pytest.raises(ValueError, match="at least one"):
        nested_effect(OLD, "old", "new")
