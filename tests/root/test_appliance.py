# SPDX-License-Identifier: GPL-2.0-or-later
"""Roots that no guest mounts here: guestfish takes their files out, with what is mounted where."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.errors import UserError
from kernsmith.root import root_of

BTRFS = """
mkfs-btrfs /dev/sda2
mount /dev/sda2 /
btrfs-subvolume-create /root
btrfs-subvolume-create /var
tar-in {tree} /root
tar-in {data} /var
"""
XFS = """
mkfs xfs /dev/sda2
mount /dev/sda2 /
tar-in {tree} /
tar-in {data} /var
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def archive(path: Path, files: dict[str, str]) -> Path:
    folder = path.with_suffix("")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with tarfile.open(path, "w") as tar:
        tar.add(folder, ".")
    return path


def disk(folder: Path, name: str, steps: str) -> Path:
    """A disk with an ext4 for /boot in front of its root, as clouds have it."""
    kind = "btrfs subvol=" if "subvolume" in steps else ""
    mounts = f"/dev/sda2 / {kind}root 0 0\n/dev/sda2 /var {kind}var 0 0\n"
    table = mounts if kind else "/dev/sda2 / xfs defaults 0 0\n"
    files = {"etc/fstab": table, "etc/os-release": "ID=fedora\nVERSION_ID=42\nNAME=Fedora\n"}
    files |= {
        "usr/bin/tool": "#!/bin/sh\n",
        "bin/sh": "",
        "home/x": "",
        "tmp/x": "",
        "var/below": "",
    }
    filled = steps.format(
        tree=archive(folder / "tree.tar", files),
        data=archive(folder / "data.tar", {"lib/kept": "5"}),
    )
    path = folder / name
    script = f"""sparse {path} 640M
        run
        part-init /dev/sda gpt
        part-add /dev/sda p 2048 100351
        part-add /dev/sda p 100352 -2048
        mkfs ext4 /dev/sda1
        {filled}"""
    settings = {"LIBGUESTFS_BACKEND": "direct", "LIBGUESTFS_BACKEND_SETTINGS": "force_tcg"}
    subprocess.run(["guestfish"], input=script, text=True, check=True, env=os.environ | settings)
    return path


@pytest.mark.parametrize(("name", "steps"), [("btrfs", BTRFS), ("xfs", XFS)], ids=["btrfs", "xfs"])
def test_the_files_of_a_root_that_no_guest_mounts(
    tmp_path: Path, name: str, steps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ALL not in os.environ:
        pytest.skip("two machines of guestfish's take two minutes: make test-all starts them")
    image = root_of(disk(tmp_path, f"{name}.raw", steps))
    assert image.filesystem == "squashfs"
    content = tmp_path / "content"
    command = ["unsquashfs", "-quiet", "-no-progress", "-dest", content, image.path]
    subprocess.run(command, check=True)
    assert (content / "usr/bin/tool").read_text() == "#!/bin/sh\n"
    assert (content / "var/lib/kept").read_text() == "5"
    whole = tmp_path / "other.qcow2"
    words = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", tmp_path / f"{name}.raw", whole]
    subprocess.run(words, check=True)
    assert root_of(whole).programs is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert root_of(tmp_path / f"{name}.raw") == image, "it is opened once"


def test_who_has_no_guestfish_is_told_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    path = tmp_path / "bare.img"
    path.write_bytes(b"XFSB".ljust(1 << 16, b"\0"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"bare\.img are for guestfish .*guestfish is not install"):
        root_of(path)
    assert not list((cache / "roots").glob(".*")), "files that were not finished"


def test_what_guestfish_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a program in its place that says what guestfish says of a disk without a system."""
    path = tmp_path / "bare.img"
    path.write_bytes(b"XFSB".ljust(1 << 16, b"\0"))
    said = "guestfish: no operating system was found on this disk"
    (tmp_path / "guestfish").write_text(f"#!/bin/sh\necho '{said}' >&2\necho more >&2\nexit 1\n")
    (tmp_path / "guestfish").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(UserError, match=f"can be given as a folder, and it did not: {said}"):
        root_of(path)
