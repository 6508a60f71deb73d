# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of root file systems: the same for the same files, and told from what is none."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernsmith.errors import ProgramMissing, UserError
from kernsmith.root import RootImage, root_of
from kernsmith.root.image import ALIGNED, pack


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/tool").write_bytes(b"\x7fELF" + bytes(5000))
    (folder / "bin/tool").chmod(0o755)
    (folder / "bin/link").symlink_to("tool")
    (folder / "etc").mkdir()
    (folder / "etc/name").write_text("guest\n")
    return folder


def test_equal_folders_give_one_image(tmp_path: Path, cache: Path) -> None:
    first = root_of(make(tmp_path / "one"))
    os.utime(tmp_path / "one/etc/name", (5, 5))
    other = make(tmp_path / "other")
    assert root_of(tmp_path / "one") == root_of(other) == first
    assert first.filesystem == "squashfs"
    assert first.programs == {"bin/tool", "bin/link"}
    assert first.path.stat().st_size % ALIGNED == 0
    assert first.path.parent.name == first.digest
    (other / "etc/name").write_text("host\n")
    assert root_of(other).digest != first.digest
    assert not list((cache / "roots").glob(".*")), "files that were not finished"


NOBODY = 65534


def is_root_among_his_own() -> bool:
    """Whether somebody who is not root may have a user namespace here; containers forbid it."""
    command = ["unshare", "--user", "--map-root-user", "true"]
    found = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
    return found.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_makes_the_image_that_root_makes(tmp_path: Path) -> None:
    """sqfstar gives the root folder to who calls it, so he is root among his own."""
    if not is_root_among_his_own():
        pytest.skip("this host lets nobody but root have a user namespace")
    archive = tmp_path / "archive.tar"
    command = ["tar", "-cf", archive, "-C", make(tmp_path / "one"), "--owner=7", "."]
    subprocess.run(command, check=True)
    with tempfile.TemporaryDirectory(dir="/tmp") as open_to_all:
        folder = Path(open_to_all)
        folder.chmod(0o777)
        shutil.copy(archive, folder / "archive.tar")
        (folder / "archive.tar").chmod(0o644)
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            try:
                pack(folder / "archive.tar", folder / "image", folder / "log")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        theirs = (folder / "image").read_bytes()
    pack(archive, tmp_path / "image", tmp_path / "log")
    assert theirs == (tmp_path / "image").read_bytes()


def test_folders_of_programs_may_be_links(tmp_path: Path) -> None:
    root = tmp_path / "merged"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/nginx").write_bytes(b"\x7fELF")
    (root / "usr/bin/nginx").chmod(0o755)
    (root / "usr/sbin").symlink_to("bin")
    (root / "bin").symlink_to("/usr/bin")
    (root / "sbin").symlink_to("../../usr/sbin")
    (root / "usr/local").symlink_to("loop")
    (root / "usr/loop").symlink_to("loop")
    image = root_of(root)
    assert all(image.has(f"/{folder}/nginx") for folder in ("bin", "sbin", "usr/bin", "usr/sbin"))
    assert not image.has("/usr/local/bin/nginx")


def test_a_folder_of_programs_that_leads_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/secret").symlink_to("x")
    (root / "bin").symlink_to(tmp_path / "bin")
    (root / "sbin").symlink_to("../bin")
    assert root_of(root).programs == frozenset()


def test_an_image_is_kept_by_its_content(tmp_path: Path) -> None:
    image = tmp_path / "mine.img"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", str(image), "4M"], check=True)
    kept = root_of(image)
    assert kept.filesystem == "ext4"
    assert "CONFIG_EXT4_FS" in kept.needs
    content = image.read_bytes()
    image.write_bytes(b"gone")
    assert kept.path.read_bytes()[: len(content)] == content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "neither a folder nor an image"),
        (bytes(510) + b"\x55\xaa" + bytes(5000), r"a disk without a partition of .* \(it has 0\)"),
        (b"#!/bin/sh\n", "neither a folder nor an image"),
    ],
)
def test_what_is_no_image_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UserError, match=told) as error:
        root_of(path)
    assert str(path) in str(error.value)
    assert not list((tmp_path / "cache/roots").glob(".*")), "files that were not finished"


def test_a_root_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the root .*: No such file"):
        root_of(tmp_path / "nothing")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=3000))
def test_any_bytes_are_a_file_system_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzzed"
    path.write_bytes(content)
    try:
        assert root_of(path).filesystem in ("squashfs", "erofs", "ext4")
    except UserError as error:
        assert "\n" not in str(error)


def test_without_the_program_that_makes_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path / "one")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "tar").symlink_to("/bin/tar")
    (programs / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(ProgramMissing, match=r"sqfstar is not installed.*squashfs-tools"):
        root_of(folder)


def test_programs_are_found_by_name_and_by_path() -> None:
    programs = frozenset({"usr/bin/sort", "usr/sbin/nginx"})
    image = RootImage(Path("x"), "squashfs", "", programs)
    assert image.has("sort") and image.has("/usr/bin/sort") and image.has("/bin/sort")
    assert image.has("/usr/lib/postgresql/bin/initdb"), "elsewhere nobody has looked"
    assert not image.has("sortt") and not image.has("/usr/bin/nginx")
    assert RootImage(Path("x"), "squashfs", "").has("anything")
