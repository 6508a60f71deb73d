# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger: append-only, one run a trial, whatever is killed and however many run at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from kernsmith.errors import UserError
from kernsmith.ledger import Ledger, RunRow, TrialRow, now

PLAN = 40


def trial(number: int) -> TrialRow:
    return TrialRow(
        digest=f"{number:064x}", kernel="k" * 64, variant="profile=none", layout="default",
        workload="pipe", machine="tcg", cpu="skylake", replicate=0, conditions={"n": number},
    )  # fmt: skip


def run_of(digest: str, attempt: int, **changes: object) -> RunRow:
    fields: dict[str, object] = {
        "trial": digest, "attempt": attempt, "status": "ok", "reason": "", "console": "",
        "started_at": now(), "wall_seconds": 1.5,
        "metrics": {"kernel_instructions": (2.0**52 + 1, "instructions")},
    }  # fmt: skip
    return RunRow(**(fields | changes))  # type: ignore[arg-type]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ledger.sqlite"


@pytest.fixture
def ledger(url: str) -> Ledger:
    opened = Ledger(url)
    opened.record_study("s" * 64, "demo", "[source]", [(trial(i), "v", 0, i) for i in range(PLAN)])
    return opened


def test_a_run_comes_back_to_the_last_digit(ledger: Ledger) -> None:
    attempt = ledger.claim(trial(1).digest)
    assert attempt == 1
    run = run_of(trial(1).digest, attempt)
    ledger.record(run)
    assert ledger.runs([trial(1).digest, trial(2).digest]) == {trial(1).digest: run}


def test_recording_a_study_twice_adds_nothing(ledger: Ledger, url: str) -> None:
    before = rows(url, "study_trials"), rows(url, "trials")
    ledger.record_study("s" * 64, "demo", "[source]", [(trial(i), "v", 0, i) for i in range(PLAN)])
    assert (rows(url, "study_trials"), rows(url, "trials")) == before == (PLAN, PLAN)


def test_a_claimed_trial_is_not_given_twice(ledger: Ledger) -> None:
    assert ledger.claim(trial(3).digest) == 1
    assert ledger.claim(trial(3).digest) is None


def test_a_failed_run_can_be_tried_again_and_both_stay(ledger: Ledger, url: str) -> None:
    digest = trial(4).digest
    assert ledger.claim(digest) == 1
    ledger.record(run_of(digest, 1, status="panic", reason="kernel panic", metrics={}))
    assert ledger.claim(digest) == 2
    ledger.record(run_of(digest, 2))
    assert ledger.runs([digest])[digest].ok
    assert rows(url, "runs") == 2


def test_a_bad_url_is_one_sentence(tmp_path: Path) -> None:
    for url in ("nonsense", "sqlite:////proc/none/ledger.sqlite", "oracle://x"):
        with pytest.raises(UserError, match="cannot open the ledger"):
            Ledger(url)


WORKER = """
import sys, time
from kernsmith.ledger import Ledger, RunRow, now
url, pause, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
ledger = Ledger(url)
digests = [f"{i:064x}" for i in range(count)]
while True:
    done = ledger.runs(digests)
    todo = [d for d in digests if d not in done]
    if not todo:
        break
    for digest in todo:
        attempt = ledger.claim(digest)
        if attempt is None or digest in ledger.runs([digest]):
            continue
        print("running", digest, flush=True)
        time.sleep(pause)
        ledger.record(RunRow(digest, attempt, "ok", "", "", now(), pause, {"m": (1.0, "")}))
    time.sleep(0.01)
"""


def worker(url: str, pause: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WORKER, url, str(pause), str(PLAN)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_run_each_trial_once(ledger: Ledger, url: str) -> None:
    workers = [worker(url, 0.01) for _ in range(3)]
    ran = [line for w in workers for line in w.communicate(timeout=120)[0].splitlines()]
    assert all(w.returncode == 0 for w in workers)
    assert len(ran) == len(set(ran)) == PLAN == rows(url, "runs")


def test_a_killed_process_loses_its_run_in_progress_and_nothing_else(
    ledger: Ledger, url: str
) -> None:
    victim = worker(url, 0.05)
    assert victim.stdout is not None
    started = [victim.stdout.readline() for _ in range(5)]
    time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    recorded = rows(url, "runs")
    assert recorded >= len(started) - 1
    successor = worker(url, 0.0)
    ran = successor.communicate(timeout=120)[0].splitlines()
    assert len(ran) == PLAN - recorded
    assert rows(url, "runs") == PLAN
    with create_engine(url).connect() as connection:
        assert connection.execute(text("pragma integrity_check")).scalar() == "ok"


def rows(url: str, table: str) -> int:
    with create_engine(url).connect() as connection:
        return int(connection.execute(text(f"select count(*) from {table}")).scalar() or 0)
