# SPDX-License-Identifier: GPL-2.0-or-later
"""The search by a metric that layouts change: a mixed kernel is measured once, in all of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_shares import KnownCosts

from kernsmith.document import BlameDocument
from kernsmith.engine import Silent
from kernsmith.engine.blame import Blame, blame_key
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.errors import Interrupted
from kernsmith.kernel.exchange import Exchange, Unit
from made_pair import NAMES, Counting, MadePair, made_pair

OBJECT = NAMES[7]
FUNCTIONS = {f"{OBJECT}:f03": -1.5, f"{OBJECT}:f11": -0.3, f"{OBJECT}:f12": -0.2}
COSTS = {OBJECT: -2.0, NAMES[40]: 0.1, **FUNCTIONS}


@pytest.fixture
def pair(tmp_path: Path) -> MadePair:
    pair = made_pair(tmp_path)
    pair.exchanges[OBJECT] = Exchange(tuple(Unit((f"f{n:02}",)) for n in range(20)), {})
    return pair


def by_replay(measures: KnownCosts) -> ChangesMetric:
    machine, workloads = Counting({}), measures.workloads
    return ChangesMetric(machine, workloads, measures.metric, "pipe", 4, 16, 1, measures)


def search(pair: MadePair, measures: KnownCosts, folder: Path) -> BlameDocument:
    return Blame(pair, by_replay(measures), folder / "state", Silent(), slots=2).run()


def test_the_function_that_brings_most_is_found(pair: MadePair, tmp_path: Path) -> None:
    measures = KnownCosts(COSTS)
    found = search(pair, measures, tmp_path)
    (blamed,) = found.blamed
    assert (blamed.object, [each.functions for each in blamed.narrowed]) == (OBJECT, [("f03",)])
    assert found.limit == pytest.approx(-0.95, abs=0.05)
    assert len(measures.measured) == len(set(measures.measured)) == len(found.tests)
    changes = [test for test in found.tests if test.taken]
    assert all(test.layouts == measures.layouts for test in changes)
    assert all(test.verdict != "unresolved" for test in changes)


def test_what_is_too_close_to_half_is_no_answer(pair: MadePair, tmp_path: Path) -> None:
    """Two functions bring half each: neither alone is more than that, and both are named."""
    equal = {OBJECT: -2.0, f"{OBJECT}:f03": -1.0, f"{OBJECT}:f11": -1.0}
    found = search(pair, KnownCosts(equal, luck=0.2), tmp_path)
    (blamed,) = found.blamed
    assert [each.functions for each in blamed.narrowed] == [("f03",), ("f11",)]
    assert "too close to -1.0" in " ".join(test.reason for test in found.tests)


def test_what_was_measured_before_a_kill_is_not_measured_again(
    pair: MadePair, tmp_path: Path
) -> None:
    stopped = KnownCosts(COSTS, stops_after=7)
    with pytest.raises(Interrupted):
        search(pair, stopped, tmp_path)
    measures = KnownCosts(COSTS)
    assert [view.object for view in search(pair, measures, tmp_path).blamed] == [OBJECT]
    assert not set(measures.measured) & set(stopped.measured)


def test_a_kernel_that_does_not_run_has_no_figures(pair: MadePair, tmp_path: Path) -> None:
    measures = KnownCosts({**COSTS, NAMES[40]: 0.0}, broken=frozenset({OBJECT}))
    found = search(pair, measures, tmp_path)
    assert {view.object for view in found.blamed} > {OBJECT}
    assert "pipe: panic: it died" in {test.reason for test in found.tests}


def test_searches_by_replay_and_by_boots_are_two(pair: MadePair) -> None:
    replays = by_replay(KnownCosts(COSTS))
    boots = replace(replays, replays=None)
    assert blame_key(pair, replays) != blame_key(pair, boots)
