# SPDX-License-Identifier: GPL-2.0-or-later
"""What to spend on a study, by a pilot that a ledger has."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kernsmith import paths
from kernsmith.cli import main
from kernsmith.cli.console import result_console
from kernsmith.engine.recorded import Asked, recorded_result
from kernsmith.engine.spending import Pilot, costs_of, mixed, pilot_of, spending
from kernsmith.errors import UserError
from kernsmith.ledger import BootRow, Ledger, RunRow, TrialRow, now
from kernsmith.ledger.rows import REPLAYED
from kernsmith.ledger.table import read_study_table
from kernsmith.machine.tcg import open_machine
from kernsmith.report.plan_tables import print_spending
from kernsmith.stats.nested import Costs, Goal, Timing
from kernsmith.study import Study

STUDY = """
[source]
use = "debian:7.3"

[variants]
base = {}
afdo = { profile = "autofdo" }
"""
WORKLOADS = ("pipe", "fork")


def record(
    folder: Path,
    layouts: int = 40,
    *,
    done: bool = True,
    replayed: bool = False,
    boots: bool = False,
) -> str:
    """A ledger with a study whose layouts scatter by 1 % (standard deviation) on each workload."""
    url, random = f"sqlite:///{folder}/ledger.sqlite", np.random.default_rng(1)
    ledger, plan = Ledger(url), []
    booted: dict[tuple[str, int], int] = {}
    for layout in range(1, layouts + 1):
        for variant in ("base", "afdo"):
            for workload in WORKLOADS:
                trial = TrialRow(
                    f"{len(plan):064x}", "k" * 64, variant, f"random:1.{layout}", workload,
                    "tcg", "zen4", 0, conditions={REPLAYED: True} if replayed else {},
                )  # fmt: skip
                plan.append((trial, variant, layout, len(plan)))
    ledger.record_study("a" * 64, "lab", STUDY, plan)
    for trial, variant, layout, _ in plan if done else []:
        boot = None
        if boots:  # of both workloads
            boot = booted.setdefault((variant, layout), 0) or ledger.record_boot(
                BootRow(f"{variant}-{layout}", "kvm", "i", "k", trial.layout, (), "", now(), 14.0)
            )
            booted[variant, layout] = boot
        attempt = ledger.claim(trial.digest)
        assert attempt is not None
        metrics = {"model_cycles": (1e6 * float(np.exp(random.normal(0, 0.01))), "cycles")}
        ledger.record(RunRow(trial.digest, attempt, "ok", "", "", now(), 2.0, metrics, boot=boot))
    ledger.close()
    return url


def record_dealt_out(
    folder: Path, boots: int = 40, layouts: int = 120, only: int | None = None
) -> str:
    """Likewise with layouts that are dealt out to boots: these scatter by 1 %, layouts by 0.3 %.

    only: the boot that was traced until now.
    """
    url, random = f"sqlite:///{folder}/ledger.sqlite", np.random.default_rng(2)
    design = f'[design]\nlayouts = {layouts}\nlayouts_by = "replay"\nboots = {boots}\n'
    luck = {
        (variant, name, boot): random.normal(0, 0.01)
        for variant in ("base", "afdo")
        for name in WORKLOADS
        for boot in range(boots)
    }
    ledger = Ledger(url)
    plan: list[tuple[TrialRow, str, int, int]] = []
    runs = []
    for layout in range(layouts + 1):
        boot, conditions = layout % boots, {REPLAYED: True} if layout else {}
        told = f"random:1.{layout}" if layout else "default"
        for (variant, name, of), value in luck.items():
            if of == boot and only in (None, boot):
                number = {"boot": boot} if boot else {}
                trial = TrialRow(
                    f"{len(plan):064x}", "k" * 64, variant, told, name, "tcg", "zen4", 0,
                    conditions=conditions | number,
                )  # fmt: skip
                plan.append((trial, variant, layout, len(plan)))
                seconds = 2.0 if layout else 30.0
                cycles = 1e6 * float(np.exp(value + random.normal(0, 0.003)))
                run = (trial.digest, 1, "ok", "", "", now(), seconds)
                runs.append((run, cycles))
    ledger.record_study("a" * 64, "lab", STUDY + design, plan)
    for run, cycles in runs:
        ledger.claim(run[0])
        ledger.record(RunRow(*run, {"model_cycles": (cycles, "cycles")}))
    ledger.close()
    return url


def pilot(url: str, costs: Costs | None = None) -> Pilot:
    ledger = Ledger(url)
    try:
        found = recorded_result(read_study_table("lab", url), Asked())
        return pilot_of(found.prepared, found.measured, ledger, costs)
    finally:
        ledger.close()


def test_the_mix_needs_fewer_layouts_than_each_of_its_workloads(tmp_path: Path) -> None:
    found = spending(pilot(record(tmp_path)), Goal(0.5, 0.95))
    assert found["metric"] == "model_cycles"
    assert found["costs"] == {"layout": 9.0, "boot": 1.0, "run": 1.0}
    assert list(found["of"]) == ["overall", *sorted(WORKLOADS)]
    (scatter,) = found["of"]["pipe"]["components"].values()
    assert scatter["percent"] == pytest.approx(1.0, rel=0.2)
    mix, *each = (one["spend"] for one in found["of"].values())
    assert all(mix["layouts"] < 0.75 * one["layouts"] for one in each)
    # 2 (1.96 + 1.64)² V / δ² layouts, with V = 1 %² / 2: 52. The pilot knows V by a fifth.
    assert 40 < mix["layouts"] < 90
    assert (mix["boots"], mix["runs"]) == (1, 1)
    assert mix["seconds"] == pytest.approx(2 * mix["layouts"] * (9 + 2 * 2))
    assert each[0]["seconds"] == pytest.approx(2 * each[0]["layouts"] * (9 + 2))


def test_replayed_layouts_cost_their_replays(tmp_path: Path) -> None:
    found = spending(pilot(record(tmp_path, replayed=True)), Goal(0.5, 0.95))
    assert found["costs"] == {"layout": 0.0, "boot": 0.0, "run": 2.0}
    mix = found["of"]["overall"]["spend"]
    assert mix["seconds"] == pytest.approx(2 * mix["layouts"] * 2 * 2)


def test_where_layouts_are_dealt_out_to_boots_these_are_what_is_spent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = spending(pilot(record_dealt_out(tmp_path)), Goal(0.5, 0.95))
    assert found["sample"] == "boots"
    assert found["costs"] == {"layout": 0.0, "boot": 30.0, "run": 2.0}
    pipe = found["of"]["pipe"]
    assert pipe["components"]["boot"]["percent"] == pytest.approx(1.0, rel=0.3)
    assert pipe["components"]["layout"]["percent"] == pytest.approx(0.3, rel=0.2)
    mix = found["of"]["overall"]["spend"]
    # 2 (1.96 + 1.64)² V / δ² boots, with V = 1.04 %² / 2: 54. The pilot knows V by a fifth.
    assert 40 < mix["boots"] < 95
    assert mix["layouts"] % mix["boots"] == 0
    a_boot = mix["layouts"] // mix["boots"]
    assert a_boot < 4, "layouts of one boot say little"
    assert mix["seconds"] == pytest.approx(2 * mix["boots"] * 2 * (30 + a_boot * 2))
    print_spending(found, result_console())
    told = " ".join(capsys.readouterr().out.split())
    assert "boots" in told
    assert "boots of each" not in told
    assert "a boot of a kernel with a workload costs 30 s, a replayed layout 2 s" in told


def test_one_boot_is_no_pilot_of_boots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its layouts scatter by what layout does: what boots do is not known."""
    found = spending(pilot(record_dealt_out(tmp_path, only=0)), Goal(0.5, 0.95))
    assert all((one["components"], one["spend"]) == ({}, None) for one in found["of"].values())
    print_spending(found, result_console())
    assert "measure more than one boot of each first" in capsys.readouterr().out


def test_no_plan_has_more_layouts_than_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = pilot(record_dealt_out(tmp_path))
    dear = spending(replace(found, costs=Costs(0, 1e6, 1)), Goal(0.05, 0.95))["of"]["pipe"]
    assert dear["components"]
    assert dear["spend"] is None
    print_spending(spending(found, Goal(0.01, 0.95)), result_console())
    assert "more than a study may have" in capsys.readouterr().out


def test_of_boots_costs_are_theirs_and_those_of_replays(tmp_path: Path) -> None:
    url = record_dealt_out(tmp_path)
    found = spending(pilot(url, Costs(9, 20, 1)), Goal(0.5, 0.95))
    assert found["costs"] == {"layout": 0.0, "boot": 20, "run": 1}


def test_a_run_in_several_places_of_a_plan_is_one(tmp_path: Path) -> None:
    """Replicates on an exact machine are one trial."""
    url = record_dealt_out(tmp_path)
    ledger = Ledger(url)
    try:
        found = recorded_result(read_study_table("lab", url), Asked())
        once = pilot_of(found.prepared, found.measured, ledger, None)
        again = [replace(m, trial=replace(m.trial, replicate=1)) for m in found.measured]
        twice = pilot_of(found.prepared, [*found.measured, *again], ledger, None)
    finally:
        ledger.close()
    assert {k: len(v) for k, v in once.timings.items()} == {
        k: len(v) for k, v in twice.timings.items()
    }


def test_workloads_that_share_a_boot_pay_it_once(tmp_path: Path) -> None:
    found = spending(pilot(record(tmp_path, boots=True)), Goal(0.5, 0.95))
    assert found["costs"] == {"layout": 9.0, "boot": 10.0, "run": 2.0}
    mix = found["of"]["overall"]["spend"]
    assert mix["seconds"] == pytest.approx(2 * mix["layouts"] * (9 + 10 + 2 * 2))


def test_half_the_change_takes_four_times_the_layouts(tmp_path: Path) -> None:
    found = pilot(record(tmp_path))
    wide, narrow = (spending(found, Goal(width))["of"]["overall"]["spend"] for width in (0.6, 0.3))
    assert narrow["layouts"] == pytest.approx(4 * wide["layouts"], rel=0.2)


def test_runs_and_boots_are_spent_where_they_scatter() -> None:
    """Runs that scatter in boots that do not: many runs in a boot, if a boot is dear."""
    random = np.random.default_rng(2)
    rows = [
        Timing(variant, str(layout), str(boot), str(run), float(np.exp(random.normal(0, 0.02))), 0)
        for variant in "ab"
        for layout in range(6)
        for boot in range(3)
        for run in range(8)
    ]
    costs = Costs(9, 60, 0.5)
    one = spending(Pilot("seconds", {"pipe": rows}, 2, costs), Goal(0.5, 0.95))["of"]["pipe"]
    assert set(one["components"]) == {"layout", "boot", "run"}
    assert one["spend"]["runs"] > 10
    assert one["spend"]["boots"] <= 2


def test_a_mix_is_of_runs_that_all_workloads_have() -> None:
    def row(run: str, value: float) -> Timing:
        return Timing("a", "l", "b", run, value, 0)

    (both,) = mixed({"pipe": [row("0", 1.0), row("1", 5.0)], "fork": [row("0", 4.0)]})
    assert (both.run, both.value) == ("0", pytest.approx(2.0))


def test_a_boot_costs_what_its_runs_leave() -> None:
    def run(boot: int | None, seconds: float) -> RunRow:
        return RunRow("t", 0, "ok", "", "", now(), seconds, {}, boot=boot)

    boots = {
        n: BootRow(str(n), "kvm", "i", "k", "default", (), "", now(), wall_seconds=seconds)
        for n, seconds in ((1, 30.0), (2, None))
    }
    runs = [run(1, 2.0), run(1, 4.0), run(2, 3.0), run(2, 3.0)]
    assert costs_of(runs, boots) == Costs(9, 24.0, 3.0)
    assert costs_of([run(None, 7.0)], {}) == Costs(9, 6.0, 1.0)


def test_a_study_that_was_not_measured_is_no_pilot(tmp_path: Path) -> None:
    url = record(tmp_path, layouts=2, done=False)
    with pytest.raises(UserError, match="no run of study lab has finished yet"):
        pilot(url)


def test_what_was_not_measured_yet_is_called_as_its_machine_has_it(tmp_path: Path) -> None:
    prepared: Any = SimpleNamespace(
        study=Study(source="x", config="micro", factors=()),
        metrics=open_machine("zen4").metrics,
        workloads=(),
    )
    with pytest.raises(UserError, match=r"^nothing of study has model_cycles yet: run it"):
        pilot_of(prepared, [], Ledger(f"sqlite:///{tmp_path}/ledger.sqlite"), None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--change", "1%", "--width", "1%"], "for --change or for --width, not for both"),
        (["--change", "little"], "--change takes per cent from 0 to 100"),
        (["--width", "0%"], "--width takes more than 0 per cent"),
        (["--change", "1%", "--power", "1"], "--power takes a number between 0.05 and 1"),
        (["--change", "1%", "--costs", "9,20"], "--costs takes the seconds of a layout, a boot"),
        (["--change", "1%", "--costs", "9,20,nan"], "--costs takes the seconds of a layout"),
    ],
)
def test_a_goal_that_means_nothing_is_refused_before_anything_is_looked_at(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(paths.shipped("studies/optimize.toml")), *words])
    assert ended.value.code == 2
    assert sentence in " ".join(capfd.readouterr().err.split())
