# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies whose layouts are booted say which functions make the difference, too."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith.engine import Silent
from kernsmith.engine.attribution import attributions
from kernsmith.engine.counted_functions import count_functions
from kernsmith.engine.run import measure
from kernsmith.engine.verdicts import judge
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger
from kernsmith.study import Design, Layout, Variant
from made_trace import HOT, make_kernel
from scripted_machine import WORKLOADS, Made, Scripted, prepared

DESIGN = Design(layouts=2, layouts_by="boot")
LABELS = 2


@dataclass(frozen=True)
class TwoTraced(Made):
    """A kernel of made_trace for each label."""

    words: tuple[tuple[str, str], ...] = ()
    failures = {}  # noqa: RUF012

    def kernel(self, variant: Variant) -> Kernel | None:
        folder = self.folder / variant.label
        if not folder.exists():
            make_kernel(folder)
        told = {"variant": {"name": variant.name}, "build_id": variant.label} | dict(self.words)
        return Kernel(variant.label * 64, folder, told)

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        return ()

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        return self.folder / variant.label / str(layout) / "vmlinux"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "script.json").write_text("{}")
    return Scripted(tmp_path, profiles=True, cpu=PENALTIES)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")


def test_the_boot_in_the_default_layout_is_counted_and_is_its_trial(
    machine: Scripted, ledger: Ledger, tmp_path: Path
) -> None:
    plan, forge = prepared(machine, DESIGN), TwoTraced(tmp_path / "kernels")
    count_functions(plan, forge, ledger, Silent())
    assert len(machine.started()) == LABELS * len(WORKLOADS)
    measured = measure(plan, forge, ledger, Silent())
    # Nothing is booted twice for it.
    assert len(machine.started()) == len(plan.trials)
    found = attributions(judge(plan, forge, measured, 0.0))
    assert [each.variant for each in found] == ["label=b"]
    assert {each.name for each in found[0].functions} <= set(HOT)
    assert (found[0].ran, found[0].change) == (len(HOT), 0)
    pairs = [each.model_cycles for each in found[0].functions]
    assert all(before == after > 0 for before, after in pairs)
    assert not list(tmp_path.rglob("*.passing.trace"))
    count_functions(plan, forge, ledger, Silent())
    assert len(machine.started()) == len(plan.trials)


@pytest.mark.parametrize("changes", [{"profiles": False}, {"cpu": None}])
def test_a_machine_without_traces_counts_nothing(
    machine: Scripted, ledger: Ledger, tmp_path: Path, changes: dict[str, object]
) -> None:
    other = replace(machine, **changes)  # type: ignore[arg-type]
    count_functions(prepared(other, DESIGN), TwoTraced(tmp_path / "kernels"), ledger, Silent())
    assert other.started() == []


def test_one_kernel_and_what_bolt_has_rewritten_are_not_counted(
    machine: Scripted, ledger: Ledger, tmp_path: Path
) -> None:
    plan = prepared(machine, DESIGN)
    count_functions(plan, TwoTraced(tmp_path / "a", (("bolted", "x"),)), ledger, Silent())
    only = replace(plan, variants=plan.variants[:1])
    count_functions(only, TwoTraced(tmp_path / "b"), ledger, Silent())
    assert machine.started() == []


def test_a_boot_that_fails_is_a_run_that_failed(
    machine: Scripted, ledger: Ledger, tmp_path: Path
) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"pipe": ["panic", "panic"]}))
    plan, forge = prepared(machine, DESIGN), TwoTraced(tmp_path / "kernels")
    count_functions(plan, forge, ledger, Silent())
    measured = measure(plan, forge, ledger, Silent())
    failed = [each for each in measured if each.run is not None and not each.run.ok]
    assert {(each.trial.workload, str(each.trial.layout)) for each in failed} == {
        ("pipe", "default")
    }
    assert attributions(judge(plan, forge, measured, 0.0)) == ()
