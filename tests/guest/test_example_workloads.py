# SPDX-License-Identifier: GPL-2.0-or-later
"""The workloads of docs/examples do what the documents say of them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kernels import ALL, kept_kernel
from kernsmith import paths
from kernsmith.guest.own import parse_own_workload, read_own_workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Study, plan_variants

EXAMPLES = paths.shipped("docs/examples")


def ran(file: Path, kernel: Kernel, folder: Path) -> Outcome:
    return run_once(open_machine("zen4"), kernel.vmlinux, Job(read_own_workload(file), folder))


@pytest.mark.parametrize("name", ["lookups", "words"])
def test_the_example_is_whole(name: str) -> None:
    folder = EXAMPLES / name
    said = parse_own_workload(folder / f"{name}.toml")
    assert said.name == name
    assert all((folder / file).exists() for file in (*said.files, said.check.output))


@pytest.mark.kernel
def test_a_static_program_tells_a_figure_of_its_own(micro_kernel: Kernel, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "lookups", tmp_path / "lookups"))
    source = (folder / "lookups.c").read_text(encoding="utf-8")
    command = source.splitlines()[1].partition(": ")[2]
    subprocess.run(command.split(), cwd=folder, check=True)
    outcome = ran(folder / "lookups.toml", micro_kernel, tmp_path / "job")
    assert outcome.ok, outcome.reason
    probes, unit = outcome.metrics["probes"]
    assert probes > 480
    assert unit == ""


@pytest.mark.kernel
@pytest.mark.skipif(ALL not in os.environ, reason="a root takes minutes: make test-all makes it")
def test_a_program_of_debian_s_counts_words(source: Source, tmp_path: Path) -> None:
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    kernel = kept_kernel(make_recipe(plan_variants(study, ())[0], source))
    outcome = ran(EXAMPLES / "words/words.toml", kernel, tmp_path / "job")
    assert outcome.ok, outcome.reason
