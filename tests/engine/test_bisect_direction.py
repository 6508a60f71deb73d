# SPDX-License-Identifier: GPL-2.0-or-later
"""Of a metric of which more is better, less is worse: a bisection over made-up figures."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith.document import BisectDocument
from kernsmith.engine import Silent, bisect
from kernsmith.engine.bisect import Bisect, bisect_document
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import Measured, StudyResult, judge
from kernsmith.guest.own_metric import Better
from kernsmith.kernel.history import Repository
from kernsmith.kernel.source import Source
from kernsmith.ledger import Ledger, RunRow, now
from kernsmith.machine.protocol import Metric
from kernsmith.report.bisect.words import bad_words
from kernsmith.study import Design, Study, plan_trials, plan_variants
from scripted_machine import WORKLOADS, Scripted

Ask = Callable[[Better, float | None], BisectDocument]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A bisection of nine commits; from the sixth on, there are 10 % fewer requests."""
    folder = tmp_path / "linux"
    numbers = _commits(folder)
    repository = Repository(folder)

    def figure(source: str, seed: str) -> float:
        layout = 1 + 0.001 * (sum(map(ord, seed)) % 7 - 3)
        return 1e6 * layout * (0.9 if numbers[source.rpartition("@")[2]] >= 6 else 1.0)

    def prepared(better: Better) -> Callable[..., Prepared]:
        machine = Scripted(
            tmp_path, metrics=(Metric("requests", "", "", "counted", better=better),)
        )

        def prepare(study: Study, events: object) -> Prepared:
            names = [workload.name for workload in WORKLOADS]
            variants = plan_variants(study, names)
            trials = plan_trials(study, variants, names)
            source = Source("linux", Path(), "7.3", "sha256:0", "test")
            sources = {variant.source: source for variant in variants}
            return Prepared(
                study, study.digest, sources, WORKLOADS, (), machine, machine, variants, trials
            )

        return prepare

    def run_study(
        plan: Prepared, ledger: Ledger, events: object, by_function: bool = True
    ) -> StudyResult:
        measured = []
        for trial in plan.trials:
            value = figure(trial.variant.source, trial.layout.seed)
            metrics = {"requests": (value, "")}
            run = RunRow(str(trial.position), 1, "ok", "", "", now(), 1.0, metrics)
            measured.append(Measured(trial, str(trial.position), run))
        return judge(plan, Forge(plan, Silent()), measured, 0.0)

    def found(better: Better, threshold: float | None) -> BisectDocument:
        monkeypatch.setattr(bisect, "prepare", prepared(better))
        monkeypatch.setattr(bisect, "run_study", run_study)
        study = Study(
            source="", config="lab", factors=(), compiler="clang-22",
            design=Design(layouts=8, until=0.5, metric="requests", pairing="place"),
        )  # fmt: skip
        good, bad = repository.commit("HEAD~8"), repository.commit("HEAD")
        ledger = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        try:
            return bisect_document(
                Bisect(repository, good, bad, study, threshold, state, ledger, Silent()).run()
            )
        finally:
            ledger.close()

    return found


def _commits(folder: Path) -> dict[str, int]:
    """Nine commits in a repository: their numbers, from 1, by hash."""
    folder.mkdir()

    def git(*words: str) -> str:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        command = ["git", *identity, "-C", str(folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    for number in range(1, 10):
        git("commit", "-q", "--allow-empty", "-m", f"number {number}")
    hashes = git("rev-list", "--reverse", "HEAD").split()
    return {commit: number for number, commit in enumerate(hashes, start=1)}


@pytest.mark.parametrize(("threshold", "limit"), [(None, -5.13), (2.0, -2.0)])
def test_less_of_what_is_good_is_bad(ask: Ask, threshold: float | None, limit: float) -> None:
    document = ask("higher", threshold)
    assert [commit.subject for commit in document.first_bad] == ["number 6"]
    assert document.threshold == pytest.approx(limit, abs=0.01)
    assert {step.subject: step.decision for step in document.steps}["number 5"] == "good"

    assert bad_words(document) == f"bad is a change below {limit:.2f} %"
    assert ask("higher", threshold) == document, "the kept steps know the direction"


def test_less_of_what_is_costly_is_no_regression(ask: Ask) -> None:
    document = ask("lower", None)
    assert document.whole.decision == "good"
    assert not document.first_bad
    assert document.threshold == bisect.LEAST_CHANGE
