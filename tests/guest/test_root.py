# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads in a root file system: programs with shared libraries, set-up, exact counters."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import ALL, kept_kernel
from kernsmith.errors import UserError
from kernsmith.guest.own import read_own_workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.paths import shipped
from kernsmith.study import Study, plan_variants
from kernsmith.study.file import read_study
from kernsmith.study.places import without_folders
from kernsmith.study.writing import write_study

PROGRAM = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(int count, char **words)
    {
        char line[64] = "";
        FILE *file = fopen(words[1], "r");
        if (!file || !fgets(line, sizeof(line), file))
            return 3;
        printf("%s", line);
        return 0;
    }
"""
TABLE = """\
name = "teller"
program = "tell"
arguments = ["/etc/said"]
set_up = ["busybox", "cp", "line", "/etc/said"]
files = ["line"]
rounds = 3

[root]
image = "tree"

[check]
output = "line"
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small root: a program with the libraries that it needs, and busybox."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("usr/bin", "etc", "lib64"):
        (root / folder).mkdir(parents=True)
    source = root.parent / "tell.c"
    source.write_text(PROGRAM)
    program = root / "usr/bin/tell"
    subprocess.run(["gcc", "-O1", "-o", str(program), str(source)], check=True)
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
    for library in re.findall(r"(/\S+) \(0x", needed.stdout):
        target = root / library[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    shutil.copy("/bin/busybox", root / "usr/bin/busybox")
    return root


@pytest.fixture
def file(tree: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "teller"
    shutil.copytree(tree, folder / "tree")
    (folder / "line").write_text("as it was\n")
    path = folder / "teller.toml"
    path.write_text(TABLE)
    return path


def test_what_a_root_needs_the_config_root_has_and_micro_has_not(file: Path) -> None:
    teller = read_own_workload(file)
    assert teller.missing(read_fragment("root").symbols) == ()
    assert "CONFIG_OVERLAY_FS" in teller.missing(read_fragment("micro").symbols)
    assert "the shipped config root" in teller.advice


def test_another_root_is_another_workload(file: Path, tmp_path: Path) -> None:
    first = read_own_workload(file)
    assert first.root is not None and first.content
    shutil.copytree(file.parent / "tree", tmp_path / "other")
    assert read_own_workload(file, tmp_path / "other") == first
    (tmp_path / "other/etc/more").write_text("x")
    other = read_own_workload(file, tmp_path / "other")
    assert other.content != first.content and other.root != first.root


def test_the_machine_gives_the_image_as_a_disk_in_memory(file: Path, tmp_path: Path) -> None:
    machine, teller = open_machine("skylake"), read_own_workload(file)
    assert teller.root is not None
    words = machine.command(Path("vmlinux"), Job(teller, tmp_path), Path("cpio"), {})
    size = teller.root.stat().st_size
    assert f"phram.phram=root,0x100000000,{size:#x}" in words[words.index("-append") + 1]
    assert words[words.index("-m") + 1].startswith("1024M,slots=1")
    (backend,) = (word for word in words if word.startswith("memory-backend-file,"))
    assert f"mem-path={teller.root},size={size}" in backend and "readonly=on" in backend


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('image = "tree"', "", "root: it needs packages or an image"),
        ('image = "tree"', 'image = "tree"\npackages = []', "root: it needs packages or an image"),
        ('image = "tree"', 'packages = ["-x"]', "root.packages: '-x' is not the name"),
        ('image = "tree"', 'packages = []\ncomponents = ["free"]', "root.components: 'free' is no"),
        ('image = "tree"', "packages = []\ncomponents = []", "root.components: List should have"),
        ('image = "tree"', 'image = "tree"\ncomponents = ["main"]', "and an image has none"),
        ('image = "tree"', 'suite = "sid"', "root.suite: there is no such key"),
        ('image = "tree"', 'image = "../tree"', "root.image: '../tree' is not below the folder"),
        ('image = "tree"', 'image = "line"', "is neither a folder nor an image"),
        ('program = "tell"', 'program = "./tell"', "program: there is no 'tell' beside the file"),
        ('set_up = ["busybox", ', 'set_up = ["a\\u0000b", ', "set_up: a word cannot have a zero"),
        ('program = "tell"', 'program = "tells"', "program: the root has no program 'tells'"),
        ('set_up = ["busybox", ', 'set_up = ["cp", ', "set_up: the root has no program 'cp'"),
    ],
)
def test_mistakes_are_told_with_their_place(file: Path, old: str, new: str, told: str) -> None:
    assert old in TABLE
    file.write_text(TABLE.replace(old, new))
    with pytest.raises(UserError) as error:
        read_own_workload(file)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_study_names_a_root_from_its_own_folder(file: Path) -> None:
    text = (shipped("studies") / "aa.toml").read_text()
    study = file.parent / "study.toml"
    study.write_text(text.replace('use = ["lab"]', 'use = ["teller.toml"]\nroot = "tree"'))
    read = read_study(study)
    assert read.root == str(file.parent / "tree")
    study.write_text(write_study(read))
    assert read_study(study) == read
    assert without_folders(read).root == "tree"
    assert read.digest != replace(read, root="").digest


@pytest.fixture(scope="module")
def kernel(source: Source) -> Kernel:
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


def ran(file: Path, kernel: Kernel, folder: Path) -> Outcome:
    return run_once(open_machine("skylake"), kernel.vmlinux, Job(read_own_workload(file), folder))


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_two_boots_in_a_root_give_equal_counters(
    file: Path, kernel: Kernel, tmp_path: Path
) -> None:
    first, second = (ran(file, kernel, tmp_path / which) for which in ("first", "second"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_an_image_of_the_users_is_a_root(file: Path, kernel: Kernel, tmp_path: Path) -> None:
    tree, image = file.parent / "tree", tmp_path / "tree.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", tree, image, "32M"], check=True)
    workload = read_own_workload(file, image)
    outcome = run_once(open_machine("skylake"), kernel.vmlinux, Job(workload, tmp_path / "run"))
    assert outcome.ok, outcome.reason
    file.write_text(TABLE.replace('"tell"', '"tells"'))
    workload = read_own_workload(file, image)
    outcome = run_once(open_machine("skylake"), kernel.vmlinux, Job(workload, tmp_path / "other"))
    assert "the guest has no program tells" in outcome.reason


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"busybox", "cp"', '"busybox", "false"', "the set-up ended with status 1, not 0"),
        ('["/etc/said"]', '["/etc/other"]', "the program ended with status 3, not 0"),
        ('["/etc/said"]', '["/usr/bin/tell"]', "the program printed something else"),
    ],
)
def test_what_did_not_do_its_work_has_no_figures(
    file: Path, kernel: Kernel, tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in TABLE
    file.write_text(TABLE.replace(old, new))
    outcome = ran(file, kernel, tmp_path / "run")
    assert not outcome.ok and not outcome.metrics
    assert told in outcome.reason


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_an_image_that_cannot_be_mounted(file: Path, kernel: Kernel, tmp_path: Path) -> None:
    (file.parent / "broken").write_bytes(b"hsqs" + bytes(4096))
    file.write_text(TABLE.replace('"tree"', '"broken"'))
    outcome = ran(file, kernel, tmp_path / "run")
    assert not outcome.ok
    assert "no root file system: mount of the image, squashfs: " in outcome.reason


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_a_program_of_debians(kernel: Kernel, tmp_path: Path) -> None:
    if ALL not in os.environ:
        pytest.skip("a root of Debian's packages takes minutes: make test-all makes it")
    (tmp_path / "sum.toml").write_text(
        'name = "sum"\nprogram = "sqlite3"\narguments = [":memory:", "select 40 + 2"]\nrounds = 2\n'
        '[root]\npackages = ["sqlite3"]\n[check]\noutput = "expected"\n'
    )
    (tmp_path / "expected").write_text("42\n")
    first, second = (
        ran(tmp_path / "sum.toml", kernel, tmp_path / which) for which in ("first", "second")
    )
    assert first.ok, first.reason
    assert first.metrics == second.metrics
