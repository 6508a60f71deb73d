# SPDX-License-Identifier: GPL-2.0-or-later
"""Which config symbols bring which drivers, by Makefiles such as the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.kernel.drivers import Needed, missing_drivers, symbols_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    block = tmp_path / "drivers/block"
    block.mkdir(parents=True)
    (block / "Makefile").write_text(
        "obj-$(CONFIG_VIRTIO_BLK)\t+= virtio_blk.o\n"
        "obj-$(CONFIG_BLK_DEV_RBD) \\\n\t+= rbd.o other-one.o\n"
        "obj-y += always.o\n"
    )
    files = tmp_path / "fs/ext4"
    files.mkdir(parents=True)
    (files / "Makefile").write_text("obj-$(CONFIG_EXT4_FS) += ext4.o\next4-y := balloc.o\n")
    return tmp_path


def test_a_makefile_says_which_symbol_brings_a_module(tree: Path) -> None:
    asked = ["virtio_blk", "other_one", "rbd", "ext4", "always", "balloc"]
    assert symbols_of(tree, asked) == {
        "virtio_blk": ("VIRTIO_BLK",), "other_one": ("BLK_DEV_RBD",), "rbd": ("BLK_DEV_RBD",),
        "ext4": ("EXT4_FS",), "always": (), "balloc": (),
    }  # fmt: skip


def test_what_a_config_lacks_is_told_and_what_nobody_knows_is_not(tree: Path) -> None:
    needed = [Needed("its root", ("virtio-blk", "ext4", "pcieport"))]
    assert missing_drivers(tree, {"EXT4_FS": "m", "VIRTIO_BLK": "y"}, needed) == ()
    assert missing_drivers(tree, {"EXT4_FS": "n"}, needed) == (
        ("its root", "virtio-blk", "VIRTIO_BLK"), ("its root", "ext4", "EXT4_FS"),
    )  # fmt: skip
