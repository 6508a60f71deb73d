# SPDX-License-Identifier: GPL-2.0-or-later
"""What orders cost is the same whoever replays, however many orders there are."""

import os
from pathlib import Path

import pytest

from cpu_models import PENALTIES
from elsewhere import Elsewhere
from kernsmith import paths
from kernsmith.engine.replay import Replay, Replays, Traced, every_of, open_traced, replay
from kernsmith.engine.workers import LocalWorkers, Progress, Work, pack, unpack
from kernsmith.errors import UserError
from kernsmith.layout import Arrangement, Evaluator, random_order
from kernsmith.machine.pinned import pin_file
from kernsmith.paths import shipped
from kernsmith.store import local_store
from made_trace import FUNCTIONS, HOT, make_kernel


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Traced:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    folder = paths.kernels() / "made"
    return Traced(folder, (make_kernel(folder),))


@pytest.fixture
def cpu(traced: Traced) -> Path:
    return pin_file(paths.shipped("cpus", "skylake.toml")).path


def test_orders_cost_what_they_cost_wherever_they_are_replayed(
    traced: Traced, cpu: Path, tmp_path: Path
) -> None:
    """Two pieces for one processor each, and one for all."""
    text = open_traced(traced).text
    layouts = [text.arranged(random_order(HOT, str(n))) for n in range(17)] + [Arrangement()]
    elsewhere = Elsewhere(tmp_path)
    told: list[int] = []
    found = [
        Replays(traced, cpu, workers)(layouts, 1, None, told.append)
        for workers in (LocalWorkers(), elsewhere)
    ]
    assert found[0] == found[1]
    assert [list(each) for each in found[0]] == [
        list(replay(lambda value: None, Replay(traced, cpu, (layout,)))[0]) for layout in layouts
    ]
    assert elsewhere.asked == ["replay"] * 3
    assert told == [8, 16, 18] * 2
    packed = [each[0]["l1i_misses"] for each in found[0][:-1]]
    assert max(packed) < found[0][-1][0]["l1i_misses"] / 10


def test_a_replay_travels_by_keys(traced: Traced, cpu: Path) -> None:
    layouts = (Arrangement((1, 0), ((0, 16),)),)
    asked = Work(replay, (Replay(traced, cpu, layouts, every=4, displaced=2),))
    packed = pack(asked)
    assert str(local_store().root).encode() not in packed
    assert cpu.parent.name.encode() in packed, "the model's digest"
    assert len(packed) < 1000, "no trace"
    assert unpack(packed) == asked


def test_a_kernel_that_the_store_has_lost_is_told(traced: Traced, cpu: Path) -> None:
    lost = Traced(traced.folder.with_name("lost"), traced.traces)
    with pytest.raises(UserError, match=r"there is no kernel in .*lost"):
        replay(lambda value: None, Replay(lost, cpu, (Arrangement(),)))


def test_traces_are_read_once_and_stay_as_long_as_somebody_asks(traced: Traced, cpu: Path) -> None:
    opened = open_traced(traced)
    traced.traces[0].path.unlink()
    said: list[object] = []
    asked = Replay(traced, cpu, (Arrangement(),) * 17)
    assert len(replay(said.append, asked)) == 17
    assert said == [Progress(16, 17), Progress(17, 17)]
    assert open_traced(traced) is opened


@pytest.mark.parametrize(("every", "displaced"), [(1, None), (1, 1), (4, 1)])
def test_an_evaluator_does_not_see_who_replays(
    traced: Traced, cpu: Path, tmp_path: Path, every: int, displaced: int | None
) -> None:
    names = [*HOT, *(name.replace("hot", "cold") for name in HOT)]
    figures = []
    for workers in (LocalWorkers(), Elsewhere(tmp_path)):
        replays = Replays(traced, cpu, workers)
        evaluator = Evaluator(open_traced(traced), names, cpu, replays, every=every)
        figures.append(evaluator.costs([HOT, []], displaced=displaced))
    assert figures[0] == figures[1]
    assert evaluator.blocks > FUNCTIONS
    assert evaluator.workloads == ("pipe",)
    hot, default = figures[0]
    if every == 1:  # a sample of so short a trace has nothing but its beginning
        assert hot["pipe"]["model_cycles"] < default["pipe"]["model_cycles"]


def test_of_fewer_workloads_more_windows_are_replayed() -> None:
    in_time, sums = shipped("cpus", "emeraldrapids.toml"), PENALTIES
    assert [every_of(0, in_time, count) for count in (1, 2, 3, 4, 5, 14)] == [1, 1, 2, 4, 8, 8]
    assert {every_of(0, sums, count) for count in (1, 14)} == {1}
    assert every_of(3, in_time, 14) == 3


def test_a_search_keeps_what_its_order_names_besides_the_movable(traced: Traced, cpu: Path) -> None:
    """Of two functions of one name, an order names both where one may move."""
    cold = HOT[3].replace("hot", "cold")
    evaluator = Evaluator(
        open_traced(traced), HOT, cpu, Replays(traced, cpu, LocalWorkers()), every=1
    )
    start = [HOT[0], cold, *HOT[1:]]
    found = evaluator.search(start, ["pipe"], movable=HOT, evaluations=10, every=1)
    assert sorted(found) == sorted(start)
