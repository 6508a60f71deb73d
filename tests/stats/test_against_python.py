# SPDX-License-Identifier: GPL-2.0-or-later
"""A second pair of eyes: the same figures from pingouin and statsmodels, where they have them."""

import numpy as np
import pandas as pd
import pytest
from march import MACHINES, march

from kernsmith.stats.anova import one_way, welch
from kernsmith.stats.pairwise import compare_all


@pytest.fixture(params=MACHINES)
def frame(request: pytest.FixtureRequest) -> tuple[str, pd.DataFrame]:
    samples = march(request.param).samples
    rows = [(sample.name, value) for sample in samples for value in sample.values]
    return request.param, pd.DataFrame(rows, columns=["group", "value"])


def test_pingouin(frame: tuple[str, pd.DataFrame]) -> None:
    pingouin = pytest.importorskip("pingouin", reason="pingouin is not installed")
    machine, data = frame
    groups = march(machine).summaries
    table = pingouin.welch_anova(data=data, dv="value", between="group")
    assert welch(groups).statistic == pytest.approx(table["F"].iloc[0], rel=1e-9)
    found = {frozenset((p.a, p.b)): p for p in compare_all(groups, "Games-Howell", 0.05)}
    for row in pingouin.pairwise_gameshowell(data=data, dv="value", between="group").itertuples():
        pair = found[frozenset((row.A, row.B))]
        assert pair.df == pytest.approx(row.df, rel=1e-9)
        assert pair.q == pytest.approx(abs(row.T) * np.sqrt(2), rel=1e-9)
        assert pair.p == pytest.approx(row.pval, abs=1e-9)


def test_statsmodels(frame: tuple[str, pd.DataFrame]) -> None:
    anova = pytest.importorskip("statsmodels.stats.anova", reason="statsmodels is not installed")
    formula = pytest.importorskip("statsmodels.formula.api")
    multicomp = pytest.importorskip("statsmodels.stats.multicomp")
    machine, data = frame
    table = anova.anova_lm(formula.ols("value ~ group", data).fit())
    found = one_way(march(machine).summaries)
    assert found is not None
    assert found.f == pytest.approx(table["F"].iloc[0], rel=1e-7)
    tukey = multicomp.pairwise_tukeyhsd(data["value"], data["group"])
    widths = {
        frozenset(map(str, (tukey.groupsunique[i], tukey.groupsunique[j]))): interval
        for (i, j), interval in zip(
            zip(*np.triu_indices(3, 1), strict=True), tukey.confint, strict=True
        )
    }
    for pair in compare_all(march(machine).summaries, "Tukey-Kramer", 0.05):
        low, high = widths[frozenset((pair.a, pair.b))]
        assert pair.high - pair.low == pytest.approx(high - low, rel=1e-5)
