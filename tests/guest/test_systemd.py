# SPDX-License-Identifier: GPL-2.0-or-later
"""A root's own systemd as process 1: what is laid above the image, and roots that have none."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith.errors import UserError
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.systemd import SYSTEMD_NEEDS, systemd_layer
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Study, plan_variants

TABLE = """\
name = "unit"
program = "busybox"
arguments = ["true"]

[root]
image = "tree"
init = "systemd"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A workload in a small root that says it has systemd."""
    folder = tmp_path / "tree/usr/bin"
    folder.mkdir(parents=True)
    for name in ("busybox", "systemctl"):
        shutil.copy("/bin/busybox", folder / name)
    path = tmp_path / "unit.toml"
    path.write_text(TABLE)
    return path


def test_the_unit_is_in_the_initramfs_and_not_in_the_image(file: Path) -> None:
    workload = read_own_workload(file)
    file.write_text(TABLE.replace('init = "systemd"\n', ""))
    small = read_own_workload(file)
    assert workload.root == small.root
    assert workload.initramfs and small.initramfs and workload.content != small.content
    archive, usual = workload.initramfs.read_bytes(), small.initramfs.read_bytes()
    for name in (b"root/above/etc/systemd/system/kernsmith.target\0", b"root/above/etc/machine-id"):
        assert name in archive and name not in usual
    assert set(workload.needs) - set(small.needs) == set(SYSTEMD_NEEDS)
    assert set(SYSTEMD_NEEDS) < set(workload.first) <= set(workload.needs)


def test_the_config_root_has_what_it_needs(file: Path) -> None:
    assert read_own_workload(file).missing(read_fragment("root").symbols) == ()


def test_the_layer_has_folders_before_what_is_in_them() -> None:
    seen = {"root"}
    for member in systemd_layer():
        assert str(Path(member.name).parent) in seen
        seen.add(member.name)
    contents = {member.name.rpartition("/")[2]: member.content for member in systemd_layer()}
    service = configparser.ConfigParser(interpolation=None)
    service.read_string((contents["kernsmith.service"] or b"").decode())
    assert f"root/above{service['Service']['ExecStart']}" in seen
    assert contents["getty.target"] == contents["timers.target"] == b"", "an empty unit is masked"


@pytest.mark.parametrize(
    ("init", "told"),
    [
        ("systemd", "root.init: the root has no systemd: name it among root.packages"),
        ("runit", "root.init: Input should be 'small' or 'systemd'"),
    ],
)
def test_what_a_root_does_not_have_is_no_choice(file: Path, init: str, told: str) -> None:
    (file.parent / "tree/usr/bin/systemctl").unlink()
    file.write_text(TABLE.replace('init = "systemd"', f'init = "{init}"'))
    with pytest.raises(UserError) as error:
        read_own_workload(file)
    assert told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_an_image_without_it_is_told_by_the_guest(
    file: Path, source: Source, tmp_path: Path
) -> None:
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    kernel = kept_kernel(make_recipe(plan_variants(study, ())[0], source))
    image = tmp_path / "tree.ext4"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", file.parent / "tree", image, "32M"],
                   check=True)  # fmt: skip
    workload = read_own_workload(file, image)
    outcome = run_once(open_machine("skylake"), kernel.vmlinux, Job(workload, tmp_path / "run"))
    assert not outcome.ok
    assert "the guest has no root file system" in outcome.reason
    assert "the root has no systemd" in outcome.reason
