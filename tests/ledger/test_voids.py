# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that is wrong is voided: it stays in the ledger, counts nowhere, and is run anew."""

import json

import pytest
from sqlalchemy import create_engine, text

from kernsmith.cli import main
from kernsmith.errors import UserError
from kernsmith.ledger import BuildRow, Ledger, RunRow, TrialRow
from kernsmith.ledger.kernels import read_kernels
from kernsmith.ledger.table import read_study_table
from kernsmith.ledger.voids import Selection

WRONG = "the CPU model was edited meanwhile"
STARTED = "2026-03-01T12:00:00.000+00:00"


def trial(workload: str) -> TrialRow:
    return TrialRow(
        digest=(workload * 64)[:64], kernel="k" * 64, variant="v", layout="default",
        workload=workload, machine="tcg", cpu="skylake", replicate=0, conditions={},
    )  # fmt: skip


def run_of(row: TrialRow, attempt: int, cycles: float) -> RunRow:
    metrics = {"model_cycles": (cycles, "cycles")}
    return RunRow(row.digest, attempt, "ok", "", "", STARTED, cycles, metrics)


PIPE, FORK = trial("pipe"), trial("fork")


@pytest.fixture
def ledger(either: str) -> Ledger:
    """One study of two trials, both of which have run: pipe is run 1, fork is run 2."""
    opened = Ledger(either)
    plan = [(PIPE, "v", 0, 0), (FORK, "v", 0, 1)]
    opened.record_study("s" * 64, "demo", "[study]", plan)
    opened.record_builds([BuildRow("demo", "v", PIPE.kernel, "ok", "", "clang", "lld")])
    for row, cycles in ((PIPE, 100.0), (FORK, 200.0)):
        assert opened.claim(row.digest) == 1
        opened.record(run_of(row, 1, cycles))
    return opened


def figures(ledger: Ledger) -> dict[str, float]:
    table = read_study_table("demo", ledger.url)
    return {
        row.trial.workload: value
        for row in table.plan
        if row.run is not None
        for value, _ in row.run.metrics.values()
    }


def test_a_voided_run_counts_nowhere(ledger: Ledger) -> None:
    (gone,) = ledger.void(Selection(numbers=[1]), WRONG)
    assert (gone.run, gone.workload, gone.voided) == (1, "pipe", WRONG)
    assert list(ledger.runs([PIPE.digest, FORK.digest])) == [FORK.digest]
    assert ledger.typical_seconds("tcg") == {"fork": 200.0}
    assert figures(ledger) == {"fork": 200.0}
    assert read_study_table("demo", ledger.url).missing == 1
    assert [row.boots for row in read_kernels((), ledger.url)] == [1]


def test_its_trial_is_open_and_is_run_anew(ledger: Ledger) -> None:
    ledger.void(Selection(numbers=[1]), WRONG)
    assert ledger.claim(PIPE.digest) == 2
    anew = run_of(PIPE, 2, 101.0)
    ledger.record(anew)
    assert ledger.runs([PIPE.digest]) == {PIPE.digest: anew}
    assert figures(ledger) == {"pipe": 101.0, "fork": 200.0}


def test_without_the_latest_run_the_one_before_counts(ledger: Ledger) -> None:
    assert ledger.claim(PIPE.digest) == 2
    ledger.record(run_of(PIPE, 2, 101.0))
    ledger.void(Selection(numbers=[3]), WRONG)
    assert figures(ledger)["pipe"] == 100.0


def test_nothing_is_edited_and_nothing_is_voided_twice(ledger: Ledger) -> None:
    def held() -> list[object]:
        with create_engine(ledger.url).connect() as connection:
            queries = ("select id, status, reason from runs", "select run, value from metrics")
            return [connection.execute(text(f"{query} order by 1")).all() for query in queries]

    before = held()
    assert len(ledger.void(Selection(machine="tcg"), WRONG)) == 2
    assert ledger.void(Selection(machine="tcg"), "another reason") == []
    assert held() == before
    with create_engine(ledger.url).connect() as connection:
        (first, second) = connection.execute(text("select * from voids order by id")).all()
    assert (first.run, second.run, first.reason) == (1, 2, WRONG)
    assert "@" in first.by


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (Selection(study="demo", workload="fork"), [2]),
        (Selection(study="sss"), [1, 2]),
        (Selection(trial="pipep"), [1]),
        (Selection(trial="pipe_"), []),
        (Selection(machine="kvm"), []),
        (Selection(status="ok", variant="v"), [1, 2]),
        (Selection(numbers=[2], workload="pipe"), []),
        (Selection(since="2020-01-01", until="2020-12-31"), []),
        (Selection(since="2026-03-01"), [1, 2]),
        (Selection(since="2026-03-02"), []),
        (Selection(until="2026-03-01"), [1, 2]),
        (Selection(until="2026-02-28"), []),
        (Selection(until="9999-12-31"), [1, 2]),
        (Selection(since="20260301", until="20260301"), [1, 2]),
        (Selection(since="20260302"), []),
    ],
)
def test_runs_are_selected(ledger: Ledger, selection: Selection, found: list[int]) -> None:
    assert [run.run for run in ledger.void(selection, WRONG)] == found


def test_what_cannot_be_voided_is_told(ledger: Ledger) -> None:
    with pytest.raises(UserError, match="has no run 7, 8; `kernsmith ledger runs` lists them"):
        ledger.void(Selection(numbers=[1, 7, 8]), WRONG)
    with pytest.raises(UserError, match=r"has no run 9{30}; "):
        ledger.void(Selection(numbers=[1, int("9" * 30)]), WRONG)
    with pytest.raises(UserError, match="for a reason"):
        ledger.void(Selection(numbers=[1]), " ")
    with pytest.raises(UserError, match="name the runs"):
        ledger.void(Selection(), WRONG)
    with pytest.raises(UserError, match="--since is a day as in 2026-12-31, not 'monday'"):
        Selection(since="monday")
    with pytest.raises(UserError, match="no run ends as 'lost': allowed are ok, panic, hang, fail"):
        Selection(status="lost")
    assert len(ledger.runs([PIPE.digest, FORK.digest])) == 2


def test_the_command_lists_and_voids(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["ledger", *words, "--ledger", ledger.url])
        assert ended.value.code == 0
        return capsys.readouterr().out

    told("void", "1", "--workload", "pipe", "--reason", WRONG)
    listed = json.loads(told("runs", "--machine", "tcg", "--json"))["runs"]
    assert [(run["run"], run["voided"]) for run in listed] == [(1, WRONG), (2, "")]
    assert "void:" in told("runs", "1")
    assert "no run fits" in told("runs", "--machine", "kvm")
    assert json.loads(told("void", "1", "--reason", "again", "--json")) == {
        "version": 1,
        "runs": [],
    }
