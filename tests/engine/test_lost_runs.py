# SPDX-License-Identifier: GPL-2.0-or-later
"""What this computer does to a run or a build decides nothing, and is kept nowhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest
from test_blame import PIPE, command, search

from kernsmith.engine import Silent, oracle_boots
from kernsmith.engine import bisect as bisect_module
from kernsmith.engine.bisect import Bisect, Limit
from kernsmith.engine.failures import Failures
from kernsmith.engine.metric_test import ChangesMetric
from kernsmith.engine.mix_tests import MixTest, RunsWorkloads
from kernsmith.engine.oracle_boots import Question, ask
from kernsmith.engine.verdicts import StudyResult
from kernsmith.errors import KernsmithError
from kernsmith.kernel.build import BuildFailed
from kernsmith.kernel.history import Commit, Next, Repository
from kernsmith.kernel.link import LinkFailed
from kernsmith.ledger import Ledger
from kernsmith.machine import Job, MachineFailed, Outcome
from kernsmith.machine.protocol import LOST
from kernsmith.study import Study
from made_pair import NAMES, Counting, CountingSession, MadePair, made_pair


@pytest.fixture
def pair(tmp_path: Path) -> MadePair:
    return made_pair(tmp_path)


@dataclass(frozen=True)
class Killed(Counting):
    """A machine whose emulator is killed in some of its runs, by their numbers from 0; kernels with
    `fails` in them panic."""

    fails: str = NAMES[7]
    runs: Collection[int] = ()
    number: Iterator[int] = field(default_factory=count)

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[KilledSession]:
        yield KilledSession(self, image)


class KilledSession(CountingSession):
    def run(self, job: Job) -> Outcome:
        machine = cast("Killed", self.machine)
        ran = super().run(job)
        if next(machine.number) in machine.runs:
            why = "the workload did not end: qemu was killed by signal 9"
            return replace(ran, status="failed", reason=why, provenance={LOST: why})
        if machine.fails in self.image.read_text().split():
            return replace(ran, status="panic", reason="kernel panic")
        return ran


def boots(machine: Killed) -> MixTest:
    return RunsWorkloads(machine, (PIPE,), "pipe")


@pytest.mark.parametrize("number", [0, 1, 4])
def test_an_emulator_that_was_killed_makes_no_kernel_bad(
    number: int, pair: MadePair, tmp_path: Path
) -> None:
    with pytest.raises(MachineFailed, match=r"says nothing of the kernel: .*killed by signal 9"):
        search(pair, boots(Killed({}, runs=(number,))), tmp_path)
    journal = tmp_path / "state/tests.jsonl"
    assert not journal.exists() or "signal 9" not in journal.read_text()
    found = search(pair, boots(Killed({})), tmp_path)
    assert [view.object for view in found.blamed] == [NAMES[7]]


def test_a_metric_is_not_unresolved_for_ever(pair: MadePair, tmp_path: Path) -> None:
    def test(runs: Sequence[int]) -> MixTest:
        machine = Killed({NAMES[9]: 3.0}, fails="", runs=runs)
        return ChangesMetric(machine, (PIPE,), "kernel_instructions", "")

    with pytest.raises(MachineFailed):
        search(pair, test((9,)), tmp_path)
    journal = tmp_path / "state/tests.jsonl"
    assert not journal.exists() or "unresolved" not in journal.read_text()


@pytest.mark.parametrize("script", ["kill -9 $$", "exit 137", "kill -SEGV $$", "exit 255"])
def test_a_command_that_a_signal_ends_ends_the_search(
    script: str, pair: MadePair, tmp_path: Path
) -> None:
    """As that of `git bisect run`."""
    with pytest.raises(KernsmithError, match="says nothing of the kernel"):
        search(pair, command(script), tmp_path)
    assert not (tmp_path / "state/tests.jsonl").exists()


class Unlinked(MadePair):
    """Its linker is killed."""

    def link(self, taken: Collection[str], target: Path, order: Sequence[str] = ()) -> Path:
        error = LinkFailed("the layout does not link: ld.lld was killed by signal 9")
        error.of_host = True
        raise error


def test_a_linker_that_was_killed_is_no_mix_that_does_not_link(tmp_path: Path) -> None:
    made = made_pair(tmp_path)
    with pytest.raises(LinkFailed):
        search(Unlinked(made.good, made.bad), command("exit 0"), tmp_path)
    assert not (tmp_path / "state/tests.jsonl").exists()


def test_a_killed_emulator_answers_no_oracle(
    pair: MadePair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a variant that was asked "does not work" for its own reasons only."""
    monkeypatch.setattr(oracle_boots, "stored_kernel", lambda key: pair.good)
    pair.good.vmlinux.write_text("0000")
    question = Question(Killed({}, runs=(0,)), pair.good.key, PIPE, tmp_path / "asked")
    with pytest.raises(MachineFailed):
        ask(lambda said: None, question)
    assert not (pair.good.folder / "oracles").exists()


def test_failures_know_whose_they_are() -> None:
    failures = Failures()
    killed = BuildFailed("clang was killed")
    killed.of_host = True
    failures.note(("a", ""), killed)
    failures.note(("b", ""), BuildFailed("no semicolon"))
    assert failures == {("a", ""): "clang was killed", ("b", ""): "no semicolon"}
    assert failures.of_host == ("clang was killed",)
    assert failures.is_of_host(("a", "")) and not failures.is_of_host(("b", ""))


class OneCommit:
    """A history that is all one commit."""

    folder = Path("linux")

    def commit(self, commit: str) -> Commit:
        return Commit(commit, "a commit", "", "")


@pytest.mark.parametrize("of_host", [(), ("the kernel 'x' does not build: clang was killed",)])
def test_a_commit_is_skipped_for_its_own_reasons_only(
    of_host: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def result(*asked: Any, **words: Any) -> StudyResult:
        return cast("Any", _Nothing(of_host or ("no semicolon",), of_host))

    monkeypatch.setattr(bisect_module, "prepare", lambda study, events: None)
    monkeypatch.setattr(bisect_module, "run_study", result)
    monkeypatch.setattr(bisect_module, "overall_log_ratios", lambda *asked: [])
    repository = cast("Repository", OneCommit())
    good, bad = (repository.commit(letter * 40) for letter in "ab")
    study = Study(source="", config="lab", factors=())
    bisect = Bisect(
        repository, good, bad, study, 1.0, tmp_path, cast("Ledger", None), Silent()
    )  # fmt: skip
    if of_host:
        with pytest.raises(KernsmithError, match=r"this computer's: .*clang was killed"):
            bisect._step(Next("c" * 40), Limit(1.0))
    else:
        assert bisect._step(Next("c" * 40), Limit(1.0)).decision == "skip"


@dataclass
class _Nothing:
    failures: tuple[str, ...]
    of_host: tuple[str, ...]
    prepared: Any = field(default_factory=lambda: _Prepared())
    measured: tuple[()] = ()


class _Prepared:
    class _Variant:
        name = "x"

    variants = (_Variant(), _Variant())
