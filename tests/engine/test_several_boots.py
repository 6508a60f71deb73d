# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts that are replayed from several boots of each kernel and workload."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest

from cpu_models import PENALTIES
from kernsmith.engine import Silent, run
from kernsmith.engine.failures import Failures
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.recorded import Asked, Stored, recorded_result
from kernsmith.engine.run import measure
from kernsmith.engine.traces import trace_path
from kernsmith.engine.trial_rows import CHECKED, trial_rows
from kernsmith.engine.verdicts import Measured, StudyResult, judge, observations, question
from kernsmith.engine.workers import Workers
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger, RunRow, now
from kernsmith.ledger.table import read_study_table
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.report.ledger.page import variance_sections
from kernsmith.report.plain import as_markdown
from kernsmith.report.study.document import study_document
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.stats.study import analyse
from kernsmith.study import Design, Variant
from kernsmith.study.file import read_study
from kernsmith.study.writing import write_study
from made_trace import EXECUTED, ROUNDS
from scripted_machine import WORKLOADS, MadeTraced, Scripted, prepared, traced

LAYOUTS, BOOTS, LABELS = 8, 3, 2
DESIGN = Design(layouts=LAYOUTS, layouts_by="replay", boots=BOOTS, every=1)
LUCK = (0, 1, 2)  # rounds of the trace more, in one boot after the other
EACH = 1 / ROUNDS
KERNELS = ("optimisation", ("O2", "O3"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    told = {"luck": LUCK, "instructions": {"": EXECUTED}}
    (tmp_path / "script.json").write_text(json.dumps(told))
    return Scripted(tmp_path, slots=2, cpu=PENALTIES)


class Notes(Silent):
    """What a study says in sentences."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, share: float | None = None) -> None:
        self.notes.append(text)


def measured(machine: Scripted, design: Design = DESIGN) -> list[Measured]:
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    try:
        return measure(prepared(machine, design), traced(machine), ledger, Silent())
    finally:
        ledger.close()


def judged(machine: Scripted, design: Design = DESIGN) -> StudyResult:
    return judge(prepared(machine, design), Stored({}), measured(machine, design), 0.0)


def instructions(item: Measured) -> float:
    assert item.run is not None
    return item.run.metrics["kernel_instructions"][0]


def test_layouts_are_dealt_out_to_the_boots(machine: Scripted) -> None:
    found = measured(machine)
    for item in found:
        number, label = item.trial.layout_number, item.trial.variant.label
        boot = number % BOOTS + (BOOTS if label == "b" and number else 0)
        assert instructions(item) == pytest.approx(EXECUTED * (1 + EACH * LUCK[boot % BOOTS]))
        if item.replayed:
            assert item.run is not None
            of = f"made/{item.trial.workload}-1-1{f'-boot-{boot}' if boot else ''}"
            assert item.run.provenance["replayed_from"]["trace"] == of
    started = Counter(line.split()[0] for line in machine.started())
    # Both labels are one kernel, and no boot of it serves both.
    assert started.pop(traced(machine).folder.name) == len(WORKLOADS) * BOOTS * LABELS
    assert sum(started.values()) == LABELS * CHECKED * len(WORKLOADS)
    assert not list(traced(machine).folder.glob("traces/*/*.trace")), "a trace was left behind"


def test_a_check_boots_what_the_replay_is_of(machine: Scripted) -> None:
    """The same boot in another layout executes what was traced, but for what the layout changes."""
    result = judged(machine)
    assert len(result.checks) == LABELS * CHECKED
    assert all(check.whole.more == pytest.approx(0) for check in result.checks)


def test_checks_know_the_luck_of_a_boot_and_so_does_the_ledger(machine: Scripted) -> None:
    told = {"dearer": [1, 1.02, 1.04], "instructions": {"": EXECUTED}}
    (machine.folder / "script.json").write_text(json.dumps(told))
    own = study_document(judged(machine))
    url = f"sqlite:///{machine.folder}/ledger.sqlite"
    recorded = study_document(recorded_result(read_study_table(None, url), Asked()))
    assert recorded.checks == own.checks
    assert len({check.luck for check in own.checks}) == 1
    # Two labels of three boots each, that lie 0, 2 and 4 % above the first in all workloads.
    assert own.checks[0].luck == pytest.approx(2.776 * sqrt(2) * 1.96, rel=0.01)
    assert own.checks[0].limit == pytest.approx(0.5 + own.checks[0].luck)
    assert "% is the luck of a boot)" in study_markdown(own)
    alone = study_document(judged(machine, replace(DESIGN, boots=1)))
    assert {check.luck for check in alone.checks} == {0}
    assert "luck of a boot" not in study_markdown(alone)


def test_asking_again_repeats_nothing_and_one_boot_more_costs_its_own(machine: Scripted) -> None:
    first = measured(machine)
    before = machine.started()
    assert measured(machine) == first
    assert machine.started() == before
    measured(machine, replace(DESIGN, boots=BOOTS + 1))
    more = len(machine.started()) - len(before)
    # Each boot has other layouts now, and its trace is gone; layouts 1 and 2, that are checked,
    # belong to the boots that they belonged to, but for those of the second label.
    assert more == len(WORKLOADS) * ((BOOTS + 1) * LABELS + CHECKED)


def test_one_boot_is_what_it_was_before_there_were_several(machine: Scripted) -> None:
    plain = replace(DESIGN, boots=1)
    plan = prepared(machine, plain)
    rows = trial_rows(plan, traced(machine)).values()
    assert all("boot" not in row.conditions for row in rows)
    several = trial_rows(prepared(machine, DESIGN), traced(machine)).values()
    same = {row.digest for row in rows} & {row.digest for row in several}
    # The default layout, which is one for both labels, and every layout of the first boot.
    assert len(same) == len(WORKLOADS) * (1 + LAYOUTS // BOOTS)
    kernel = traced(machine).kernel(plan.variants[0])
    assert kernel is not None
    paths = {trace_path(kernel, replace(WORKLOADS[0], boot=n), machine) for n in range(BOOTS)}
    assert len(paths) == BOOTS


def test_an_interval_is_of_boots(machine: Scripted) -> None:
    """Three boots that are 5 % apart are three values, however many layouts each is replayed in."""
    result = judged(machine)
    verdict = result.verdict("label=b", "overall", "kernel_instructions")
    assert verdict is not None
    assert verdict.effect.n == BOOTS
    assert verdict.effect.ratio == pytest.approx(1)
    assert verdict.effect.ci is not None
    low, high = verdict.effect.ci
    assert low < 1 - EACH
    assert high > 1 + EACH
    rows = observations(result.measured, DESIGN)
    units = {row.layout for row in rows if row.variant == "label=b"}
    assert units == {"default", *(f"b.boot-{n}" for n in range(BOOTS, 2 * BOOTS))}
    assert not verdict.effect.paired, "labels have boots of their own"
    of_layouts = observations(result.measured, replace(DESIGN, boots=1))
    assert len({row.layout for row in of_layouts if row.variant == "label=b"}) == 1 + LAYOUTS


def test_a_report_tells_of_the_boots(machine: Scripted) -> None:
    document = study_document(judged(machine))
    assert document.boots == BOOTS
    (spread, *_) = document.stress
    assert spread.spread_of_boots == pytest.approx(100 * 2 * EACH / (1 + EACH), rel=0.02)
    page, text = study_page(document), study_markdown(document)
    assert f"What was executed was traced in {BOOTS} boots of each variant and workload" in page
    assert "where the code landed" not in page
    assert "luck: layout and boot move one and the same kernel" in page
    assert "which layout hardly touches" not in page
    assert "luck&#39;s share" in page or "luck's share" in page
    assert "What luck alone does" in page
    assert "Intervals speak of other boots of the same kernels" in page
    assert "Intervals speak of other random layouts" not in page
    assert f"n = {BOOTS} boots" in page
    assert "over boots, %" in text
    assert f"{LAYOUTS * LABELS} random layouts, replayed from {BOOTS} boots of each" in text
    assert "layout and boot move one and the same kernel by up to" in page
    alone = study_document(judged(machine, replace(DESIGN, boots=1)))
    assert "over boots, %" not in study_markdown(alone)
    assert "layouts are dealt out" not in study_page(alone)
    assert "What layout alone does" in study_page(alone)
    assert "Intervals speak of other random layouts" in study_page(alone)


def test_where_the_variance_comes_from_is_boots_and_the_layouts_in_them(machine: Scripted) -> None:
    result = judged(machine)
    found = analyse(
        observations(result.measured, DESIGN), question(result.prepared, result.measured)
    )
    parts = [part.name for part in found[0].components[0].components]
    assert parts == ["layout + boot", "run"]
    told = as_markdown(variance_sections(found, BOOTS))
    assert "boots a variant" in told
    assert "or layouts a boot" in told
    words = " ".join(told.split())
    assert "| pipe | boot |" in words
    assert "| pipe | layout |" in words
    assert "+ boot" not in told
    assert "layout + boot" in as_markdown(variance_sections(found))
    first = [m for m in result.measured if m.trial.boot in (0, BOOTS)]
    of_one = analyse(observations(first, DESIGN), question(result.prepared, first))
    assert {verdict.effect.n for each in of_one for verdict in each.verdicts} == {1}
    assert not variance_sections(of_one, BOOTS)


def test_more_layouts_a_boot_help_where_layouts_differ_by_more_than_boots(
    machine: Scripted,
) -> None:
    plan = prepared(machine, replace(DESIGN, layouts=24), factor=KERNELS)
    random = np.random.default_rng(1)
    found = []
    for trial in plan.trials:
        value = (1e6 * exp(random.normal(0, 0.01)), "cycles")
        row = RunRow(str(trial.position), 1, "ok", "", "", now(), 1.0, {"model_cycles": value})
        found.append(Measured(trial, row.trial, row, replayed=trial.layout_number > 0))
    (cycles,) = analyse(observations(found, plan.study.design), question(plan, found), percent=1.0)
    for each in cycles.components:
        parts = {part.name: part.share for part in each.components}
        assert parts["run"] > parts["layout + boot"]
    assert any(need.runs and need.runs > 8 for each in cycles.components for need in each.needs)
    told = as_markdown(variance_sections([cycles], BOOTS))
    assert "or layouts a boot" in told


def test_two_kernels_are_paired_boot_by_boot(machine: Scripted) -> None:
    """Boots that lie apart are no difference between kernels: they have the same ones."""
    plan = prepared(machine, DESIGN, factor=KERNELS)
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    try:
        found = measure(plan, traced(machine), ledger, Silent())
    finally:
        ledger.close()
    verdict = judge(plan, Stored({}), found, 0.0).verdict(
        "optimisation=O3", "overall", "kernel_instructions"
    )
    assert verdict is not None
    assert verdict.effect.paired
    assert verdict.effect.n == BOOTS
    assert verdict.effect.ci == pytest.approx((1, 1))


def test_a_boot_that_fails_is_missing_and_the_others_count(machine: Scripted) -> None:
    told = json.loads((machine.folder / "script.json").read_text())
    told["pipe"] = ["ok", "panic"]
    (machine.folder / "script.json").write_text(json.dumps(told))
    one = replace(machine, slots=1)  # the second boot that begins is boot 1
    events = Notes()
    plan = prepared(one, DESIGN, factor=KERNELS)
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    try:
        found = measure(plan, traced(machine), ledger, events)
    finally:
        ledger.close()
    lost = {(i.trial.workload, i.trial.boot) for i in found if i.run is None}
    assert lost == {("pipe", 1)}
    assert any(
        each.startswith("panic: pipe, boot 1 in the default layout: as the script says")
        for each in events.notes
    )
    verdict = judge(plan, Stored({}), found, 0.0).verdict(
        "optimisation=O3", "overall", "kernel_instructions"
    )
    assert verdict is not None
    assert verdict.effect.n == BOOTS - 1


class Ready(MadeTraced):
    """Has made all that a study needs."""

    def __init__(self, folder: Path, plan: Prepared) -> None:
        super().__init__(folder)
        self.prepared, self.failures = plan, Failures()

    def kernel(self, variant: Variant) -> Kernel:
        built = {"compiler": "c", "linker": "l", "objects": 1, "seconds": 1.0, "text_bytes": 1}
        kernel = super().kernel(variant)
        return replace(kernel, provenance={**kernel.provenance, **built})

    def failure(self, variant: Variant) -> str:
        return ""

    def objects(self, variant: Variant) -> int:
        return 1

    def build(self, meanwhile: Callable[[Workers], None] | None = None) -> None:
        pass

    def link(self) -> None:
        pass

    def find(self) -> int:
        return 0

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        return ()


def test_a_study_ends_with_the_boot_that_failed(
    machine: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"pipe": ["ok", "panic"], "instructions": {"": EXECUTED}}
    (machine.folder / "script.json").write_text(json.dumps(told))
    one = replace(machine, slots=1)  # the second boot that begins is boot 1
    plan = prepared(one, DESIGN, factor=KERNELS)
    monkeypatch.setattr(run, "open_maker", lambda *_: Ready(traced(machine).folder, plan))
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    try:
        result = run.run_study(plan, ledger, Silent(), by_function=False)
    finally:
        ledger.close()
    lost = [each for each in result.failures if each.startswith("not replayed: ")]
    # Both levels are one made kernel here: its boot fails for both.
    assert sorted(lost) == [
        f"not replayed: optimisation={level}, pipe, boot 1: the boot that writes the trace has not "
        "ended well"
        for level in ("O2", "O3")
    ]


def test_traces_of_all_boots_stay_until_they_are_freed(machine: Scripted) -> None:
    ledger = Ledger(f"sqlite:///{machine.folder}/ledger.sqlite")
    plan = prepared(machine, DESIGN)
    try:
        measure(plan, traced(machine), ledger, Silent(), keep_traces=True)
    finally:
        ledger.close()
    kept = list(traced(machine).folder.glob("traces/*/*.trace"))
    assert len(kept) == len(WORKLOADS) * BOOTS * LABELS
    before = len(machine.started())
    measured(machine, replace(DESIGN, layouts=LAYOUTS + BOOTS))
    assert len(machine.started()) == before, "a trace was taken again"


TEXT = """
    [source]
    use = "x"
    config = "lab"
    [machine]
    use = "tcg"
    [factors]
    {factor} = {levels}
    [design]
    layouts = 8
    layouts_by = "replay"
    boots = 3
    """


def told_by_the_ledger(machine: Scripted, plan: Prepared) -> StudyResult:
    """As `kernsmith report` reads it: what was measured, by the words of a study file."""
    url = f"sqlite:///{machine.folder}/ledger.sqlite"
    ((factor, levels),) = plan.study.factors
    ledger = Ledger(url)
    try:
        measure(plan, traced(machine), ledger, Silent())
        rows = trial_rows(plan, traced(machine))
        recorded = [(row, t.variant.name, t.block, t.position) for t, row in rows.items()]
        text = TEXT.format(factor=factor, levels=list(levels))
        ledger.record_study("b" * 64, "told", text, recorded)
    finally:
        ledger.close()
    return recorded_result(read_study_table("told", url), Asked())


def test_what_the_ledger_has_is_told_by_boots(machine: Scripted) -> None:
    """Each trial's boot is recorded with it."""
    plan = prepared(machine, DESIGN, factor=KERNELS)
    result = told_by_the_ledger(machine, plan)
    assert Counter(each.trial.boot for each in result.measured) == Counter(
        trial.boot for trial in plan.trials
    )
    document = study_document(result)
    assert (document.boots, document.sample) == (BOOTS, "boots")
    assert {each.n for each in document.verdicts} == {BOOTS}


def test_what_the_ledger_has_of_two_labels_is_told_by_boots(machine: Scripted) -> None:
    verdict = told_by_the_ledger(machine, prepared(machine, DESIGN)).verdict(
        "label=b", "overall", "model_cycles"
    )
    own = judged(machine).verdict("label=b", "overall", "model_cycles")
    assert verdict is not None
    assert own is not None
    assert verdict.effect == own.effect
    assert (verdict.effect.paired, verdict.effect.n) == (False, BOOTS)


def test_a_study_file_says_how_many(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text('[source]\nuse = "debian:7.3"\n[design]\nlayouts = 16\nboots = 8\n')
    study = read_study(path)
    assert study.design.boots == 8
    assert read_study(path, "boot").design.boots == 1, "each layout has a boot of its own"
    path.write_text(write_study(study))
    assert read_study(path).digest == study.digest
    path.write_text(write_study(replace(study, design=replace(study.design, boots=1))))
    assert "boots" not in path.read_text()


@pytest.mark.kernel
def test_a_boot_of_its_own_is_exact_and_another_one(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Nothing but when what happens differs, which a kernel's random numbers tell, too."""
    (sockets,) = load_catalogue().select(["unix-socket"])
    machine = open_machine("skylake")

    def ran(boot: int, name: str) -> dict[str, float]:
        job = Job(replace(sockets, boot=boot), tmp_path / name)
        outcome = run_once(machine, micro_kernel.vmlinux, job)
        assert outcome.ok, outcome.reason
        return {each: value for each, (value, _) in outcome.metrics.items()}

    first, second, again = ran(0, "first"), ran(1, "second"), ran(1, "again")
    assert second == again
    assert second != first
    assert second["user_instructions"] == pytest.approx(first["user_instructions"], rel=0.02)
    assert second["kernel_instructions"] == pytest.approx(first["kernel_instructions"], rel=0.02)
