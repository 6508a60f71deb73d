# SPDX-License-Identifier: GPL-2.0-or-later
"""Random layouts that are replayed: what is booted, recorded, checked, repeated and kept."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith.cli.outcome import exit_code
from kernsmith.engine import Silent
from kernsmith.engine.profiles import Profiles
from kernsmith.engine.recorded import Asked, Stored, recorded_result
from kernsmith.engine.replay import Replay, Traced, replay
from kernsmith.engine.replayed import free_traces
from kernsmith.engine.run import measure
from kernsmith.engine.traces import hand_over
from kernsmith.engine.trial_rows import CHECKED, record_default
from kernsmith.engine.verdicts import Measured, StudyResult, judge
from kernsmith.engine.workers import Done, LocalWorkers, Result, Work
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import TraceFile, layout_name, random_order, read_link_map
from kernsmith.ledger import Ledger
from kernsmith.ledger.table import read_study_table, reading
from kernsmith.ledger.voids import Selection, find_runs
from kernsmith.machine import Outcome
from kernsmith.report.study.document import study_document
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.study import Design, Study, plan_variants
from kernsmith.study.file import study_from_tables
from made_trace import EXECUTED, HOT, make_kernel
from scripted_machine import Scripted, prepared, traced

LAYOUTS = 10  # more than are replayed together
DESIGN = Design(layouts=LAYOUTS, layouts_by="replay")
WORKLOADS = 3
LABELS = 2
CHECKS = LABELS * CHECKED * WORKLOADS


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    script(tmp_path)
    return Scripted(tmp_path, slots=2, cpu=PENALTIES)


def script(folder: Path, **words: object) -> None:
    """Boots that measure what replays say, but for what `words` say."""
    (folder / "script.json").write_text(json.dumps({"cycles": predicted(folder)} | words))


def predicted(folder: Path) -> dict[str, float]:
    """model_cycles by the names of images' folders."""
    kernel = folder / "predicted"
    if not kernel.exists():
        make_kernel(kernel)
    trace = TraceFile("pipe", kernel / "traces" / "pipe.trace", "made")
    text = read_link_map(kernel / "link.map")
    seeds = [f"{label}.1.{number}" for number in range(1, LAYOUTS + 1) for label in ("a", "b")]
    layouts = tuple(text.arranged(random_order(HOT, seed)) for seed in seeds)
    asked = Replay(Traced(kernel, (trace,)), PENALTIES, layouts)
    costs = replay(lambda value: None, asked)
    return {image(seed): cost["model_cycles"] for seed, (cost,) in zip(seeds, costs, strict=True)}


def image(seed: str) -> str:
    """The name of the folder of a relinked image."""
    return layout_name("random", random_order(HOT, seed))


def measured(machine: Scripted, design: Design = DESIGN, *, keep: bool = False) -> list[Measured]:
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    try:
        plan = prepared(machine, design)
        return measure(plan, traced(machine), ledger, Silent(), keep_traces=keep)
    finally:
        ledger.close()


def traces(machine: Scripted) -> list[Path]:
    return list(traced(machine).folder.glob("traces/*/*.trace"))


def judged(machine: Scripted, found: list[Measured]) -> StudyResult:
    return judge(prepared(machine, DESIGN), Stored({}), found, 0.0)


def test_one_boot_of_a_workload_and_two_checks_serve_all_layouts(machine: Scripted) -> None:
    found = measured(machine)
    assert len(found) == LABELS * WORKLOADS * (1 + LAYOUTS)
    assert all(item.run is not None and item.run.ok for item in found)
    kernel = traced(machine).folder.name
    started = Counter(line.split()[0] for line in machine.started())
    # Both labels are one kernel: its boots in the default layout are those that wrote traces.
    assert started == {
        kernel: WORKLOADS,
        **{image(f"{label}.1.{number}"): WORKLOADS for label in "ab" for number in (1, 2)},
    }
    assert not traces(machine), "a trace was left behind"


def test_a_replay_is_a_run_that_says_what_it_was_replayed_from(machine: Scripted) -> None:
    script(machine.folder, cycles={"a" * 20: 5e6})
    expected = predicted(machine.folder)
    for item in measured(machine):
        assert item.run is not None
        cycles = item.run.metrics["model_cycles"]
        if item.replayed:
            default = f"made/{item.trial.workload}-1-1"
            assert item.run.provenance["replayed_from"]["trace"] == default
            assert item.run.boot is None
            assert cycles == (expected[image(item.trial.layout.seed)], "cycles")
        else:
            assert str(item.trial.layout) == "default"
            assert item.run.boot is not None
            assert cycles == (5e6, "cycles")


def test_asking_again_repeats_nothing_and_more_layouts_cost_one_boot(machine: Scripted) -> None:
    first = measured(machine)
    before = machine.started()
    assert measured(machine) == first
    assert machine.started() == before
    more = measured(machine, replace(DESIGN, layouts=LAYOUTS + 5))
    assert more[: len(first)] == first
    assert len(machine.started()) == len(before) + WORKLOADS
    assert all(item.run is not None and item.run.ok for item in more)


def test_a_booted_layout_is_another_trial_than_a_replayed_one(machine: Scripted) -> None:
    """Whoever asks for boots gets boots; those that checked the replays are among them."""
    replays = measured(machine)
    before = len(machine.started())
    boots = measured(machine, replace(DESIGN, layouts_by="boot"))
    assert len(machine.started()) - before == LABELS * WORKLOADS * LAYOUTS - CHECKS
    assert [one.digest == other.digest for one, other in zip(replays, boots, strict=True)] == [
        str(one.trial.layout) == "default" for one in replays
    ]


def test_what_a_killed_study_has_recorded_is_not_repeated(machine: Scripted) -> None:
    script(machine.folder, fork=["crash"])
    assert worker(machine).wait(timeout=60) == -signal.SIGKILL
    ended = [line for line in machine.started() if "fork" not in line]
    found = measured(machine)
    assert all(item.run is not None and item.run.ok for item in found)
    again = Counter(machine.started())
    assert all(again[line] == 1 for line in ended)
    assert not traces(machine)


def test_two_processes_share_the_replays(machine: Scripted) -> None:
    script(machine.folder, **{name: ["pause"] * 9 for name in ("pipe", "fork", "mmap")})
    workers = [worker(machine) for _ in range(2)]
    assert [each.wait(timeout=120) for each in workers] == [0, 0]
    before = machine.started()
    assert all(item.run is not None and item.run.ok for item in measured(machine))
    assert machine.started() == before
    assert max(Counter(before).values()) == 1
    assert not traces(machine)


def worker(machine: Scripted) -> "subprocess.Popen[bytes]":
    """Another process that does the study, with the kernel that is there before it starts."""
    traced(machine)
    code = (
        "import sys; from pathlib import Path; import test_replayed as t; "
        "t.measured(t.Scripted(Path(sys.argv[1]), slots=1, "
        "cpu=t.PENALTIES))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(machine.folder)],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


def test_boots_that_train_write_the_traces(machine: Scripted) -> None:
    plan, ledger = prepared(machine, DESIGN), Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    variant = plan.variants[0]
    kernel = traced(machine).kernel(variant)
    assert kernel is not None

    def seen(kernel: Kernel, workload: Workload, outcome: Outcome, started: str) -> None:
        record_default(plan, machine, ledger, kernel, workload, outcome, started)
        assert outcome.trace is not None
        hand_over(kernel, workload, machine, outcome, outcome.trace)

    plan = replace(plan, train=plan.workloads)
    Profiles(plan, Silent(), LocalWorkers()).counts(
        kernel, seen, [workload.name for workload in plan.train], variant
    )
    ledger.close()
    started = machine.started()
    assert len(started) == WORKLOADS
    assert all(item.run is not None and item.run.ok for item in measured(machine))
    assert len(machine.started()) == len(started) + CHECKS
    assert not traces(machine)


@dataclass(frozen=True)
class EndEarly(LocalWorkers):
    """Begin so many pieces, and no further one."""

    most: int = 1

    def each(
        self,
        works: Iterable[Work[Result]],
        take: Callable[[Done[Result]], None],
        *,
        say: Callable[[int, object], None] = lambda place, value: None,
        slots: int | None = None,
    ) -> None:
        super().each(islice(works, self.most), take, say=say, slots=1)


def test_what_was_trained_ahead_is_not_trained_again(machine: Scripted) -> None:
    """As far as the workers got; what failed is tried again when the kernel's turn has come."""
    script(machine.folder, fork=["panic"])
    plan = prepared(machine, DESIGN)
    plan = replace(plan, train=plan.workloads)
    study = replace(plan.study, factors=(("profile", ("autofdo",)),))
    (variant,) = plan_variants(study, [workload.name for workload in plan.train])
    kernel = traced(machine).kernel(variant)
    assert kernel is not None
    for most, begun in ((1, 1), (2, 2), (9, 4)):
        profiles = Profiles(plan, Silent(), EndEarly(most=most))
        if most < 9:
            profiles.begin(variant, kernel, lambda *run: None)
        else:
            profiles.counts(kernel, lambda *run: None, variant.steps[-1].train, variant.trainer)
        assert len(machine.started()) == begun
    assert Counter(line.split()[1] for line in machine.started()) == {
        "pipe": 1,
        "fork": 2,
        "mmap": 1,
    }


def test_until_it_is_clear_traces_stay_for_more_layouts(machine: Scripted) -> None:
    design = replace(DESIGN, until=0.5)
    measured(machine, design)
    assert len(traces(machine)) == WORKLOADS
    started = len(machine.started())
    measured(machine, replace(design, layouts=LAYOUTS + 5))
    assert len(machine.started()) == started, "a trace was taken again"
    free_traces(prepared(machine, design), traced(machine))
    assert not traces(machine)


def test_where_a_boot_is_not_what_was_predicted_the_command_fails(machine: Scripted) -> None:
    wrong = predicted(machine.folder)
    wrong[image("b.1.2")] *= 1.006
    script(machine.folder, cycles=wrong)
    result = judged(machine, measured(machine))
    (failure,) = result.failures
    assert failure.startswith(
        "the replayed layout random:b.1.2 of label=b is not what booting it gives: "
    )
    assert "-0.60 % and more than 0.5 %; most in " in failure
    document = study_document(result)
    assert exit_code(document) == 1
    assert [check.holds for check in document.checks] == [True] * 3 + [False]
    assert [check.error for check in document.checks][:3] == [0.0] * 3
    for shown in (study_markdown(document), study_page(document)):
        assert "Replayed, checked by linking and booting" in shown
        assert "-0.596" in shown


def test_what_a_layout_executes_beyond_what_was_traced_is_no_error_of_the_replay(
    machine: Scripted,
) -> None:
    """0.4 % more instructions at the same price, then 0.4 % more that cost 1 %."""
    for cost, holds in ((1.004, True), (1.01, False)):
        cycles = predicted(machine.folder)
        cycles[image("b.1.2")] *= cost
        counts = {"": EXECUTED, image("b.1.2"): 1.004 * EXECUTED}
        script(machine.folder, cycles=cycles, instructions=counts)
        (machine.folder / "ledger.sqlite").unlink(missing_ok=True)
        document = study_document(judged(machine, measured(machine)))
        assert exit_code(document) == (0 if holds else 1)
        checks = {check.layout: check for check in document.checks}
        check = checks.pop("random:b.1.2")
        assert check.holds is holds
        assert check.error == pytest.approx(100 * (1 / cost - 1))
        assert check.more == pytest.approx(0.4)
        assert check.error_each == pytest.approx(100 * (1.004 / cost - 1))
        assert check.note.startswith(
            "label=b, random:b.1.2: this layout executes 0.40 % more instructions than its default "
            "one, which no replay knows: of the error of "
        )
        assert not any(other.note or other.more for other in checks.values())
        for shown in (study_markdown(document), study_page(document)):
            assert "this layout executes 0.40 % more instructions" in shown
        assert len(document.failures) == (not holds)
        for failure in document.failures:
            assert "-0.99 %, -0.59 % for each instruction (this layout executes 0.40 %" in failure


def test_the_ledger_knows_replays_and_what_checked_them(machine: Scripted) -> None:
    own = study_document(judged(machine, measured(machine)))
    url = f"sqlite:///{machine.folder}/ledger.sqlite"
    (traced(machine).folder / "provenance.json").unlink()  # the store may have lost the kernel
    recorded = study_document(recorded_result(read_study_table(None, url), Asked()))
    assert recorded.checks == own.checks != ()
    assert recorded.runs == own.runs
    assert 'layouts_by = "replay"' in recorded.study.text
    opened = Ledger(url)
    booted, replayed = (opened.typical_seconds("scripted", replayed=way) for way in (False, True))
    opened.close()
    assert booted == dict.fromkeys(("fork", "mmap", "pipe"), pytest.approx(0.1))
    assert set(replayed) == set(booted)
    with reading(url) as connection:
        ways = Counter(run.replayed for run in find_runs(connection, Selection(status="ok")))
    assert ways == {True: LABELS * WORKLOADS * LAYOUTS, False: WORKLOADS + CHECKS}


def test_a_layout_that_does_not_boot_is_told(machine: Scripted) -> None:
    """Replays do not see a kernel that dies in another layout: the two that are booted do."""
    script(machine.folder, pipe=["ok", "panic"])
    result = judged(machine, measured(machine))
    (failure,) = result.failures
    assert "could not be checked by booting: no run of pipe" in failure


def test_without_a_trace_one_workload_is_left_out(machine: Scripted) -> None:
    script(machine.folder, fork=["panic"] * 9)
    found = measured(machine)
    ended = Counter((item.trial.workload, item.run.status if item.run else "") for item in found)
    assert ended["fork", "panic"] == LABELS
    assert ended["fork", ""] == LABELS * LAYOUTS
    assert ended["pipe", "ok"] == LABELS * (1 + LAYOUTS)
    # On an exact machine the next command does not try it again.
    assert measured(machine) == found
    kernel = traced(machine).folder.name
    assert machine.started().count(f"{kernel} fork 0") == 1


def test_traces_stay_when_they_are_asked_for(machine: Scripted) -> None:
    measured(machine, keep=True)
    assert sorted(path.name for path in traces(machine)) == [
        f"{name}-1-1.trace" for name in ("fork", "mmap", "pipe")
    ]
    started = len(machine.started())
    measured(machine, replace(DESIGN, layouts=LAYOUTS + 1))
    assert len(machine.started()) == started
    assert len(traces(machine)) == WORKLOADS


def test_replays_are_refused_where_nothing_can_be_replayed(machine: Scripted) -> None:
    tables = {"source": {"use": "debian:7.3"}, "factors": {"label": ["a", "b"]}}
    by_place = {"layouts_by": "replay", "pairing": "place"}
    with pytest.raises(UserError, match=r'study: design.layouts_by: .* allowed is "boot"'):
        study_from_tables(tables | {"design": by_place}, origin="study", name="x")
    assert Study("x", "lab", ()).digest == Study("x", "lab", (), design=Design()).digest
    assert Study("x", "lab", ()).digest != Study("x", "lab", (), design=DESIGN).digest
