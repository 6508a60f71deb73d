# SPDX-License-Identifier: GPL-2.0-or-later
"""Work is the same wherever it is done: here, or by a process that has only bytes and the store."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elsewhere import Elsewhere
from kernsmith import process
from kernsmith.engine import Silent, prepare, run_study
from kernsmith.engine.workers import Done, LocalWorkers, Say, Work, Workers, pack, unpack
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger
from kernsmith.machine import Boot, Job, Outcome
from kernsmith.store import Store
from kernsmith.study import Design, Study


def double(say: Say, number: int) -> int:
    say(f"doubling {number}")
    if number < 0:
        raise UserError("too small")
    return 2 * number


def sleep(say: Say, seconds: str) -> None:
    process.run(["sleep", seconds], timeout=None)


def sleep_and_tell(say: Say, seconds: str) -> str:
    sleep(say, seconds)
    return "slept"


def test_work_is_asked_for_when_there_is_somebody_to_do_it() -> None:
    """At any time no more was begun than has slots or is over."""
    taken: list[Done[int]] = []
    told: list[tuple[int, object]] = []
    ahead = []

    def works() -> Iterator[Work[int]]:
        for number in (3, -1, 5, 8):
            ahead.append(len(ahead) + 1 - len(taken))
            yield Work(double, (number,))

    LocalWorkers().each(works(), taken.append, say=lambda *said: told.append(said), slots=2)
    assert max(ahead) <= 2
    assert {done.place: done.value for done in taken} == {0: 6, 1: None, 2: 10, 3: 16}
    assert sorted(told) == [(i, f"doubling {n}") for i, n in enumerate((3, -1, 5, 8))]
    failed = next(done for done in taken if done.error)
    with pytest.raises(UserError, match="too small"):
        failed.result()


def test_an_exception_ends_what_is_under_way() -> None:
    def take(done: Done[None]) -> None:
        raise KernsmithError("enough")

    began = time.monotonic()
    works = [Work(sleep, ("0.1",)), Work(sleep, ("60",)), Work(sleep, ("60",))]
    with pytest.raises(KernsmithError, match="enough"):
        LocalWorkers().each(works, take, slots=2)
    assert time.monotonic() - began < 20


def niceness(say: Say) -> int:
    return int(process.run(["nice"], timeout=60).output)


def test_beside_a_piece_that_takes_all_there_is_others_wait_for_it() -> None:
    """They run while it runs, one processor less and nicer; when it is over, none is begun."""
    began: list[int] = []
    values: list[int | None] = []

    def works() -> Iterator[Work[int]]:
        for number in range(1000):
            began.append(number)
            yield Work(niceness, ())

    def meanwhile(workers: Workers) -> None:
        workers.each(works(), lambda done: values.append(done.value), slots=8)

    result = LocalWorkers(slots=2).one(Work(sleep_and_tell, ("1",)), lambda said: None, meanwhile)
    assert result == "slept"
    assert 0 < len(began) == len(values) < 1000
    (nice,) = set(values)
    assert nice is not None
    assert nice > os.getpriority(os.PRIO_PROCESS, 0)


def test_an_exception_beside_a_piece_ends_it() -> None:
    def meanwhile(workers: Workers) -> None:
        raise KernsmithError("enough")

    began = time.monotonic()
    with pytest.raises(KernsmithError, match="enough"):
        LocalWorkers().one(Work(sleep_and_tell, ("60",)), lambda said: None, meanwhile)
    assert time.monotonic() - began < 20


def test_a_piece_that_fails_beside_others_says_why() -> None:
    with pytest.raises(UserError, match="too small"):
        LocalWorkers().one(Work(double, (-1,)), lambda said: None, lambda workers: None)


def test_what_lies_in_the_store_travels_by_key(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    kernel = Kernel("abc", here.path("kernels/abc"), {"version": 1})
    boot = Boot(0, ("qemu", "-x"), here.path("runs/a/console.log"), "2026-01-01T00:00:00")
    outcome = Outcome("ok", "", {"n": (1.0, "")}, boot.console, 1.5, boot)
    job = Job(Workload("pipe", (), "", 1, 1, ()), here.path("runs/a"))
    outside = Path("/usr/bin/clang")
    moved = unpack(pack((kernel, outcome, job, outside), here), there)
    assert moved[0].vmlinux == there.path("kernels/abc/vmlinux")
    assert moved[1].console == moved[1].boot.console == there.path("runs/a/console.log")
    assert moved[2].folder == there.path("runs/a")
    assert moved[3] == outside
    assert str(here.root) not in repr(moved)
    assert unpack(pack((kernel, outcome, job), here), here) == (kernel, outcome, job)


@pytest.mark.kernel
def test_a_study_is_the_same_when_all_work_is_done_elsewhere(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    study = Study(
        source="debian:7.3",
        config="micro",
        options=(("AUTOFDO_CLANG", "y"),),
        factors=(("label", ("a", "b")),),
        workloads=("pipe",),
        design=Design(layouts=1, seed=77),
    )
    prepared = prepare(study, Silent())
    elsewhere = Elsewhere(tmp_path)
    figures = []
    for name, workers in (("elsewhere", elsewhere), ("here", None)):
        ledger = Ledger(f"sqlite:///{tmp_path}/{name}.sqlite")
        result = run_study(prepared, ledger, Silent(), workers)
        ledger.close()
        assert not result.failures
        runs = [(str(item.trial.layout), item.run) for item in result.measured]
        figures.append({layout: run.metrics for layout, run in runs if run})
    assert figures[0] == figures[1]
    assert len(figures[0]) == 3
    assert elsewhere.asked.count("build") == 1
    assert elsewhere.asked.count("stay") == 3
