# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrating a model by a study on two machines, one of which is a model with other figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.cli import main
from kernsmith.engine import Silent
from kernsmith.engine.calibration import read_values, with_values
from kernsmith.engine.lab import take_traces
from kernsmith.engine.replay import text_of
from kernsmith.engine.traces import trace_tag
from kernsmith.engine.workers import LocalWorkers
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.layout import TracedText, TraceFile, drawn_order, functions_of
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.machine.held import read_held
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Layout, Study, Trial, digest_of, plan_trials, plan_variants
from kernsmith.study.file import read_study
from kernsmith.study.machines import on_each_machine
from kernsmith.study.writing import write_study

MODEL = paths.shipped("cpus/emeraldrapids.toml")
WORKLOADS = ("pipe", "file")
EMULATED = "QEMU's emulator on a model (1-2-3)"
UNIT = 1.7
USER = 0.25

Figures = Callable[[Trial], Mapping[str, float]]

STUDY = """
[source]
use = "debian:7.3"
config = "micro"

[[machine]]
use = "tcg"

[[machine]]
use = "kvm"
settings = {{ accel = "tcg" }}

[workloads]
use = {workloads}

[factors]
label = ["a", "b"]

[design]
layouts = {layouts}
runs = 2
"""


def asked(folder: Path, layouts: int = 3) -> Path:
    path = folder / "both.toml"
    path.write_text(STUDY.format(layouts=layouts, workloads=json.dumps(list(WORKLOADS))))
    return path


def record(study: Study, kernel: str, url: str, figures: Figures) -> None:
    """What a machine has of a study, as a run leaves it in the ledger."""
    trials = plan_trials(study, plan_variants(study, ()), list(study.workloads))
    conditions = {"machine": {"conditions": {"processor": "a model (1-2-3)"}}, "study": "x"}
    rows = [
        TrialRow(
            digest_of([study.machine, trial.position]), kernel, trial.variant.name,
            str(trial.layout), trial.workload, study.machine, study.cpu, trial.replicate,
            conditions,
        )
        for trial in trials
    ]  # fmt: skip
    ledger = Ledger(url)
    plan = [(row, t.variant.name, t.block, t.position) for row, t in zip(rows, trials, strict=True)]
    ledger.record_study(digest_of(study.name), study.name, write_study(study), plan)
    for row, trial in zip(rows, trials, strict=True):
        attempt = ledger.claim(row.digest)
        assert attempt is not None
        metrics = {name: (value, "") for name, value in figures(trial).items()}
        ledger.record(RunRow(row.digest, attempt, "ok", "", "", now(), 1.0, metrics))
    ledger.close()


def silent(trial: Trial) -> Mapping[str, float]:
    return {"reference_cycles": 1.0, MODEL_CYCLES: 1.0, "kernel_instructions": 1.0}


def refusal(words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", str(MODEL), *words])
    assert ended.value.code == 2
    said = " ".join(capfd.readouterr().err.split())
    assert "Traceback" not in said
    return said


def test_a_study_on_one_machine_says_nothing_of_a_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.toml"
    file.write_text('[source]\nuse = "debian:7.3"\n[variants]\na = {}\nb = { optimisation = "O3" }')
    assert "needs [[machine]] twice" in refusal(["--study", str(file)], capfd)


def test_what_is_of_programs_is_refused_beside_a_study(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--study", str(asked(tmp_path)), "--runs", "3"]
    assert "--runs is of programs" in refusal(words, capfd)
    assert "--ledger goes with --study" in refusal(["--ledger", "sqlite:///x"], capfd)


def test_a_study_that_was_not_run_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    study = asked(tmp_path)
    exact, _ = on_each_machine(read_study(study))
    record(exact, "k" * 64, url, silent)
    said = refusal(["--study", str(study), "--ledger", url], capfd)
    assert "both-kvm" in said
    assert "a study that was run before" in said


def test_too_few_layouts_tell_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    study = asked(tmp_path, layouts=2)
    for place in on_each_machine(read_study(study)):
        record(place, "k" * 64, url, silent)
    said = refusal(["--study", str(study), "--ledger", url], capfd)
    assert "each in 4 layouts or more" in said
    assert "finished are 6 layouts of 2 variants" in said


def test_a_kernel_that_is_gone_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    study = asked(tmp_path)
    for place in on_each_machine(read_study(study)):
        record(place, "k" * 64, url, silent)
    said = refusal(["--study", str(study), "--ledger", url], capfd)
    assert "the kernel of 'label=a' is not in the store any more" in said


@pytest.mark.kernel
def test_a_model_comes_nearer_to_the_one_that_made_a_machines_times(
    micro_kernel: Kernel, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two labels of one kernel stand for two kernels. The times have a unit of their own, and user
    mode's are in them."""
    truth = list(read_values(MODEL.read_text()))
    truth[0], truth[1] = 20.0, 0.25
    real = tmp_path / "real.toml"
    real.write_text(with_values(MODEL.read_text(), truth))
    machine = open_machine("skylake")
    works = load_catalogue().select(list(WORKLOADS))
    whole = take_traces(micro_kernel, works, machine, Silent(), LocalWorkers())
    files = [TraceFile(w.name, whole[w.name], trace_tag(micro_kernel, w)) for w in works]
    traced = TracedText(text_of(micro_kernel.folder), files)
    text, url = traced.text, f"sqlite:///{tmp_path}/ledger.sqlite"
    functions, known = functions_of(read_system_map(micro_kernel.system_map)), {}

    def cost(cpu: Path, layout: Layout, workload: str) -> float:
        """By the whole trace."""
        if (cpu, layout) not in known:
            order = drawn_order(functions, layout, [])
            at = text.arranged(order.names, order.margins) if layout.seed else text.arranged([])
            (known[cpu, layout],) = traced.figures([at], cpu, every=1, displaced=None, threads=2)
        return known[cpu, layout][traced.workloads.index(workload)][MODEL_CYCLES]

    def counted(trial: Trial) -> Mapping[str, float]:
        cycles = cost(machine.cpu, trial.layout, trial.workload)
        instructions = {"kernel_instructions": 1000.0, "user_instructions": 1000 * USER}
        return {MODEL_CYCLES: cycles, **instructions}

    def timed(trial: Trial) -> Mapping[str, float]:
        noise = 1 + 2e-4 * (trial.position * 7 % 5 - 2)
        kernel = cost(real, trial.layout, trial.workload)
        user = USER * cost(real, Layout(), trial.workload)
        return {"reference_cycles": UNIT * noise * (kernel + user)}

    study = asked(tmp_path)
    exact, noisy = on_each_machine(read_study(study))
    record(exact, micro_kernel.key, url, counted)
    record(noisy, micro_kernel.key, url, timed)
    output = tmp_path / "calibrated.toml"
    words = ["--study", str(study), "--ledger", url, "--rounds", "2", "-o", str(output), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", str(MODEL), *words])
    assert ended.value.code == 0
    said = capfd.readouterr()
    found, held = json.loads(said.out), read_held(output)
    assert held is not None
    assert (held.programs, held.of, held.processor) == (2, "workloads", EMULATED)
    assert [half["workloads"] for half in found["halves"]] == [["file"], ["pipe"]]
    assert held.ratio_points < 0.2
    errors = re.findall(r"file, pipe: round \d, error (\d+\.\d)", said.err)
    assert len(errors) == 3
    assert float(errors[-1]) < float(errors[0]) / 2
