# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies on the machine `uml`, with a program of some lines in the place of a kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.engine import Silent, StudyResult, prepare, run_study
from kernsmith.engine.estimate import estimate
from kernsmith.engine.recorded import Asked, recorded_result
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import named_kernel, stored_kernel
from kernsmith.kernel.toolchain import Compiler
from kernsmith.ledger import Ledger
from kernsmith.ledger.table import read_study_table
from kernsmith.paths import shipped
from kernsmith.process import run
from kernsmith.report.study.document import study_document
from kernsmith.silicon.binaries import Objects, compile_program
from kernsmith.silicon.builds import Build
from kernsmith.silicon.profiles import Trainer
from kernsmith.silicon.programs import Program, Unit
from kernsmith.study import Study
from kernsmith.study.file import study_from_tables

RUNS = 6
# -DTWICE: the same result by twice the work. -DOTHER: another result.
WORK = """\
#include "program.h"

const char *const program_name = "uml";
const unsigned program_units = 8;

int program_set_up(void)
{
	return 0;
}

static __attribute__((noinline)) uint64_t work(uint64_t sum)
{
	for (unsigned i = 0; i < 40000; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

uint64_t program_unit(unsigned number)
{
#ifdef TWICE
	volatile uint64_t spent = work(number + 1);
	(void)spent;
#endif
#ifdef OTHER
	number++;
#endif
	return work(number);
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, a source of which nothing is compiled, and what is compiled instead."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    tree, output = tmp_path / "tree", tmp_path / "built/out"
    (tree / "Documentation").mkdir(parents=True)
    (tree / "Kconfig").touch()
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\nEXTRAVERSION =\n")
    output.mkdir(parents=True)
    (output / ".config").write_text("CONFIG_UML=y\n")
    work = tmp_path / "work.c"
    work.write_text(WORK)
    run(["ar", "crT", str(output / "vmlinux.a")], timeout=60)
    own = shipped("guest/programs")

    def compiled(
        program: Program, build: Build, compiler: Compiler, linker: Compiler, train: Trainer
    ) -> Objects:
        units = tuple(Unit(file, (f"-I{own}",)) for file in (work, own / "program.c"))
        small = replace(program, units=units)
        return replace(compile_program(small, build, compiler), kernel=output)

    monkeypatch.setattr("kernsmith.engine.user_mode.compile_build", compiled)
    return tmp_path


def study(folder: Path, **tables: object) -> Study:
    given: dict[str, object] = {
        "source": {"use": str(folder / "tree")},
        "machine": {"use": "uml", "settings": {"runs": RUNS, "patience": 0}},
        "variants": {"once": {}, "twice": {"flags": "-DTWICE"}},
        "design": {"layouts": 2},
    }
    return study_from_tables(given | tables, origin="test", name="small")


Ran = Callable[[Study], StudyResult]


@pytest.fixture
def ran(folder: Path) -> Ran:
    def all_of(asked: Study) -> StudyResult:
        ledger = Ledger(f"sqlite:///{folder}/ledger.sqlite")
        try:
            return run_study(prepare(asked, Silent()), ledger, Silent())
        finally:
            ledger.close()

    return all_of


def test_a_study_leaves_open_what_is_the_machines_own(folder: Path) -> None:
    asked = study(folder)
    assert (asked.config, asked.workloads, asked.cpu) == ("uml", ("uml",), "")
    assert asked.design.layouts_by == "boot"


def test_variants_are_linked_in_layouts_and_timed_by_turns(folder: Path, ran: Ran) -> None:
    result = ran(study(folder))
    assert not result.failures
    verdict = result.verdict("twice", "uml", "core_cycles")
    assert verdict is not None
    assert verdict.effect.n == 2
    assert 1.5 < verdict.effect.ratio < 2.5
    for item in result.measured:
        assert item.run is not None
        assert set(item.run.metrics) == {"core_cycles", "core_cycles_even", "core_cycles_odd"}
        assert item.run.provenance["together"] == 2
        assert item.run.provenance["conditions"]["processor"]
        assert item.run.console.endswith("console.log")
        told = Path(item.run.console).read_text()
        assert told.count("kernsmith: units") == RUNS
    kernel = result.kernels["twice"]
    assert kernel.program == "uml"
    stored = stored_kernel(kernel.key)
    assert stored is not None
    assert stored.vmlinux == kernel.vmlinux
    assert len(list((kernel.folder / "layouts").iterdir())) == 2
    with pytest.raises(UserError, match="is a program with a kernel in it"):
        named_kernel(kernel.key)


def test_what_the_ledger_holds_is_not_run_again(folder: Path, ran: Ran) -> None:
    first, second = ran(study(folder)), ran(study(folder))
    assert [item.run for item in first.measured] == [item.run for item in second.measured]
    ledger = Ledger(f"sqlite:///{folder}/ledger.sqlite")
    plan = estimate(study(folder), ledger, Silent())
    ledger.close()
    assert [build["cached"] for build in plan["builds"]] == [True, True]
    assert plan["links"] == 0
    assert all(trial["done"] for trial in plan["trials"])


def test_the_document_says_that_the_figures_are_real(folder: Path, ran: Ran) -> None:
    document = study_document(ran(study(folder)))
    assert document.study.metric == "core_cycles"
    assert [each.meaning for each in document.metrics] == ["real"] * 3
    assert not document.machine.exact
    assert document.machine.cpu == ""
    assert "processor" in document.machine.conditions["conditions"]
    view = document.variants[1]
    assert (view.bzimage, view.package_command) == (None, None)
    assert str(folder) not in json.dumps(document.machine.conditions)


def test_the_ledger_tells_the_same_with_the_processor_that_it_was(
    folder: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = study_document(ran(study(folder)))
    table = read_study_table("small", f"sqlite:///{folder}/ledger.sqlite")
    told = study_document(recorded_result(table, Asked()))
    for same in ("verdicts", "noise", "workloads", "machine"):
        assert getattr(told, same) == getattr(own, same)
    monkeypatch.setattr("kernsmith.machine.uml.conditions", tuple)  # another host
    elsewhere = study_document(recorded_result(table, Asked()))
    assert elsewhere.verdicts == own.verdicts
    assert elsewhere.machine.conditions == own.machine.conditions


def test_programs_that_compute_something_else_have_no_verdict(folder: Path, ran: Ran) -> None:
    variants = {"once": {}, "other": {"flags": "-DOTHER"}}
    result = ran(study(folder, variants=variants))
    assert not result.verdicts
    assert len(result.failures) == 6
    assert all("computed different sums" in failure for failure in result.failures)


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"workloads": {"use": ["pipe"]}}, "no workload 'pipe': leave workloads out"),
        ({"workloads": {"train": ["lab"]}}, "no workload 'lab'"),
        ({"workloads": {"folds": 2}}, "workloads.folds: .* has one workload"),
        ({"workloads": {"root": "/srv/root"}}, "workloads.root: .* runs no programs"),
        ({"design": {"pairing": "place"}}, "design.pairing: .* allowed is \"seed\""),
        ({"design": {"data": True}}, "design.data: "),
        ({"design": {"layouts_by": "replay"}}, "design.layouts_by: .* writes no traces"),
        ({"design": {"metric": "model_cycles"}}, "has no metric 'model_cycles': "),
        ({"machine": {"use": "uml", "cpu": "zen5"}}, "machine.cpu: .* leave zen5 out"),
        ({"variants": {"a": {}, "b": {"profile": "best"}}}, "profile=best: "),
        ({"variants": {"a": {}, "b": {"lto": "thin"}}}, "nothing remains .*\n.*refused: b: CON"),
        ({"variants": {"a": {"config": "lab"}, "b": {}}}, "the baseline 'a' cannot .*: config"),
    ],
)  # fmt: skip
def test_what_it_cannot_do_is_refused_before_anything_is_built(
    folder: Path, tables: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        prepare(study(folder, **tables), Silent())
    assert not (folder / "cache/programs").exists()
