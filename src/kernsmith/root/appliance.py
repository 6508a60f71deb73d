# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of file systems that no guest mounts here: btrfs with its subvolumes, xfs, LVM.

guestfish (libguestfs) starts a small machine of its own on the image, finds the system in it, and
what that mounts where. Nothing of a stranger's image is mounted on this host.
"""

from __future__ import annotations

from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError

OPENED = ("xfs", "btrfs", "LVM")
"""What is opened so, by the names of `image.foreign`."""

_SECONDS = 1800.0
_SAID = ("libguestfs: error: ", "guestfish: ")
# Without libvirt; and what it has no processor for, it does without.
_DIRECT = {"LIBGUESTFS_BACKEND": "direct"}
_EMULATED = {**_DIRECT, "LIBGUESTFS_BACKEND_SETTINGS": "force_tcg"}
_NOT_STARTED = "guestfs_launch failed"


def archive_files(path: Path, disk: Path, archive: Path, log: Path) -> None:
    """Write all files of the system on a raw disk, or on a bare file system, as a tar archive.

    path: the image as the user calls it.

    Raises:
        UserError: guestfish is not installed, or finds no system there.
    """
    command: list[str | Path] = [
        "guestfish", "--ro", "--format=raw", "-a", disk, "-i",
        "tar-out", "/", archive, "numericowner:true", "xattrs:true",
    ]  # fmt: skip
    try:
        try:
            process.run(command, log=log, timeout=_SECONDS, env=_DIRECT)
        except ProcessFailed as failure:
            if _NOT_STARTED not in failure.tail:
                raise
            process.run(command, log=log, timeout=_SECONDS, env=_EMULATED)
    except ProgramMissing as error:
        raise UserError(f"{_advice(path)}: {error}") from None
    except ProcessFailed as failure:
        raise UserError(
            f"{_advice(path)}, and it did not: {_reason(failure)} (log: {log})"
        ) from None


def _advice(path: Path) -> str:
    return (
        f"the files of the root {path} are for guestfish to take out, or can be given as a folder"
    )


def _reason(failure: ProcessFailed) -> str:
    """What guestfish said first of what went wrong."""
    lines = failure.tail.splitlines()
    said = [line for line in lines if any(word in line for word in _SAID)]
    return (said or lines or [str(failure)])[0].strip()
