# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands measured on the running kernel: with a scripted clock, into a real ledger."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import exp
from pathlib import Path
from random import Random

import pytest

from kernsmith import paths
from kernsmith.engine.comparable_runs import is_comparable, left_out
from kernsmith.engine.measure import Measured, Plan, identify, measure
from kernsmith.errors import KernsmithError, UserError
from kernsmith.ledger import BuildRow, Ledger
from kernsmith.ledger.measured import MeasuredRun
from kernsmith.ledger.table import reading
from kernsmith.ledger.voids import ListedRun, Selection, find_runs
from kernsmith.machine.command import Ran
from kernsmith.machine.running import RunningKernel
from kernsmith.report.measure.document import as_json
from kernsmith.report.measure.sections import measure_sections
from kernsmith.report.measure.words import cautions
from kernsmith.report.plain import as_text
from kernsmith.stats.nested import NestedEffect, Timing, nested_effect
from whole_provenance import put_kernel

OLD = RunningKernel("aa" * 20, "7.2.9", "#1", "boot-1", "2026-01-01T00:00:00", ("quiet",), "host")
NEW = replace(OLD, build_id="bb" * 20, release="7.3.4")
Run = Callable[[Path, Sequence[str]], Ran]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    opened = Ledger()
    yield opened
    opened.close()


def clock(seconds: dict[str, float], seed: int = 1, spread: float = 0.01) -> Run:
    """Runs that take these seconds by the second word of the command, more or less."""
    random = Random(seed)

    def run(program: Path, words: Sequence[str]) -> Ran:
        time = seconds[words[1]] * exp(random.gauss(0, spread))
        rest = {"user_seconds": 0.7 * time, "sys_seconds": 0.0, "minor_faults": 100.0}
        return Ran({"seconds": time, **rest}, 0, "")

    return run


def commands(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("echo", name) for name in names)


def listed() -> list[ListedRun]:
    with reading(None) as connection:
        return find_runs(connection, Selection(machine="running"))


def test_commands_are_compared_within_rounds(ledger: Ledger) -> None:
    plan = Plan(commands("a", "b"), runs=12)
    found = measure(ledger, plan, run=clock({"a": 1.0, "b": 1.1}), running=OLD)
    (pair,) = found.comparisons
    assert (pair.of, pair.baseline, pair.treated) == ("command", "echo a", "echo b")
    assert pair.found.units.paired and pair.found.units.level == "run"
    assert pair.found.effect.ratio == pytest.approx(1.1, rel=0.02)
    assert pair.significant
    assert "echo b takes" in as_text(measure_sections(found))


def test_runs_are_compared_in_the_order_that_was_drawn(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Timing] = []

    def compared(rows: list[Timing], *names: str, alpha: float) -> NestedEffect:
        seen.extend(rows)
        return nested_effect(rows, *names, alpha=alpha)

    monkeypatch.setattr("kernsmith.engine.measure.nested_effect", compared)
    later = itertools.count(1)

    def run(program: Path, words: Sequence[str]) -> Ran:
        return Ran(dict.fromkeys(("seconds", "user_seconds", "sys_seconds"), next(later)), 0, "")

    measure(ledger, Plan(commands("a", "b"), runs=20, warm_up=1), run=run, running=OLD)
    assert [row.position + 1 for row in seen] == [row.value for row in seen]
    assert len(seen) == 40


def test_every_run_that_counts_is_in_the_ledger(ledger: Ledger) -> None:
    measure(
        ledger,
        Plan(commands("a", "b"), runs=3, warm_up=2),
        run=clock({"a": 1, "b": 1}),
        running=OLD,
    )
    rows = listed()
    assert sorted(row.workload for row in rows) == ["echo a"] * 3 + ["echo b"] * 3
    assert {(row.variant, row.layout, row.status) for row in rows} == {
        ("Linux 7.2.9", "default", "ok")
    }
    assert len({row.trial for row in rows}) == 6
    (boot,) = {row.boot for row in rows}
    assert boot is not None
    (row,) = ledger.boots([boot]).values()
    assert (row.session, row.kernel, row.command) == ("boot-1", "aa" * 20, ("quiet",))


def test_what_a_command_takes_is_not_what_a_trial_takes(ledger: Ledger) -> None:
    measure(ledger, Plan(commands("a"), runs=2), run=clock({"a": 1}), running=OLD)
    assert ledger.typical_seconds("self") == {}


def test_one_boot_is_one_row_however_often_one_measures(ledger: Ledger) -> None:
    for _ in range(2):
        measure(ledger, Plan(commands("a"), runs=2), run=clock({"a": 1}), running=OLD)
    measure(
        ledger, Plan(commands("a"), runs=2), run=clock({"a": 1}), running=replace(OLD, boot="2")
    )
    assert [row.boot for row in listed()] == [1, 1, 1, 1, 2, 2]


def test_the_order_is_drawn_anew_in_each_round(ledger: Ledger) -> None:
    seen: list[str] = []

    def run(program: Path, words: Sequence[str]) -> Ran:
        seen.append(words[1])
        return Ran({"seconds": 1.0, "user_seconds": 0.5, "sys_seconds": 0.1}, 0, "")

    measure(ledger, Plan(commands("a", "b", "c"), runs=20, warm_up=0), run=run, running=OLD)
    rounds = [tuple(seen[place : place + 3]) for place in range(0, 60, 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len(set(rounds)) > 2


def boots(ledger: Ledger, kernel: RunningKernel, seconds: float, names: Sequence[str]) -> Measured:
    """A command measured in several boots of a kernel, which scatter by 1 %."""
    for seed, name in enumerate(names):
        time = seconds * exp(Random(name).gauss(0, 0.01))
        found = measure(
            ledger, Plan(commands("a"), runs=4), run=clock({"a": time}, seed, 0.002),
            running=replace(kernel, boot=name),
        )  # fmt: skip
    return found


def test_another_kernel_that_ran_the_same_is_compared_by_boots(ledger: Ledger) -> None:
    boots(ledger, OLD, 1.0, ["1", "2", "3", "4", "5"])
    found = boots(ledger, NEW, 0.9, ["6", "7", "8", "9", "10"])
    (pair,) = found.comparisons
    assert (pair.of, pair.command) == ("kernel", "echo a")
    assert (pair.baseline, pair.treated) == ("Linux 7.2.9", "Linux 7.3.4")
    assert (pair.found.units.level, pair.found.effect.n) == ("boot", 5)
    assert pair.found.effect.ratio == pytest.approx(0.9, rel=0.03)
    assert any("each kernel is one layout" in sentence for sentence in cautions(found))


def test_one_boot_of_each_kernel_is_said_to_be_one(ledger: Ledger) -> None:
    boots(ledger, OLD, 1.0, ["1"])
    found = boots(ledger, NEW, 1.0, ["2"])
    assert found.comparisons[0].found.units.fixed == ("layout", "boot")
    assert any("in one boot only" in sentence for sentence in cautions(found))


def test_another_computer_is_not_compared(ledger: Ledger) -> None:
    boots(ledger, replace(OLD, host="other"), 1.0, ["1", "2"])
    assert boots(ledger, NEW, 1.0, ["3", "4"]).comparisons == ()


def test_a_failure_ends_it_and_is_recorded(ledger: Ledger) -> None:
    def run(program: Path, words: Sequence[str]) -> Ran:
        return Ran({"seconds": 1.0, "user_seconds": 0.5, "sys_seconds": 0.1}, 2, "no\nsuch file")

    with pytest.raises(KernsmithError, match="echo a ended with exit code 2: such file"):
        measure(ledger, Plan(commands("a"), warm_up=0), run=run, running=OLD)
    (row,) = listed()
    assert row.status == "failed"
    found = measure(ledger, Plan(commands("a"), 3, ignore_failure=True), run=run, running=OLD)
    assert found.failed == {"echo a": 3}
    assert "3 of 3 runs of echo a failed, and count" in cautions(found)


def test_the_document_holds_every_value(ledger: Ledger) -> None:
    found = measure(ledger, Plan(commands("a", "b"), 4), run=clock({"a": 1, "b": 2}), running=OLD)
    document = json.loads(as_json(found))
    assert (document["format"], document["version"]) == ("kernsmith-measure", 1)
    assert document["kernel"]["build_id"] == "aa" * 20
    first = document["commands"][0]
    assert first["metrics"]["seconds"]["values"] == [
        ran.metrics["seconds"] for ran in found.runs["echo a"]
    ]
    assert first["metrics"]["minor_faults"]["unit"] == "faults"
    (pair,) = document["comparisons"]
    assert (pair["unit"], pair["fixed"], pair["units"]) == ("run", ["layout", "boot"], 4)
    assert {each["name"] for each in document["conditions"]} >= {"governor", "load", "throttling"}


def test_a_kernel_of_the_store_is_known_by_its_build_id(ledger: Ledger) -> None:
    key = "c0ffee" * 4
    folder = paths.kernels() / key[:20]
    put_kernel(folder, key, build_id=NEW.build_id)
    assert identify(ledger, NEW).name == "7.3.4", "no study says how it is called"
    ledger.record_builds([BuildRow("s", "autofdo", key, "ok", "", "clang", "lld")])
    known = identify(ledger, NEW)
    assert (known.key, known.name, known.known) == (key, "autofdo", True)
    other = identify(ledger, OLD)
    assert (other.key, other.name, other.known) == ("aa" * 20, "Linux 7.2.9", False)


@pytest.mark.parametrize(
    ("words", "options", "sentence"),
    [
        ((), {}, "a command is missing"),
        (("a", "a"), {}, "a command is given twice"),
        (("a",), {"runs": 0}, "--runs is at least 1"),
        (("a",), {"warm_up": -1}, "--warm-up at least 0"),
        (("a",), {"alpha": 5.0}, "--alpha is a probability"),
    ],
)
def test_plans_that_cannot_be(
    words: Sequence[str], options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        Plan(commands(*words), **options)  # type: ignore[arg-type]


def failing(seconds: float, code: int) -> Run:
    def run(program: Path, words: Sequence[str]) -> Ran:
        rest = {"user_seconds": seconds / 2, "sys_seconds": 0.0}
        return Ran({"seconds": seconds, **rest}, code, "")

    return run


def test_kernels_are_compared_without_the_runs_that_failed(ledger: Ledger) -> None:
    plan = Plan(commands("a"), runs=4, ignore_failure=True)
    measure(ledger, plan, run=failing(1.0, 0), running=OLD)
    found = measure(ledger, plan, run=failing(0.1, 2), running=replace(NEW, boot="2"))
    assert found.comparisons == (), "a command that fails at once is no faster kernel"
    told = "4 runs of echo a on Linux 7.3.4 failed: kernels are compared without them"
    assert told in cautions(found)
    found = measure(ledger, plan, run=failing(2.0, 0), running=replace(NEW, boot="2"))
    (pair,) = found.comparisons
    assert pair.found.effect.ratio == pytest.approx(2.0)
    assert told in cautions(found)


def test_a_command_in_another_folder_is_another_command(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, kernel in (("a", OLD), ("b", replace(NEW, boot="2"))):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found = measure(ledger, Plan(commands("a"), 3), run=failing(1.0, 0), running=kernel)
    assert found.comparisons == ()
    told = "3 runs of echo a on Linux 7.2.9 were in another folder"
    assert any(sentence.startswith(told) for sentence in cautions(found))
    assert json.loads(as_json(found))["left_out"] == [
        {"command": "echo a", "kernel": "Linux 7.2.9", "failed": 0, "elsewhere": 3, "unknown": 0}
    ]


def test_runs_of_an_older_ledger_are_compared_and_said_to_be_of_no_known_folder(
    ledger: Ledger,
) -> None:
    run = MeasuredRun("k", "Linux 7.2.9", "default", "echo a", "boot", 1, 1.0)
    assert is_comparable(run, "/here")
    (out,) = left_out([run], "/here")
    assert (out.failed, out.elsewhere, out.unknown) == (0, 0, 1)
