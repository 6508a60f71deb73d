# SPDX-License-Identifier: GPL-2.0-or-later
"""All modules of a kernel, as `make modules_install` lays them out, for a machine elsewhere."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.files import locked, replacing
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.kbuild import copy_output, make_again
from kernsmith.kernel.note import kernel_release

ARCHIVE = "modules-installed.tar"
_SECONDS = 600.0


@dataclass(frozen=True)
class Modules:
    """archive: a tar archive of what becomes /lib/modules/RELEASE. release: that word."""

    archive: Path
    release: str

    @property
    def size(self) -> int:
        """Bytes that it takes there, with the archive itself."""
        return 2 * self.archive.stat().st_size


def installed_modules(image: Path) -> Modules | None:
    """The modules of the kernel that an image is of, made now or found; None where it has none.

    Raises:
        ProcessFailed: make ended with an error.
    """
    kernel = kernel_of(image)
    if kernel is None:
        return None
    config = parse_config((kernel.folder / "config").read_text(encoding="utf-8"))
    if config.get("MODULES", "n") != "y" or "m" not in config.values():
        return None
    archive = kernel.folder / ARCHIVE
    with locked(kernel.folder / f"{ARCHIVE}.lock"):
        if not archive.exists():
            _install(kernel, archive)
    return Modules(archive, kernel_release(kernel))


def kernel_of(image: Path) -> Kernel | None:
    """The kernel whose `vmlinux` an image is, or which it is another layout of."""
    folders = (image.parent, *image.parent.parents[:2])
    return next((kernel for folder in folders if (kernel := load_kernel(folder))), None)


def _install(kernel: Kernel, archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".modules-", dir=kernel.folder) as name:
        work = Path(name)
        copy_output(kernel, work)
        target = {"INSTALL_MOD_PATH": str(work / "root"), "INSTALL_MOD_STRIP": "1"}
        log = kernel.folder / "modules-installed.log"
        make_again(kernel, work, "modules", log=log)
        make_again(kernel, work, "modules_install", log=log, environment=target)
        installed = work / "root/lib/modules" / kernel_release(kernel)
        with replacing(archive) as part:
            process.run(
                ["tar", "--create", "--file", part, "--exclude=./build", "--exclude=./source",
                 "--directory", installed, "."],
                timeout=_SECONDS,
            )  # fmt: skip
