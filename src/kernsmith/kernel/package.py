# SPDX-License-Identifier: GPL-2.0-or-later
"""Installable Debian packages of a kernel: kbuild's own, of exactly the image that was measured."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.files import copy_file
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.kbuild import copy_output, make_again

_SECONDS = 600.0


class PackagingFailed(KernsmithError):
    """Packages that kbuild does not make, or that hold another kernel than the one asked for."""


def package_command(kernel: Kernel) -> str:
    """The shell command that makes installable Debian packages of a kernel, from its objects."""
    return shlex.join(["kernsmith", "package", str(kernel.folder)])


def make_packages(
    kernel: Kernel, folder: Path, on_line: Callable[[str], None] | None = None
) -> list[Path]:
    """Run kbuild's `bindeb-pkg` in a copy of the kernel's output; returns the packages.

    Modules are built, if the config has any. The image in the package is compared with the
    kernel's own, byte by byte.

    folder: gets the packages and `package.log`.
    on_line: called with each line that make prints.

    Raises:
        PackagingFailed: make ended with an error (Debian's packages for building packages may be
            missing: the message shows which), or the packaged image is not the kernel's.
    """
    folder = folder.absolute()
    # Beside the kernel, so that objects can be linked instead of copied.
    with tempfile.TemporaryDirectory(prefix=".package-", dir=kernel.folder) as work:
        copy_output(kernel, Path(work))
        log = folder / "package.log"
        try:
            make_again(kernel, Path(work), "bindeb-pkg", log=log, on_line=on_line)
        except ProcessFailed as error:
            raise PackagingFailed(f"the kernel cannot be packaged: {error}") from error
        packages = sorted(Path(work).glob("*.deb"))
        _check(kernel, packages, Path(work) / "unpacked")
        for package in packages:
            copy_file(package, folder / package.name)
    return [folder / package.name for package in packages]


def _check(kernel: Kernel, packages: list[Path], unpacked: Path) -> None:
    """That one of the packages has the kernel's boot image."""
    for package in packages:
        if package.name.startswith("linux-image-") and "-dbg_" not in package.name:
            shutil.rmtree(unpacked, ignore_errors=True)
            process.run(["dpkg-deb", "--extract", package, unpacked], timeout=_SECONDS)
            for image in (unpacked / "boot").glob("vmlinuz-*"):
                if file_digest(image) == file_digest(kernel.bzimage):
                    return
                raise PackagingFailed(
                    f"{package.name} would hold another image than {kernel.bzimage}: what kbuild "
                    "linked for the package is not what was measured, so no package is made"
                )
    raise PackagingFailed(f"kbuild made no package with an image of {kernel.folder}")
