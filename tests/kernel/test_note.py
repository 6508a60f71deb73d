# SPDX-License-Identifier: GPL-2.0-or-later
"""Notes in packages, which may be strangers'."""

import json
from pathlib import Path

import pytest

from kernsmith.errors import KernsmithError
from kernsmith.kernel.note import FORMAT, VERSION, Note, read_note

SAID = {
    "format": FORMAT, "version": VERSION, "kernel": "0" * 64, "release": "7.3.4-web+",
    "uname_v": "#1", "build_id": "00", "vmlinux_sha256": "1", "image_sha256": "2",
    "provenance": {},
}  # fmt: skip


def read(path: Path, **said: object) -> Note:
    path.write_text(json.dumps({**SAID, **said}))
    return read_note(path)


def test_a_note_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "note.json").release == "7.3.4-web+"


@pytest.mark.parametrize(
    "release", ["7.3 || touch /tmp/x #", "7.3'", "../../etc", "", "7.3\n", "-7", 7, None, ["7"]]
)
def test_a_release_is_what_kernels_are_called(tmp_path: Path, release: object) -> None:
    """It is part of paths, of a boot loader's file, and of a script."""
    with pytest.raises(KernsmithError, match=r"note\.json is no note about a kernel"):
        read(tmp_path / "note.json", release=release)
