# SPDX-License-Identifier: GPL-2.0-or-later
"""gcc builds the micro kernel, its functions move in random layouts, and it boots."""

import shutil
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import relink
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import layout_name, random_order
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Variant

pytestmark = pytest.mark.kernel

GCC = "gcc-12" if shutil.which("gcc-12") else "gcc"


@pytest.fixture(scope="module")
def kernel(source: Source) -> Kernel:
    variant = Variant(source="debian:7.3", config="micro", compiler=GCC)
    return kept_kernel(make_recipe(variant, source))


@pytest.fixture(scope="module")
def functions(kernel: Kernel) -> list[str]:
    return movable_functions(read_system_map(kernel.system_map))


def run(image: Path, folder: Path) -> Outcome:
    some = load_catalogue().select(["null-syscall"])[0]
    return run_once(open_machine("skylake"), image, Job(some, folder))


def test_gcc_compiles_and_lld_links(kernel: Kernel) -> None:
    assert "gcc" in kernel.provenance["compiler"].lower()
    assert "LLD" in kernel.provenance["linker"]
    config = (kernel.folder / "config").read_text()
    assert "CONFIG_CC_IS_GCC=y" in config
    assert "CONFIG_LD_IS_LLD=y" in config


def test_clones_and_cold_parts_are_functions_of_a_layout(functions: list[str]) -> None:
    assert len(functions) > 5_000
    for mark in (".constprop.", ".isra.", ".part.", ".cold"):
        assert any(mark in name for name in functions), mark


def test_layouts_differ_and_boot(kernel: Kernel, functions: list[str], tmp_path: Path) -> None:
    images = []
    for seed in ("1", "2"):
        order = random_order(functions, seed)
        images.append(relink(kernel, layout_name("random", order), order))
    maps = [kernel.system_map, *(image.with_name("System.map") for image in images)]
    places = [{s.name: s.address for s in read_system_map(path)} for path in maps]
    assert set(places[0]) == set(places[1]) == set(places[2])
    for old, new in ((0, 1), (0, 2), (1, 2)):
        moved = sum(places[old][name] != places[new][name] for name in functions)
        assert moved > 0.95 * len(functions)
    outcomes = [
        run(image, tmp_path / str(number)) for number, image in enumerate((kernel.vmlinux, *images))
    ]
    assert all(outcome.ok for outcome in outcomes), [outcome.reason for outcome in outcomes]
    instructions = [outcome.metrics["kernel_instructions"][0] for outcome in outcomes]
    assert max(instructions) / min(instructions) < 1.001
    assert len({outcome.metrics["l1i_misses"][0] for outcome in outcomes}) == 3
