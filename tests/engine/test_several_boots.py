# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts that are replayed from several boots of each kernel and workload."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith.engine import Silent
from kernsmith.engine.recorded import Stored
from kernsmith.engine.run import measure
from kernsmith.engine.traces import trace_path
from kernsmith.engine.trial_rows import CHECKED, trial_rows
from kernsmith.engine.verdicts import Measured, StudyResult, judge, observations, question
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.report.ledger.page import variance_sections
from kernsmith.report.plain import as_markdown
from kernsmith.report.study.document import study_document
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.stats.study import analyse
from kernsmith.study import Design
from kernsmith.study.file import read_study
from kernsmith.study.writing import write_study
from made_trace import EXECUTED, ROUNDS
from scripted_machine import WORKLOADS, Scripted, prepared, traced

LAYOUTS, BOOTS, LABELS = 8, 3, 2
DESIGN = Design(layouts=LAYOUTS, layouts_by="replay", boots=BOOTS, every=1)
LUCK = 1  # round of the trace more from one boot to the next
EACH = LUCK / ROUNDS


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    told = {"luck": LUCK, "instructions": {"": EXECUTED}}
    (tmp_path / "script.json").write_text(json.dumps(told))
    return Scripted(tmp_path, slots=2, cpu=PENALTIES)


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
        boot = item.trial.layout_number % BOOTS
        assert instructions(item) == pytest.approx(EXECUTED * (1 + EACH * boot))
        if item.replayed:
            assert item.run is not None
            of = f"made/{item.trial.workload}-1-1{f'-boot-{boot}' if boot else ''}"
            assert item.run.provenance["replayed_from"]["trace"] == of
    started = Counter(line.split()[0] for line in machine.started())
    # Both labels are one kernel.
    assert started.pop(traced(machine).folder.name) == len(WORKLOADS) * BOOTS
    assert sum(started.values()) == LABELS * CHECKED * len(WORKLOADS)
    assert not list(traced(machine).folder.glob("traces/*/*.trace")), "a trace was left behind"


def test_a_check_boots_what_the_replay_is_of(machine: Scripted) -> None:
    """The same boot in another layout executes what was traced, but for what the layout changes."""
    result = judged(machine)
    assert len(result.checks) == LABELS * CHECKED
    assert all(check.whole.more == pytest.approx(0) for check in result.checks)


def test_asking_again_repeats_nothing_and_one_boot_more_costs_its_own(machine: Scripted) -> None:
    first = measured(machine)
    before = machine.started()
    assert measured(machine) == first
    assert machine.started() == before
    measured(machine, replace(DESIGN, boots=BOOTS + 1))
    more = len(machine.started()) - len(before)
    # Each boot has other layouts now, and its trace is gone; layouts 1 and 2, that are checked,
    # belong to the boots that they belonged to.
    assert more == len(WORKLOADS) * (BOOTS + 1)


def test_one_boot_is_what_it_was_before_there_were_several(machine: Scripted) -> None:
    plain = replace(DESIGN, boots=1)
    plan = prepared(machine, plain)
    rows = trial_rows(plan, traced(machine)).values()
    assert all("boot" not in row.conditions for row in rows)
    several = trial_rows(prepared(machine, DESIGN), traced(machine)).values()
    same = {row.digest for row in rows} & {row.digest for row in several}
    # The default layout, which is one for both labels, and every layout of the first boot.
    assert len(same) == len(WORKLOADS) * (1 + LABELS * (LAYOUTS // BOOTS))
    kernel = traced(machine).kernel(plan.variants[0])
    assert kernel is not None
    paths = {trace_path(kernel, replace(WORKLOADS[0], boot=n), machine) for n in range(BOOTS)}
    assert len(paths) == BOOTS


def test_an_interval_is_of_boots(machine: Scripted) -> None:
    """Three boots that are 5 % apart are three values, however many layouts each is replayed in."""
    result = judged(machine)
    verdict = result.verdict("label=b", "overall", "kernel_instructions")
    assert verdict is not None
    assert (verdict.effect.n, verdict.effect.ratio) == (BOOTS, pytest.approx(1))
    assert verdict.effect.ci is not None
    low, high = verdict.effect.ci
    assert low < 1 - EACH
    assert high > 1 + EACH
    rows = observations(result.measured, DESIGN)
    units = {row.layout for row in rows if row.variant == "label=b"}
    assert units == {"default", *(f"b.boot-{n}" for n in range(BOOTS))}
    of_layouts = observations(result.measured, replace(DESIGN, boots=1))
    assert len({row.layout for row in of_layouts if row.variant == "label=b"}) == 1 + LAYOUTS


def test_a_report_tells_of_the_boots(machine: Scripted) -> None:
    document = study_document(judged(machine))
    assert document.boots == BOOTS
    (spread, *_) = document.stress
    assert spread.boots == pytest.approx(100 * 2 * EACH / (1 + EACH), rel=0.02)
    page, text = study_page(document), study_markdown(document)
    assert f"traced in {BOOTS} boots of each kernel and workload" in page
    assert f"n = {BOOTS} boots" in page
    assert "over boots, %" in text
    assert f"{LAYOUTS * LABELS} random layouts, replayed from {BOOTS} boots" in text
    assert "layout and boot move one and the same kernel by up to" in page
    alone = study_document(judged(machine, replace(DESIGN, boots=1)))
    assert "over boots, %" not in study_markdown(alone)
    assert "layouts are dealt out" not in study_page(alone)


def test_where_the_variance_comes_from_is_boots_and_the_layouts_in_them(machine: Scripted) -> None:
    result = judged(machine)
    found = analyse(
        observations(result.measured, DESIGN), question(result.prepared, result.measured)
    )
    parts = {part.name: part for part in found[0].components[0].components}
    assert set(parts) == {"layout", "boot + run"}
    told = as_markdown(variance_sections(found, BOOTS))
    assert "boots a variant" in told
    assert "or layouts a boot" in told
    assert "| pipe | boot |" in " ".join(told.split())
    assert "boot + run" not in told
    assert "boot + run" in as_markdown(variance_sections(found))


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
