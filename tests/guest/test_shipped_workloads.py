# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads that come as files: they are whole, and do their work on a root of packages."""

import os
from pathlib import Path

import pytest

from kernels import ALL, kept_kernel
from kernsmith.errors import UserError
from kernsmith.guest.own import described, parse_own_workload, shipped_files
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import Table, open_machine
from kernsmith.study import Study, plan_variants

FILES = shipped_files("")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_called_as_its_workload_and_has_all_that_it_names(path: Path) -> None:
    said = parse_own_workload(path)
    assert said.name == path.stem
    assert said.description
    assert said.check.output, "what does half of its work would look fast"
    for name in (*said.files, said.check.output):
        assert (path.parent / name).is_file()


def test_names_are_taken_once() -> None:
    catalogue = load_catalogue()
    names = [described(path).name for path in FILES]
    assert len(set(names)) == len(names)
    sets = {path.parent.name for path in FILES}
    assert not {*names, *sets} & {*catalogue.names, *catalogue.sets}
    assert not sets & set(names)


def test_a_word_that_is_nothing_is_told_with_them() -> None:
    with pytest.raises(UserError, match=r"allowed are the sets .*tools, .*sort, tar"):
        load_catalogue().including(["sorted"]).select(["sorted"])


def test_tools_work_on_one_part_of_the_kernels_source(source: Source, tmp_path: Path) -> None:
    tools = [parse_own_workload(path) for path in FILES if path.parent.name == "tools"]
    assert len(tools) == 5
    (parts,) = {tuple(said.source.parts) for said in tools if said.source}
    files = [path for part in parts for path in (source.path / part).rglob("*") if path.is_file()]
    assert 250 < len(files) < 400, "the rounds are for so many"


@pytest.fixture(scope="module")
def kernel(source: Source) -> Kernel:
    if ALL not in os.environ:
        pytest.skip("a root of Debian's packages takes minutes: make test-all makes it")
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_two_boots_give_equal_counters(kernel: Kernel, tmp_path: Path, name: str) -> None:
    (workload,) = load_catalogue().including([name]).select([name])
    symbols = parse_config((kernel.output / ".config").read_text())
    if missing := workload.missing(symbols, loads=False):
        pytest.skip(f"the config root has no {', '.join(missing)}")
    first, second = (
        run_once(
            open_machine("skylake", Table(time_limit=1800)),
            kernel.vmlinux,
            Job(workload, tmp_path / which),
        )
        for which in ("first", "second")
    )
    assert first.ok, first.reason
    assert first.metrics == second.metrics
