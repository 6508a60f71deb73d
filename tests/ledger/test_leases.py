# SPDX-License-Identifier: GPL-2.0-or-later
"""Leases: a living holder keeps its trial, also on another host; a dead one loses it soon.

Another host is a process in namespaces of its own: another host name, and no pid seen from here.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, insert

from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.ledger.leases import Leases
from kernsmith.ledger.owner import Owner
from kernsmith.ledger.schema import CLAIMS

LEASE = 6.0
ELSEWHERE = ["unshare", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"]  # fmt: skip
TRIAL = TrialRow("t" * 64, "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, {}).digest

HOLDER = """
import sys, time
from kernsmith.ledger import Ledger
ledger = Ledger(sys.argv[1], lease_seconds=float(sys.argv[2]))
print(ledger.claim(sys.argv[3]), flush=True)
time.sleep(600)
"""


@pytest.fixture
def ledger(either: str) -> Iterator[Ledger]:
    opened = Ledger(either, lease_seconds=LEASE)
    opened.add_trial(
        TrialRow(TRIAL, "k" * 64, "v", "default", "pipe", "tcg", "skylake", 0, conditions={})
    )
    yield opened
    opened.close()


@contextmanager
def holder(ledger: Ledger, prefix: list[str]) -> "Iterator[subprocess.Popen[str]]":
    """Another process that holds the trial; it dies by SIGKILL."""
    command = [*prefix, sys.executable, "-c", HOLDER, ledger.url, str(LEASE), TRIAL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "1\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def elsewhere() -> list[str]:
    """How to start a process on another host."""
    if subprocess.run([*ELSEWHERE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this system lets no process have namespaces of its own")
    return ELSEWHERE


def run_of(attempt: int) -> RunRow:
    return RunRow(TRIAL, attempt, "ok", "", "", now(), 1.0, {})


def heartbeats(ledger: Ledger) -> list[tuple[int, int, bool]]:
    query = "select attempt, number, last from heartbeats order by 1, 2"
    with create_engine(ledger.url).connect() as connection:
        rows = connection.exec_driver_sql(query).all()
    return [(attempt, number, bool(last)) for attempt, number, last in rows]


def test_a_killed_process_of_this_host_frees_its_trial_at_once(ledger: Ledger) -> None:
    with holder(ledger, []) as process:
        assert ledger.claim(TRIAL) is None
        process.kill()
        process.wait()
        assert ledger.claim(TRIAL) == 2


def test_a_living_holder_on_another_host_keeps_its_trial(
    ledger: Ledger, elsewhere: list[str]
) -> None:
    """For longer than a lease: its heartbeats are rows."""
    with holder(ledger, elsewhere):
        for _ in range(4):
            time.sleep(LEASE / 2)
            assert ledger.claim(TRIAL) is None
    numbers = [number for _, number, _ in heartbeats(ledger)]
    assert len(numbers) > 4
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_killed_holder_on_another_host_loses_its_trial_after_a_lease(
    ledger: Ledger, elsewhere: list[str]
) -> None:
    with holder(ledger, elsewhere) as process:
        process.kill()
        process.wait()
        assert ledger.claim(TRIAL) is None, "nobody here can see that it is dead"
        deadline = time.monotonic() + 3 * LEASE
        while (attempt := ledger.claim(TRIAL)) is None and time.monotonic() < deadline:
            time.sleep(0.1)
    assert attempt == 2


def test_who_leaves_without_a_run_gives_the_trial_back(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt), ledger.hold(TRIAL) as attempt:
        assert attempt == 1
        assert ledger.claim(TRIAL) is None
        raise KeyboardInterrupt
    assert heartbeats(ledger) == [(1, 1, True)]
    with ledger.hold(TRIAL) as attempt:
        assert attempt == 2
        ledger.record(run_of(2))
    assert heartbeats(ledger) == [(1, 1, True)], "a run says by itself that the lease is over"
    assert ledger.runs([TRIAL])[TRIAL].attempt == 2


def test_a_ledger_that_is_closed_gives_back_what_it_claimed(ledger: Ledger) -> None:
    other = Ledger(ledger.url)
    assert other.claim(TRIAL) == 1
    assert ledger.claim(TRIAL) is None
    other.close()
    assert ledger.claim(TRIAL) == 2


def test_who_is_interrupted_just_behind_a_claim_gives_it_back(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Ledger(ledger.url)

    def interrupted(self: Leases, trial: str, attempt: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Leases, "_keep", interrupted)
        other.claim(TRIAL)
    assert ledger.claim(TRIAL) is None
    other.close()
    assert ledger.claim(TRIAL) == 2


def test_what_another_one_holds_is_not_held(ledger: Ledger) -> None:
    with ledger.hold(TRIAL) as mine:
        assert mine == 1
        with ledger.hold(TRIAL) as theirs:
            assert theirs is None
        assert ledger.claim(TRIAL) is None


def claimed(ledger: Ledger, owner: str, taken_at: str) -> None:
    """A claim as a row."""
    row = {"trial": TRIAL, "attempt": 1, "owner": owner, "taken_at": taken_at}
    with create_engine(ledger.url).begin() as connection:
        connection.execute(insert(CLAIMS).values(row))


def somebody(**changes: object) -> str:
    """An owner that cannot be seen from here."""
    fields = json.loads(str(Owner.current())) | {"host": "elsewhere", "boot": "another", "pid": 12}
    return json.dumps(fields | {"installation": "another"} | changes)


@pytest.mark.parametrize("seconds", [-3600, 3600, 10 * 365 * 86400])
def test_a_claim_of_a_wrong_clock_does_not_hold_for_ever(ledger: Ledger, seconds: float) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    claimed(ledger, somebody(), moment.isoformat(timespec="milliseconds"))
    assert ledger.claim(TRIAL) == 2


def test_a_claim_of_a_clock_that_is_a_little_ahead_stands(ledger: Ledger) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=LEASE / 3)
    claimed(ledger, somebody(), moment.isoformat(timespec="milliseconds"))
    assert ledger.claim(TRIAL) is None
    assert ledger.holders([TRIAL, "f" * 64]) == ["process 12 on elsewhere"]


@pytest.mark.parametrize(
    "damaged",
    ["", "{", "[]", "3", "{}", '{"host": "a"}', somebody(pid="12"), somebody(host=None)],
    ids=["nothing", "cut", "list", "number", "empty", "few", "pid", "host"],
)
def test_a_damaged_owner_is_nobody_to_wait_for_longer_than_a_lease(
    ledger: Ledger, damaged: str
) -> None:
    assert Owner.parse(damaged) is None
    claimed(ledger, damaged, datetime.now(UTC).isoformat())
    assert ledger.claim(TRIAL) is None and ledger.holders([TRIAL]) == []


@pytest.mark.parametrize("moment", ["yesterday", "", "2026-01-01T00:00:00"])
def test_a_claim_of_no_time_has_lapsed(ledger: Ledger, moment: str) -> None:
    claimed(ledger, somebody(), moment)
    assert ledger.claim(TRIAL) == 2


def test_claims_of_later_versions_are_read() -> None:
    assert Owner.parse(somebody(colour="red")) == Owner.parse(somebody())


def owner(**changes: object) -> bool | None:
    fields = json.loads(str(Owner.current()))
    return Owner(**(fields | changes)).lives()


def test_what_can_be_seen_of_an_owner_from_here() -> None:
    """This process lives; its pid at another time, and what ran before a reboot, does not."""
    assert owner() is True
    assert owner(started=1) is False
    assert owner(space="", installation="") is True, "a claim of an earlier version"
    assert owner(space="pid:[1]") is None
    assert owner(host="elsewhere", boot="another") is None
    assert owner(boot="another", installation="") is None
    if json.loads(str(Owner.current()))["installation"]:
        assert owner(boot="another") is False
