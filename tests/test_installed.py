# SPDX-License-Identifier: GPL-2.0-or-later
"""`pip install .`: a wheel brings all that kernsmith needs, and works outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.paths import shipped
from kernsmith.study import Variant

pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("installed")]

STUDY = """
[source]
use = "debian:7.3"
config = "micro"
[workloads]
use = ["pipe"]
[factors]
label = ["a", "b"]
profile = ["none"]
[design]
layouts = 0
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
    subprocess.run([*command, str(shipped())], check=True)
    (made,) = folder.glob("kernsmith-*.whl")
    return made


@pytest.fixture(scope="module")
def kernsmith(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from the wheel; other packages are those of the tests' Python."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [folder / "bin/pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(pip, check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin/kernsmith"


def call(program: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the installed command from a folder of its own, without this checkout's Python path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [program, *words],
        cwd=program.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def test_a_wheel_holds_the_programs_and_the_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "target/release/libkernsmith_tracer.so",
        "target/release/kernsmith-compiler",
        "build/guest/kernsmith-guest",
        "build/guest/kernsmith-guest-android",
        "build/guest/kernsmith-own",
        "build/guest/timed/kernsmith-guest",
        "build/guest/timed/kernsmith-own",
        "build/guest/kernsmith-modules",
        "build/guest/kernsmith-root",
        "build/guest/kernsmith-runner",
        "configs/micro.config",
        "cpus/skylake.toml",
        "studies/optimize.toml",
        "guest/programs/lua/program.toml",
        "guest/marker.h",
    ):
        assert f"kernsmith/_shipped/{name}" in names
    assert not shipped("src/kernsmith/_shipped").exists(), "nothing of it stays in the checkout"


def test_an_installed_kernsmith_takes_nothing_from_the_checkout(kernsmith: Path) -> None:
    where = "import kernsmith.paths as p; print(p.__file__, p.shipped('cpus'))"
    done = call(kernsmith.with_name("python"), "-c", where)
    assert done.stdout.count(str(kernsmith.parents[1])) == 2, done
    shown = call(kernsmith, "doctor")
    assert "is not built" not in shown.stdout + shown.stderr
    assert shown.returncode in (0, 1), shown
    assert str(shipped()) not in shown.stdout
    (program,) = kernsmith.parents[1].glob("lib/*/site-packages/kernsmith/_shipped/*/*/*compiler")
    assert os.access(program, os.X_OK)


def test_it_plans_a_shipped_study_and_boots_a_kernel(
    kernsmith: Path, tmp_path: Path, micro_variant: Variant, source: Source
) -> None:
    (studies,) = kernsmith.parents[1].glob("lib/*/site-packages/kernsmith/_shipped/studies")
    ledger = f"sqlite:///{tmp_path}/ledger.sqlite"
    plan = call(kernsmith, "plan", studies / "aa.toml", "--json", "--ledger", ledger)
    assert plan.returncode == 0, plan.stderr
    assert json.loads(plan.stdout)["trials"]

    kept_kernel(make_recipe(micro_variant, source))
    (tmp_path / "s.toml").write_text(STUDY)
    words = ["run", tmp_path / "s.toml", "--output", tmp_path / "report", "--ledger", ledger]
    done = call(kernsmith, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report/report.html").exists()
