# SPDX-License-Identifier: GPL-2.0-or-later
"""What starts, shares and repeats trials, on a machine whose runs end as a script says."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kernsmith.engine.trial_rows import trial_rows
from kernsmith.errors import UserError
from kernsmith.ledger import Ledger
from kernsmith.ledger.voids import Selection
from kernsmith.machine import find_machine, machine_kinds
from kernsmith.study import Design
from scripted_machine import Made, Scripted, prepared, runs

TRIALS = 2 * 3  # of a block: labels and workloads
WORKER = Path(__file__).parents[1] / "scripted_machine.py"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    script(tmp_path)
    return tmp_path


def script(folder: Path, **endings: list[str]) -> None:
    (folder / "script.json").write_text(json.dumps(endings))


def ledger(folder: Path) -> str:
    return f"sqlite:///{folder}/ledger.sqlite"


def worker(folder: Path, layouts: int = 1) -> "subprocess.Popen[str]":
    words = [sys.executable, str(WORKER), str(folder), ledger(folder), str(layouts)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def wait_for(machine: Scripted, workload: str) -> None:
    end = time.monotonic() + 60
    while not any(f" {workload} " in line for line in machine.started()):
        assert time.monotonic() < end, f"{workload} did not start"
        time.sleep(0.02)


def started_once(machine: Scripted, trials: int) -> bool:
    return len(machine.started()) == len(set(machine.started())) == trials


def test_trials_begin_in_plan_order(folder: Path) -> None:
    machine, design = Scripted(folder, slots=1), Design(layouts=3)
    runs(machine, ledger(folder), design)
    planned = prepared(machine, design).trials
    assert machine.started() == [
        f"{trial.variant.label}-{trial.layout} {trial.workload} 0" for trial in planned
    ]


def test_several_threads_run_each_trial_once_and_nothing_twice(folder: Path) -> None:
    machine, design = Scripted(folder, slots=4), Design(layouts=4)
    first = runs(machine, ledger(folder), design)
    assert [status for status, *_ in first] == ["ok"] * 5 * TRIALS
    assert runs(machine, ledger(folder), design) == first
    assert started_once(machine, 5 * TRIALS)


def test_two_processes_share_the_trials_of_one_ledger(folder: Path) -> None:
    script(folder, **{name: ["pause"] * 99 for name in ("pipe", "fork", "mmap")})
    workers = [worker(folder, layouts=4) for _ in range(2)]
    first, second = (json.loads(each.communicate(timeout=120)[0]) for each in workers)
    assert first == second
    assert started_once(Scripted(folder), 5 * TRIALS)


def test_the_trial_of_a_worker_that_crashed_is_taken_over(folder: Path) -> None:
    script(folder, fork=["crash"])
    assert worker(folder).wait(timeout=60) == -signal.SIGKILL
    done = runs(Scripted(folder), ledger(folder), Design(layouts=1))
    assert Counter(status for status, *_ in done) == {"ok": 2 * TRIALS}
    attempts = Counter(attempt for _, attempt, _ in done)
    # The other slot of the worker may have held a trial, too.
    assert attempts[2] in (1, 2)
    assert attempts[1] == 2 * TRIALS - attempts[2]


def test_who_waits_for_a_trial_takes_it_over_when_its_holder_is_killed(folder: Path) -> None:
    script(folder, fork=["slow"])
    machine = Scripted(folder)
    holder = worker(folder)
    wait_for(machine, "fork")
    waiting = worker(folder)
    while len(machine.started()) < 2 * TRIALS:  # all others are done or running
        assert waiting.poll() is None
        time.sleep(0.05)
    assert waiting.poll() is None, "it did not wait for what another process runs"
    holder.kill()
    done = json.loads(waiting.communicate(timeout=60)[0])
    holder.wait()
    assert {status for status, *_ in done} == {"ok"}
    assert sum(attempt == 2 for _, attempt, _ in done) >= 1


@pytest.mark.parametrize("ending", ["hang", "failed"])
def test_what_may_have_been_the_hosts_fault_is_tried_again(folder: Path, ending: str) -> None:
    script(folder, fork=[ending])
    machine, design = Scripted(folder), Design(layouts=0)
    first = runs(machine, ledger(folder), design)
    assert Counter(status for status, *_ in first) == {"ok": TRIALS - 1, ending: 1}
    second = runs(machine, ledger(folder), design)
    assert Counter(status for status, *_ in second) == {"ok": TRIALS}
    assert len(machine.started()) == TRIALS + 1


@dataclass(frozen=True)
class Unattended(Scripted):
    hangs_stay: bool = True


@pytest.mark.parametrize("stays", [True, False])
def test_a_hang_that_takes_a_person_to_end_is_not_tried_again(folder: Path, stays: bool) -> None:
    script(folder, fork=["hang"])
    machine, design = Unattended(folder, hangs_stay=stays), Design(layouts=0)
    runs(machine, ledger(folder), design)
    found = runs(machine, ledger(folder), design)
    assert Counter(status for status, *_ in found)["hang"] == stays
    assert len(machine.started()) == TRIALS + (not stays)


def test_a_panic_is_tried_again_only_where_runs_differ(folder: Path) -> None:
    script(folder, fork=["panic"])
    design = Design(layouts=0)
    machine = Scripted(folder)
    first = runs(machine, ledger(folder), design)
    assert Counter(status for status, *_ in first) == {"ok": TRIALS - 1, "panic": 1}
    assert runs(machine, ledger(folder), design) == first
    (folder / "log").unlink()
    noisy = Scripted(folder, exact=False)
    url = f"sqlite:///{folder}/noisy.sqlite"
    assert "panic" in [status for status, *_ in runs(noisy, url, design)]
    assert [status for status, *_ in runs(noisy, url, design)] == ["ok"] * TRIALS


def test_replicates_on_an_exact_machine_are_one_run(folder: Path) -> None:
    machine, design = Scripted(folder), Design(layouts=0, replicates=3)
    exact = runs(machine, ledger(folder), design)
    assert len(exact) == 3 * TRIALS
    assert len(machine.started()) == TRIALS
    noisy = Scripted(folder, exact=False)
    runs(noisy, f"sqlite:///{folder}/noisy.sqlite", design)
    assert len(machine.started()) == TRIALS + 3 * TRIALS


@pytest.mark.parametrize("apart", [True, False])
def test_runs_of_one_image_and_block_share_a_boot_where_machines_allow_it(
    folder: Path, apart: bool
) -> None:
    machine = Scripted(folder, exact=False, apart=apart)
    done = runs(machine, ledger(folder), Design(layouts=1, replicates=2))
    boots = Counter(boot for *_, boot in done)
    images = 2 * 2 * 2  # labels, layouts, replicates
    assert sorted(boots.values()) == ([1] * images * 3 if apart else [3] * images)
    opened = Ledger(ledger(folder))
    rows = opened.boots(number for number in boots if number is not None)
    opened.close()
    assert len(rows) == len(boots)
    assert all(row.wall_seconds is not None for row in rows.values()), "a boot without an end"
    assert len({row.session for row in rows.values()}) == len(rows)


def test_images_that_take_turns_share_a_session_with_their_block(folder: Path) -> None:
    machine = Scripted(folder, exact=False, apart=False, together=True, slots=1)
    design = Design(layouts=1, replicates=2)
    done = runs(machine, ledger(folder), design)
    blocks = 2 * 2  # layouts, replicates
    boots = Counter(boot for *_, boot in done)
    assert sorted(boots.values()) == [TRIALS] * blocks
    # Each run has the image of its own trial, in plan order.
    assert machine.started() == [
        f"{trial.variant.label}-{trial.layout} {trial.workload} {trial.replicate}"
        for trial in prepared(machine, design).trials
    ]
    assert runs(machine, ledger(folder), design) == done


def test_ctrl_c_ends_the_study_at_once_and_it_goes_on(folder: Path) -> None:
    script(folder, fork=["slow"], mmap=["slow"])
    machine = Scripted(folder)
    stopped = worker(folder)
    wait_for(machine, "fork")
    os.kill(stopped.pid, signal.SIGINT)
    assert stopped.wait(timeout=60) == 130
    before = Counter(machine.started())
    done = runs(machine, ledger(folder), Design(layouts=1))
    assert Counter(status for status, *_ in done) == {"ok": 2 * TRIALS}
    again = Counter(machine.started()) - before
    # Nothing that had ended is repeated: two slots had a trial in hand.
    assert sum((again & before).values()) <= 2


def test_a_voided_run_is_run_anew(folder: Path) -> None:
    machine, design = Scripted(folder), Design(layouts=0)
    runs(machine, ledger(folder), design)
    opened = Ledger(ledger(folder))
    opened.void(Selection(workload="fork"), "the guest was edited meanwhile")
    opened.close()
    again = runs(machine, ledger(folder), design)
    assert Counter(attempt for _, attempt, _ in again) == {1: TRIALS - 2, 2: 2}
    assert len(machine.started()) == TRIALS + 2


def test_who_is_interrupted_gives_its_trials_back(folder: Path) -> None:
    """So that other hosts, which cannot see that it is gone, need not wait for its leases."""
    script(folder, fork=["slow"], mmap=["slow"])
    stopped = worker(folder)
    wait_for(Scripted(folder), "fork")
    os.kill(stopped.pid, signal.SIGINT)
    assert stopped.wait(timeout=60) == 130
    with create_engine(ledger(folder)).connect() as connection:
        claimed, given = (
            set(connection.exec_driver_sql(query).scalars())
            for query in (
                "select trial from claims except select trial from runs",
                "select trial from heartbeats where last",
            )
        )
    assert claimed == given != set()


def test_no_digest_of_a_trial_holds_where_a_cpu_model_lies(folder: Path) -> None:
    machine, design = Scripted(folder), Design(layouts=1)
    digests = [
        [row.digest for row in trial_rows(prepared(machine, design, cpu), Made(folder)).values()]
        for cpu in ("/here/mine.toml", "/there/mine.toml")
    ]
    assert digests[0] == digests[1]


def test_no_study_file_reaches_the_scripted_machine() -> None:
    assert "tcg" in machine_kinds()
    assert "scripted" not in machine_kinds()
    with pytest.raises(UserError, match=r"there is no machine 'scripted': allowed are .*tcg"):
        find_machine("scripted", "skylake")
