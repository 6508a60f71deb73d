# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole studies on the machine `kvm`, whose processor QEMU emulates here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from kernsmith.kernel.artifact import Kernel

pytestmark = pytest.mark.kernel

STUDY = """\
[source]
use = "debian:7.3"
config = "micro"

[machine]
use = "kvm"
settings = { accel = "tcg" }

[workloads]
use = ["pipe", "select"]

[factors]
profile = ["none"]
label = ["a", "b"]

[design]
layouts = 1
runs = 2
"""


def kernsmith(folder: Path, *words: str) -> dict[str, Any]:
    ledger = f"sqlite:///{folder}/ledger.sqlite"
    command = [sys.executable, "-m", "kernsmith", *words, "--json", "--ledger", ledger]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def asked(folder: Path, query: str) -> list[tuple[Any, ...]]:
    engine = create_engine(f"sqlite:///{folder}/ledger.sqlite")
    with engine.connect() as connection:
        try:
            return [tuple(row) for row in connection.execute(text(query))]
        except Exception:  # before the first process has made it
            return []


def mean_of(runs: list[dict[str, Any]], mix: dict[str, Any]) -> float:
    """The geometric mean of a variant's runs in the block of a mix's first figure."""
    block = mix["values"][0][0]
    return geometric_mean(
        run["metrics"][mix["metric"]]
        for run in runs
        if (run["variant"], run["block"]) == (mix["variant"], block)
    )


def guests(folder: Path) -> list[int]:
    """Emulators that write a console below this folder's cache and are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                ours = f"{os.getpid()}-{folder.name}".encode()
                environ = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"qemu-system" in words[0] and b"KERNSMITH_TEST=" + ours in environ:
                found.append(int(entry.name))
    return found


def test_a_study_that_is_killed_between_runs_goes_on_in_another_boot(
    micro_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNSMITH_TEST", f"{os.getpid()}-{tmp_path.name}")
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite"
    command = [sys.executable, "-m", "kernsmith", "run", str(study), "--ledger", ledger]
    victim = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while len(asked(tmp_path, "SELECT id FROM runs")) < 2:
        assert victim.poll() is None, "the study ended before it could be killed"
        time.sleep(0.05)
    assert guests(tmp_path)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    end = time.monotonic() + 60
    while guests(tmp_path):
        assert time.monotonic() < end, "the guest outlives who has booted it"
        time.sleep(0.1)
    survived = asked(tmp_path, "SELECT id FROM runs")
    document = kernsmith(tmp_path, "run", str(study))
    runs = asked(tmp_path, "SELECT id, trial, boot FROM runs ORDER BY id")
    assert len(runs) == len({trial for _, trial, _ in runs}) == 2 * 2 * 2 * 2 > len(survived) >= 2
    assert all(run["status"] == "ok" for run in document["runs"])
    # Two runs of each workload a boot, two boots of each kernel; one more where it was killed.
    boots = {boot for _, _, boot in runs}
    assert len(boots) in (4, 5)
    assert len(asked(tmp_path, "SELECT id FROM boots")) in (4, 5, 6)
    ends = asked(tmp_path, "SELECT status FROM boot_ends")
    assert {status for (status,) in ends} == {"ok"}
    assert document["study"]["metric"] == "reference_cycles"
    assert {run["replicate"] for run in document["runs"]} == {0, 1}
    (overall,) = (
        each
        for each in document["verdicts"]
        if (each["workload"], each["metric"]) == ("overall", "reference_cycles")
    )
    assert overall["n"] == 1
    assert overall["ratio"] > 0
    assert any("there is no PMU" in remark for remark in document["remarks"])
    assert document["machine"]["name"] == "kvm"
    assert document["machine"]["cpu"] == ""
    command = [sys.executable, "-m", "kernsmith", "report", "study", "--ledger", ledger]
    subprocess.run(command, cwd=tmp_path, check=True)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Where the variance comes from" in page
    assert document["mixes"][0]["values"][0][1] == pytest.approx(
        mean_of(document["runs"], document["mixes"][0])
    )


PAIR = """\
[source]
use = "debian:7.3"
config = "micro"

[[machine]]
use = "tcg"

[[machine]]
use = "kvm"
settings = { accel = "tcg" }

[workloads]
use = ["pipe", "select"]

[factors]
profile = ["none"]
label = ["a", "b"]

[design]
layouts = 2
runs = 2
"""


def test_two_machines_measure_the_same_kernels_in_the_same_layouts(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    study = tmp_path / "both.toml"
    study.write_text(PAIR)
    plan = kernsmith(tmp_path, "plan", str(study))
    assert len(plan["trials"]) == 3 * 2 * 2
    assert [len(each["trials"]) for each in plan["beside"]] == [2 * len(plan["trials"])]
    document = kernsmith(tmp_path, "run", str(study))
    pair = document["pair"]
    assert (document["machine"]["name"], pair["machine"]["name"]) == ("tcg", "kvm")
    assert (document["study"]["metric"], pair["metric"]) == ("model_cycles", "reference_cycles")
    cells = [{(run["variant"], run["layout"]) for run in each["runs"]} for each in (document, pair)]
    assert cells[0] == cells[1]
    assert len(cells[0]) == 2 * 3
    compared = {each["workload"]: each for each in pair["compared"]}
    assert list(compared) == ["overall", "pipe", "select"]
    for each in compared.values():
        # Layouts of labels are drawn apart: means over layouts, on each machine.
        assert each["ratio"] == pytest.approx(each["second"] / each["first"])
        assert each["ci"][0] < each["ratio"] < each["ci"][1]
        assert each["n"] == 2
    text = (Path(document["report"]).with_name("study.toml")).read_text()
    assert text.count("[[machine]]") == 2
    page = Path(document["report"]).read_text(encoding="utf-8")
    assert "Two machines" in page
    assert "QEMU emulates the processor" in page
    # The ledger has a study of each machine: nothing is measured twice.
    runs = asked(tmp_path, "SELECT count(*) FROM runs")
    again = kernsmith(tmp_path, "run", str(study))
    assert again["pair"]["compared"] == pair["compared"]
    assert asked(tmp_path, "SELECT count(*) FROM runs") == runs
