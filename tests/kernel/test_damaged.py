# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels and layouts that are not what was built: found, and made anew."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith import endings
from kernsmith.cli import main
from kernsmith.errors import DiskFull
from kernsmith.kernel import link
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.link import LinkFailed, is_linked, layout_image, relink
from kernsmith.kernel.provenance import read_provenance, write_provenance
from whole_provenance import provenance, put_kernel

KEY = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A kernel that is complete."""
    for name, text in {
        "vmlinux": "\x7fELF and code",
        "System.map": "1 T f",
        "bzImage": "MZ",
    }.items():
        (tmp_path / name).write_text(text)
    write_provenance(tmp_path, provenance(KEY), "bzImage")
    return tmp_path


def test_a_whole_kernel_is_found(folder: Path) -> None:
    kernel = load_kernel(folder)
    assert kernel is not None and kernel.key == KEY
    assert kernel.provenance["sizes"] == {"vmlinux": 13, "System.map": 5, "bzImage": 2}


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "vmlinux").write_text("\x7fELF"),
        lambda folder: (folder / "vmlinux").write_text(""),
        lambda folder: (folder / "System.map").write_text(""),
        lambda folder: (folder / "bzImage").unlink(),
    ],
    ids=["cut short", "emptied", "no symbols", "gone"],
)
def test_a_kernel_whose_images_are_damaged_is_none(
    folder: Path, damage: Callable[[Path], object]
) -> None:
    damage(folder)
    assert load_kernel(folder) is None


def test_a_kernel_that_is_named_and_damaged_is_called_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "vmlinux").write_text("")
    with pytest.raises(SystemExit) as ended:
        main(["blame", "--good", "default", "--bad", str(folder), "--test", "pipe"])
    assert ended.value.code == 2
    assert f"'{folder}' is a damaged kernel: provenance.json or " in capsys.readouterr().err


def test_kernels_of_before_have_no_sizes_and_are_found(tmp_path: Path) -> None:
    put_kernel(tmp_path, KEY)
    assert load_kernel(tmp_path) is not None
    (tmp_path / "vmlinux").write_text("")
    assert load_kernel(tmp_path) is None


@pytest.mark.parametrize("name", ["key", "variant", "command", "source", "build_id", "version"])
@pytest.mark.parametrize("value", [None, 7, {}, []])
def test_a_damaged_provenance_is_no_kernel(folder: Path, name: str, value: object) -> None:
    told = provenance(KEY)
    (folder / "provenance.json").write_text(json.dumps(told | {name: value}))
    assert read_provenance(folder) is None
    del told[name]
    (folder / "provenance.json").write_text(json.dumps(told))
    assert read_provenance(folder) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '"word"', "[" * 100_000, '{"sizes": 3}'])
def test_so_is_what_is_no_table(folder: Path, text: str) -> None:
    (folder / "provenance.json").write_text(text)
    assert read_provenance(folder) is None


@pytest.fixture
def kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel that links at once: what is written is the order."""

    def run_link(kernel: Kernel, work: Path, *flags: str, paddings: object = ()) -> None:
        for name in ("vmlinux", "System.map"):
            (work / name).write_text((work / "order").read_text())

    monkeypatch.setattr(link, "run_link", run_link)
    (folder / "out").mkdir()
    found = load_kernel(folder)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "damage",
    [
        lambda layout: (layout / "vmlinux").unlink(),  # prune, or somebody, was killed half-way
        lambda layout: (layout / "vmlinux").write_text("f"),
        lambda layout: (layout / "vmlinux").write_text(""),
        lambda layout: (layout / "System.map").unlink(),
    ],
    ids=["half removed", "cut short", "emptied", "no symbols"],
)
def test_a_damaged_layout_is_linked_anew(kernel: Kernel, damage: Callable[[Path], object]) -> None:
    image = relink(kernel, "random-1", ["f", "g"])
    assert image == layout_image(kernel, "random-1") and is_linked(image)
    written = image.stat().st_mtime_ns
    assert relink(kernel, "random-1", ["f", "g"]).stat().st_mtime_ns == written
    damage(image.parent)
    assert not is_linked(image)
    assert relink(kernel, "random-1", ["f", "g"]).read_text() == "f\ng\n"
    assert is_linked(image)
    assert sorted(path.name for path in image.parent.parent.iterdir()) == [
        ".random-1.lock", "random-1",
    ]  # fmt: skip


def test_layouts_of_before_have_no_sizes_and_are_found(kernel: Kernel) -> None:
    image = relink(kernel, "random-1", ["f"])
    (image.parent / "sizes.json").unlink()
    assert is_linked(image)
    image.write_text("")
    assert not is_linked(image)


def test_a_full_disk_is_no_layout_that_does_not_link(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ld.lld dies of SIGBUS where its image finds no space, and says nothing."""
    monkeypatch.undo()
    linker = kernel.folder / "ld.lld"
    linker.write_text("#!/bin/sh\nkill -BUS $$\n")
    linker.chmod(0o755)
    script = kernel.folder / "source/scripts/link-vmlinux.sh"
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh -e\n"$1" -o vmlinux\n')
    noted = {"srctree": script.parent.parent, "CC": "cc", "LD": linker}
    (kernel.folder / "link.env").write_text("\0".join(f"{k}={v}" for k, v in noted.items()))
    (kernel.output / ".config").write_text("")
    with pytest.raises(LinkFailed, match="exit code 135"):
        relink(kernel, "random-1", ["f"])
    monkeypatch.setattr(endings, "_free_bytes", lambda folder: 20 << 20)
    with pytest.raises(DiskFull, match="no space left on the disk of"):
        relink(kernel, "random-1", ["f"])
