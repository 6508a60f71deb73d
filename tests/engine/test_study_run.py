# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole studies on real kernels, as a user runs them: by the command line, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import spearmanr
from sqlalchemy import create_engine, text

from kernels import ALL
from kernsmith.kernel.artifact import Kernel
from kernsmith.paths import shipped
from kernsmith.study.study import DEFAULT_CPU

pytestmark = pytest.mark.kernel
of_one_study = pytest.mark.xdist_group("optimize")

_OWN_KERNEL = "it builds a kernel of another config, which takes minutes; make test-all does"
MIX = ("pipe", "file", "fork")
OPTIMIZE = [
    "optimize", "--source", "debian:7.3", "--config", "micro", "--layouts", "6",
    *(word for name in MIX for word in ("--workload", name)), "--train", "pipe", "--train", "file",
    "--with", "autofdo",
]  # fmt: skip


def kernsmith(folder: Path, *words: str, expect: int = 0) -> "subprocess.CompletedProcess[str]":
    ledger = f"sqlite:///{folder}/ledger.sqlite"
    command = [sys.executable, "-m", "kernsmith", *words, "--ledger", ledger]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def verdicts(document: dict[str, Any], metric: str) -> dict[str, dict[str, Any]]:
    return {v["workload"]: v for v in document["verdicts"] if v["metric"] == metric}


@pytest.fixture(scope="module")
def optimized(
    micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("optimize")
    done = kernsmith(folder, *OPTIMIZE, "--json")
    return folder, json.loads(done.stdout)


@of_one_study
def test_the_optimised_kernel_is_proven_faster(optimized: tuple[Path, dict[str, Any]]) -> None:
    _, document = optimized
    cycles = verdicts(document, "model_cycles")
    assert set(cycles) == {"overall", "overall-trained", "overall-held-out", *MIX}
    overall = cycles["overall-trained"]
    assert overall["ratio"] < 0.93
    assert overall["ci"][0] <= overall["ratio"] <= overall["ci"][1] < 1
    assert overall["p"] < 0.01
    assert overall["n"] == 6
    assert 0 <= overall["layout_share"] <= 1
    assert document["format"] == "kernsmith-study"
    assert not document["failures"]
    assert len(document["runs"]) == 2 * 7 * len(MIX)
    assert all(run["status"] == "ok" for run in document["runs"])


@of_one_study
def test_the_report_has_all_that_is_needed_to_repeat_it(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    _, document = optimized
    page = Path(document["report"]).read_text(encoding="utf-8")
    optimised = next(v for v in document["variants"] if not v["baseline"])
    for words in (
        "is a model",
        optimised["provenance"]["vmlinux_sha256"],
        "kernsmith package ",
        "[factors]",
    ):
        assert words in page
    assert Path(optimised["vmlinux"]).exists()
    assert Path(optimised["bzimage"]).exists()
    assert Path(optimised["profile"]).exists()


@of_one_study
def test_asking_again_repeats_nothing_and_says_the_same(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = optimized
    before = count(folder, "runs")
    again = json.loads(kernsmith(folder, *OPTIMIZE, "--json").stdout)
    assert again["verdicts"] == document["verdicts"]
    assert count(folder, "runs") == before == len(document["runs"]) + checking_boots(document)


@of_one_study
def test_a_written_study_is_the_same_study(optimized: tuple[Path, dict[str, Any]]) -> None:
    folder, document = optimized
    study = Path(document["report"]).with_name("study.toml")
    again = json.loads(kernsmith(folder, "run", str(study), "--json").stdout)
    assert again["verdicts"] == document["verdicts"]
    plan = json.loads(kernsmith(folder, "plan", str(study), "--json").stdout)
    assert len(plan["trials"]) == len(document["runs"])
    assert all(build["cached"] for build in plan["builds"] if "none" in build["variant"])


@of_one_study
def test_the_terminal_shows_the_verdict_and_where_the_kernel_is(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    folder, document = optimized
    shown = kernsmith(folder, *OPTIMIZE).stdout
    optimised = next(v for v in document["variants"] if not v["baseline"])
    for words in (
        "whole mix",
        "by function most: ",
        "that placement is to blame for: ",
        "is a model",
        optimised["vmlinux"],
        "kernsmith package ",
        "report.html",
    ):
        assert words in shown


@of_one_study
def test_trained_and_held_out_workloads_are_shown_apart(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    _, document = optimized
    cycles = verdicts(document, "model_cycles")
    assert {name: cycles[name]["trained"] for name in MIX} == {
        "pipe": True,
        "file": True,
        "fork": False,
    }
    assert cycles["overall-trained"]["ratio"] < cycles["overall-held-out"]["ratio"]


@of_one_study
def test_objects_of_which_nothing_ran_are_the_baselines(
    optimized: tuple[Path, dict[str, Any]],
) -> None:
    """Byte for byte, and most of them are found in the compile cache."""
    _, document = optimized
    plain, trained = (Path(variant["vmlinux"]).parent for variant in document["variants"])
    names = Path(document["variants"][1]["profile"]).with_suffix(".idle").read_text().split()
    assert len(names) > 300
    # Made of what is compiled under other names: the table of symbols, the vDSO, code that runs
    # before the kernel is where it was linked.
    made = (".tmp_vmlinux", "vdso64-image.o", ".pi.o")
    for name in names:
        if any(word in name for word in made):
            continue
        assert (trained / "out" / name).read_bytes() == (plain / "out" / name).read_bytes(), name


def checking_boots(document: dict[str, Any]) -> int:
    """Runs of the ledger that are in no plan: layouts that were booted to check their replays."""
    return sum(len(check["workloads"]) for check in document["checks"])


def aa_study(
    folder: Path, layouts: int, workloads: tuple[str, ...] = MIX, cpu: str = "skylake"
) -> Path:
    text = (shipped("studies") / "aa.toml").read_text().replace(DEFAULT_CPU, cpu)
    text = text.replace('use = ["lab"]', f"use = {list(workloads)}").replace('"lab"', '"micro"')
    path = folder / "aa.toml"
    path.write_text(text.replace("layouts = 8", f"layouts = {layouts}"))
    return path


def test_an_a_a_study_finds_no_difference(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Of so many layouts that chance alone cannot make a difference to speak of."""
    study = aa_study(tmp_path, 48)
    document = json.loads(kernsmith(tmp_path, "run", str(study), "--json").stdout)
    overall = verdicts(document, "model_cycles")["overall"]
    assert not overall["significant"]
    assert overall["ratio"] == pytest.approx(1, abs=0.005)
    assert "no significant difference" in overall["sentence"]
    assert overall["layout_share"] > 0.5
    a, b = document["variants"]
    assert a["provenance"]["key"] == b["provenance"]["key"]


def test_replayed_layouts_cost_what_booted_ones_do(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Random layouts of one study, replayed and booted: each within half a per cent."""
    study = aa_study(tmp_path, 3, ("pipe", "file"))
    plan = json.loads(kernsmith(tmp_path, "plan", str(study), "--json").stdout)
    assert plan["replays"] == 2 * 3 * 2
    assert plan["boots"] == {"trials": 2 * 2, "traces": 0, "checks": 2 * 2 * 2}
    assert plan["seconds"]["replays"] < plan["seconds"]["trials"]
    several = tmp_path / "boots.toml"
    several.write_text(study.read_text().replace("layouts = 3", "layouts = 3\nboots = 3"))
    boots = json.loads(kernsmith(tmp_path, "plan", str(several), "--json").stdout)["boots"]
    # Two labels are one kernel with boots of their own; the first boot is its default layout's.
    assert boots == {"trials": 2 * 2, "traces": 2 * (2 * 3 - 1), "checks": 2 * 2 * 2}
    replayed, booted = (
        json.loads(kernsmith(tmp_path, "run", str(study), "--layouts-by", way, "--json").stdout)
        for way in ("replay", "boot")
    )
    cycles = [
        {(run["layout"], run["workload"]): run["metrics"]["model_cycles"] for run in each["runs"]}
        for each in (replayed, booted)
    ]
    assert set(cycles[0]) == set(cycles[1])
    for place, measured in cycles[1].items():
        assert abs(cycles[0][place] / measured - 1) < 0.005, place
    # What a layout moves in a booted kernel, it moves in a replayed one.
    names = [place for place in cycles[0] if place[0] != "default"]
    ranks = spearmanr(*([figures[name] for name in names] for figures in cycles))
    assert ranks.statistic > 0.9
    assert {run["replayed"] for run in replayed["runs"] if run["layout"] != "default"} == {True}
    assert not any(run["replayed"] for run in booted["runs"])
    assert len(replayed["checks"]) == 2 * 2
    assert all(check["holds"] and abs(check["error"]) < 0.5 for check in replayed["checks"])
    assert not booted["checks"]


def test_windows_of_a_trace_stand_for_all_of_it(micro_kernel: Kernel, tmp_path: Path) -> None:
    """Of a model in time: every figure within half a per cent, their mean within a fifth."""
    study = aa_study(tmp_path, 3, ("pipe", "file"), DEFAULT_CPU)
    text = study.read_text()
    cycles = []
    for every in (8, 1):
        study.write_text(text.replace("[design]\n", f"[design]\nevery = {every}\n"))
        document = json.loads(kernsmith(tmp_path, "run", str(study), "--json").stdout)
        assert document["every"] == every
        cycles.append(
            {(run["layout"], run["workload"]): run["metrics"]["model_cycles"]
             for run in document["runs"]}
        )  # fmt: skip
    assert cycles[0] != cycles[1]
    errors = {place: log(cycles[0][place] / whole) for place, whole in cycles[1].items()}
    assert max(map(abs, errors.values())) < 0.005, errors
    assert abs(fmean(errors.values())) < 0.002, errors


def test_a_killed_study_goes_on_where_it_stopped(micro_kernel: Kernel, tmp_path: Path) -> None:
    """SIGKILL in the middle of the trials; the second call runs what is missing, nothing twice."""
    study = aa_study(tmp_path, 2, ("pipe", "fork"))
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite"
    command = [sys.executable, "-m", "kernsmith", "run", str(study), "--ledger", ledger]
    victim = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while count(tmp_path, "runs") < 4:
        assert victim.poll() is None, "the study ended before it could be killed"
        time.sleep(0.05)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    survived = count(tmp_path, "runs")
    document = json.loads(kernsmith(tmp_path, "run", str(study), "--json").stdout)
    trials = {run["trial"] for run in document["runs"]}
    assert count(tmp_path, "runs") == len(trials) + checking_boots(document) > survived >= 4


def test_two_processes_share_the_trials_of_one_study(micro_kernel: Kernel, tmp_path: Path) -> None:
    study = aa_study(tmp_path, 2, ("pipe", "fork"))
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite"
    command = [sys.executable, "-m", "kernsmith", "run", str(study), "--ledger", ledger, "--json"]
    both = [
        subprocess.Popen([*command, "-o", str(tmp_path / name)], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    first, second = (json.loads(process.communicate()[0]) for process in both)
    assert first["verdicts"] == second["verdicts"]
    trials = {run["trial"] for run in first["runs"]}
    assert count(tmp_path, "runs") == len(trials) + checking_boots(first)


def test_until_adds_layouts_until_the_interval_is_narrow(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    study = aa_study(tmp_path, 2, ("pipe",))
    study.write_text(study.read_text() + "until = 0.01\nmost_layouts = 5\n")
    document = json.loads(kernsmith(tmp_path, "run", str(study), "--json").stdout)
    (look,) = document["sequential"]
    assert look["n"] == 5
    assert not look["reached"]
    assert "at the limit of 5 layouts" in look["sentence"]
    assert {run["block"] for run in document["runs"]} == set(range(6))


@pytest.mark.skipif(not os.environ.get(ALL), reason=_OWN_KERNEL)
def test_a_kernel_that_panics_is_recorded_and_the_study_goes_on(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    """A kernel that cannot execute programs finds no init; the other one is measured.

    A real panic by itself is in test_tcg.py, studies whose runs panic are in test_trials.py.
    """
    study = tmp_path / "panic.toml"
    study.write_text(
        '[source]\nuse = "debian:7.3"\nconfig = "micro"\n'
        'options = { AUTOFDO_CLANG = "y" }\n'
        '[workloads]\nuse = ["pipe"]\n'
        "[factors]\nCONFIG_BINFMT_ELF = [true, false]\n[design]\nlayouts = 1\n"
    )
    document = json.loads(kernsmith(tmp_path, "run", str(study), "--json", expect=1).stdout)
    status = {(run["variant"], run["status"]) for run in document["runs"]}
    sound, broken = (variant["name"] for variant in document["variants"])
    assert status == {
        (sound, "ok"),
        (broken, "panic"),
        (broken, "none"),  # without a trace there is nothing to replay
    }
    panicked = [run for run in document["runs"] if run["status"] == "panic"]
    assert all("Kernel panic" in Path(run["console"]).read_text() for run in panicked)
    assert any(failure.startswith(f"panic: {broken}") for failure in document["failures"])
    assert not document["verdicts"]


def test_what_fails_is_listed_and_the_rest_goes_on(micro_kernel: Kernel, tmp_path: Path) -> None:
    """One variant does not build, one is refused; the rest goes on, the exit code is 1."""
    study = tmp_path / "broken.toml"
    study.write_text(
        '[source]\nuse = "debian:7.3"\nconfig = "micro"\n'
        'options = { AUTOFDO_CLANG = "y" }\n'
        '[workloads]\nuse = ["pipe"]\n'
        '[factors]\nflags = ["none", "-Dtask_struct=3", "-mno-such-flag"]\n'
        "[design]\nlayouts = 0\n"
    )
    done = kernsmith(tmp_path, "run", str(study), "--json", expect=1)
    document = json.loads(done.stdout)
    refused, failed = document["failures"]
    assert refused.startswith("refused: flags=-mno-such-flag: ")
    assert "build.log" in failed
    assert [run["status"] for run in document["runs"]] == ["ok"]
    # While the second kernel is compiled, the first one is measured, and not again afterwards.
    said = [line.partition("] ")[2] for line in done.stderr.splitlines()]
    building = said.index("kernel flags=-Dtask_struct=3")
    assert said[building + 1] == "meanwhile: run 1 trials on tcg"
    assert "1 of 1 trials are in the ledger already" in said[building + 1 :]
    assert count(tmp_path, "runs") == 1


def count(folder: Path, table: str) -> int:
    path = folder / "ledger.sqlite"
    if not path.exists():
        return 0
    with create_engine(f"sqlite:///{path}").connect() as connection:
        there = text("select count(*) from sqlite_master where name = :name")
        if not connection.execute(there, {"name": table}).scalar():
            return 0
        return int(connection.execute(text(f"select count(*) from {table}")).scalar() or 0)


def test_a_workload_that_one_variant_cannot_run_leaves_that_variant_out(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[source]\nuse = "debian:7.3"\nconfig = "micro"\noptions = { AUTOFDO_CLANG = "y" }\n'
        '[workloads]\nuse = ["unix-socket"]\n'
        "[variants]\nwith = {}\n"
        'without = { CONFIG_UNIX = "n" }\n"with, too" = { label = "b" }\n'
        '[design]\nlayouts = 1\nlayouts_by = "boot"\n'
    )
    done = kernsmith(tmp_path, "run", str(study), "--json", expect=1)
    document = json.loads(done.stdout)
    assert {run["variant"] for run in document["runs"] if run["status"] == "ok"} == {
        "with",
        "with, too",
    }
    (reason,) = document["failures"]
    assert "unix-socket needs CONFIG_UNIX" in reason
    assert "'micro' of 'without'" in reason
