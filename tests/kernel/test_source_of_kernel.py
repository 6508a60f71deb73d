# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel is linked and packaged from the folder that it was built from: one that has lost it is
built again, from wherever the same content lies now."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import find_kernel
from kernsmith.kernel.make import make_command
from kernsmith.kernel.recipe import Recipe, make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.standing import clear_for
from kernsmith.study import Study, plan_variants
from whole_provenance import put_kernel


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "here"
    (tree / "include/asm-generic").mkdir(parents=True)
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\n")
    (tree / "Kconfig").write_text("config HZ\n")
    script = "#define TEXT_MAIN .text .text.[_0-9A-Za-z]*\n"
    (tree / "include/asm-generic/vmlinux.lds.h").write_text(script)
    return tree


def recipe_of(tree: Path) -> Recipe:
    study = Study(source=str(tree), config="micro", factors=())
    return make_recipe(plan_variants(study, ())[0], resolve_source(str(tree), paths.sources()))


def built(recipe: Recipe) -> Kernel:
    """What a build leaves behind, without its images."""
    folder = paths.kernels() / recipe.key[:20]
    variant = {"compiler": recipe.toolchain.compiler.name, "linker": "ld.lld"}
    command = make_command(recipe, folder / "out")
    told = put_kernel(folder, recipe.key, command=command, variant=variant)
    return Kernel(recipe.key, folder, told)


def test_a_copy_of_the_source_gives_the_kernel_that_is_there(here: Path, tmp_path: Path) -> None:
    kernel = built(recipe_of(here))
    copied = recipe_of(shutil.copytree(here, tmp_path / "there"))
    assert find_kernel(copied) == kernel


@pytest.mark.parametrize("lost", ["gone", "changed", "no source any more"])
def test_a_kernel_whose_source_is_lost_is_not_taken(here: Path, tmp_path: Path, lost: str) -> None:
    kernel = built(recipe_of(here))
    copied = recipe_of(shutil.copytree(here, tmp_path / "there"))
    if lost == "changed":
        (here / "Kconfig").write_text("config HZ_1000\n")
    elif lost == "gone":
        shutil.rmtree(here)
    else:
        (here / "Makefile").unlink()
    assert find_kernel(copied) is None
    (kernel.folder / "provenance.json").write_text(
        json.dumps(kernel.provenance | {"command": make_command(copied, kernel.folder / "out")})
    )
    assert find_kernel(copied) is not None


def test_a_kernel_whose_compiler_is_lost_is_not_taken(here: Path) -> None:
    recipe = recipe_of(here)
    kernel = built(recipe)
    variant = kernel.provenance["variant"] | {"compiler": "/nowhere/bin/clang"}
    text = json.dumps(kernel.provenance | {"variant": variant})
    (kernel.folder / "provenance.json").write_text(text)
    assert find_kernel(replace(recipe)) is None


@pytest.mark.parametrize("finished", [True, False])
def test_what_was_begun_from_another_folder_is_cleared_but_for_what_was_made_of_it(
    here: Path, tmp_path: Path, finished: bool
) -> None:
    """A build that was killed goes on from the folder that it was begun from only."""
    recipe = recipe_of(here)
    folder = built(recipe).folder
    for name in ("out/vmlinux.o", "layouts/random-1/vmlinux", "build.log"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "out/source").symlink_to(here)
    there = recipe_of(shutil.copytree(here, tmp_path / "there")).source
    if not finished:
        (folder / "provenance.json").unlink()
        clear_for(folder, recipe.source)
        assert (folder / "out/vmlinux.o").exists()
        assert (folder / "build.log").exists()
    clear_for(folder, there)
    left = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert left == {"vmlinux", "layouts/random-1/vmlinux"}


@pytest.mark.parametrize("damaged", ["vmlinux", "provenance.json"])
def test_nothing_of_a_damaged_kernel_is_gone_on_with(here: Path, damaged: str) -> None:
    """Its image and kbuild's are one file: make would take it for done."""
    recipe = recipe_of(here)
    folder = built(recipe).folder
    (folder / "out").mkdir()
    (folder / "out/source").symlink_to(here)
    (folder / "out/vmlinux").hardlink_to(folder / "vmlinux")
    (folder / damaged).write_text("")
    assert find_kernel(recipe) is None
    clear_for(folder, recipe.source)
    assert not (folder / "out").exists() and not (folder / "provenance.json").exists()
