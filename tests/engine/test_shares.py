# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects bring most of a difference, over kernels of names whose costs are known."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import log, log1p
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any

import pytest

from kernsmith.document.shares import SharesDocument
from kernsmith.document.text import as_json, read_document
from kernsmith.engine import Silent
from kernsmith.engine.mix_replay import Measured
from kernsmith.engine.shares import Shares, share_out
from kernsmith.errors import Interrupted, KernsmithError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.mixed import Pair
from kernsmith.report.shares.page import shares_markdown, shares_page
from kernsmith.report.shares.words import verdict_sentence
from made_pair import NAMES, MadePair, made_pair

ONE_EACH = 1.0
"""What each object costs in the good kernel."""


@dataclass
class KnownCosts:
    """Each object of the bad kernel costs so many per cent of the good kernel more.

    expected: what traces show, where that is something else than what is true. luck: standard
        deviation of a layout's own part in per cent. broken: with these nothing runs.
    """

    costs: Mapping[str, float]
    expected: Mapping[str, float] = field(default_factory=dict)
    luck: float = 0.02
    broken: frozenset[str] = frozenset()
    workloads: tuple[Workload, ...] = (Workload("pipe", ("lab",), "", 1, 1, ()),)
    metric: str = "model_cycles"
    layouts: int = 16
    measured: list[frozenset[str]] = field(default_factory=list)
    stops_after: int = 1000
    lock: Lock = field(default_factory=Lock)

    def identity(self) -> Any:
        return "known"

    def measure(
        self, pair: Pair, taken: Collection[str], folder: Path, *, by_object: bool
    ) -> Measured:
        with self.lock:
            if len(self.measured) >= self.stops_after:
                raise Interrupted
            self.measured.append(frozenset(taken))
        if self.broken & set(taken) and len(taken) == 1:
            return Measured(failure="pipe: panic: it died")
        drawn = Random(",".join(sorted(taken)))
        shift = sum(log1p(self.costs.get(name, 0.0) / 100) for name in taken)
        logs = tuple(
            log(1e9) + number / 1000 + shift + drawn.gauss(0, self.luck / 100)
            for number in range(self.layouts)
        )
        return Measured(logs, (self._by_object(frozenset(taken)),) if by_object else ())

    def _by_object(self, taken: frozenset[str]) -> dict[str, dict[str, float]]:
        shown = {**self.costs, **self.expected}
        unit = ONE_EACH * len(NAMES) / 100
        return {
            name: {"f": ONE_EACH + unit * (shown.get(name, 0.0) if name in taken else 0.0)}
            for name in NAMES
        }


GAIN = {NAMES[3]: -1.0, NAMES[50]: -0.5, NAMES[71]: -0.3, NAMES[20]: 0.4}


@pytest.fixture
def pair(tmp_path: Path) -> MadePair:
    return made_pair(tmp_path)


def found(pair: MadePair, measures: KnownCosts, folder: Path, top: int = 3) -> SharesDocument:
    return Shares(pair, measures, top, folder / "state", Silent(), "skylake", slots=2).run()


def test_the_objects_that_bring_a_gain_are_found_with_their_shares(
    pair: MadePair, tmp_path: Path
) -> None:
    result = found(pair, KnownCosts(GAIN), tmp_path)
    assert [view.object for view in result.top] == [NAMES[3], NAMES[50], NAMES[71]]
    for view in (*result.top, *result.others):
        assert view.change is not None
        assert view.low is not None
        assert view.high is not None
        assert view.low <= GAIN.get(view.object, 0.0) <= view.high
    assert result.others[0].object == NAMES[20], "what goes the other way is shown, too"
    assert result.whole is not None
    assert result.together is not None
    assert result.whole.change == pytest.approx(sum(GAIN.values()), abs=0.03)
    assert result.share == pytest.approx(100 * 1.8 / 1.4, rel=0.03)
    assert result.ran == result.suspects == len(NAMES)


def test_what_traces_expect_wrongly_is_put_right_by_measuring(
    pair: MadePair, tmp_path: Path
) -> None:
    measures = KnownCosts(GAIN, expected={NAMES[9]: -3.0, NAMES[71]: -0.05})
    result = found(pair, measures, tmp_path)
    assert [view.object for view in result.top] == [NAMES[3], NAMES[50], NAMES[71]]
    (luck,) = (view for view in result.others if view.object == NAMES[9])
    assert (luck.significant, luck.expected) == (False, pytest.approx(-3.0))


def test_a_loss_is_shared_out_as_well(pair: MadePair, tmp_path: Path) -> None:
    result = found(pair, KnownCosts({n: -c for n, c in GAIN.items()}), tmp_path, top=1)
    assert [view.object for view in result.top] == [NAMES[3]]
    assert "1 of 100 objects that differ brings" in verdict_sentence(result)


def test_single_objects_are_corrected_for_many_questions(pair: MadePair, tmp_path: Path) -> None:
    """Of objects that bring nothing hardly ever one is called significant."""
    expected = {name: 0.1 + number / 1000 for number, name in enumerate(NAMES)}
    wrong = 0
    for number in range(40):
        costs = {NAMES[0]: -2.0, f"seed{number}": 0.0}
        measures = KnownCosts(costs, expected=expected, luck=0.02 + number / 10000)
        result = found(pair, measures, tmp_path / str(number), top=10)
        views = (*result.top, *result.others)
        wrong += any(view.significant for view in views if view.object != NAMES[0])
        assert len(views) == 20
    assert wrong <= 6, "5 % of 40, and three standard deviations"


def test_luck_alone_is_not_shared_out(pair: MadePair, tmp_path: Path) -> None:
    measures = KnownCosts({}, expected={NAMES[4]: 0.5})
    result = found(pair, measures, tmp_path)
    assert (result.top, result.others, result.together) == ((), (), None)
    assert verdict_sentence(result).startswith("There is no difference to share out")
    assert len(measures.measured) == 2


def test_after_a_kill_nothing_is_measured_twice(pair: MadePair, tmp_path: Path) -> None:
    first = KnownCosts(GAIN, stops_after=5)
    with pytest.raises(Interrupted):
        found(pair, first, tmp_path)
    second = KnownCosts(GAIN)
    result = found(pair, second, tmp_path)
    done = [*first.measured, *second.measured]
    assert len(done) == len(set(done)) == 2 + 4 + 1
    assert [view.object for view in result.top] == [NAMES[3], NAMES[50], NAMES[71]]


def test_an_object_that_does_not_run_alone_is_told(pair: MadePair, tmp_path: Path) -> None:
    result = found(pair, KnownCosts(GAIN, broken=frozenset({NAMES[50]})), tmp_path)
    (view,) = (view for view in result.others if view.object == NAMES[50])
    assert (view.change, view.failure) == (None, "pipe: panic: it died")
    assert NAMES[50] not in [each.object for each in result.top]
    assert "it died" in shares_markdown(result)


def test_a_bad_kernel_that_does_not_run_is_told(pair: MadePair, tmp_path: Path) -> None:
    class Dies(KnownCosts):
        def measure(
            self, pair: Pair, taken: Collection[str], folder: Path, *, by_object: bool
        ) -> Measured:
            if taken:
                return Measured(failure="pipe: panic: it died")
            return super().measure(pair, taken, folder, by_object=by_object)

    with pytest.raises(KernsmithError, match="the bad kernel cannot be measured: pipe: panic"):
        found(pair, Dies(GAIN), tmp_path)


def test_shares_are_of_all_that_the_good_kernel_costs() -> None:
    good = [{"a.o": {"f": 60.0, "g": 20.0}, "b.o": {"h": 20.0}}, {"a.o": {"f": 10.0}}]
    bad = [{"a.o": {"f": 50.0, "g": 20.0}, "c.o": {"h": 21.0}}, {"a.o": {"f": 10.0}}]
    assert share_out(good, bad) == {
        "a.o": {"f": -5.0, "g": 0.0}, "b.o": {"h": -10.0}, "c.o": {"h": 10.5}
    }  # fmt: skip


def test_results_are_shown_and_read_again(pair: MadePair, tmp_path: Path) -> None:
    result = found(pair, KnownCosts(GAIN), tmp_path)
    path = tmp_path / "shares.json"
    path.write_text(as_json(result))
    assert read_document(path) == result
    for show in (shares_page, shares_markdown):
        assert NAMES[71] in show(result)
        assert f"3 of 100 objects that differ bring {result.share:.0f} %" in show(result)
