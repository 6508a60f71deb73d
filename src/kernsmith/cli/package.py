# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith package`: installable packages of a kernel."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Literal

from kernsmith.cli.output import OutputFolder

Format = Literal["deb", "rpm", "pacman", "tar"]
"""Kinds of packages, see `kernel.package_kind`."""


def package(
    kernel: str,
    /,
    *,
    format: Format = "deb",
    output: OutputFolder | None = None,
    json: bool = False,
) -> int:
    """Make installable packages of a kernel, of exactly the image that was measured.

    kbuild's own targets do it, in a copy of the kernel's objects; nothing but modules is compiled.
    The boot image in the package is the kernel's own byte for byte, else there is no package.
    Beside the modules lie note.json, which says what the kernel was made of, its profile and its
    order of functions (/lib/modules/RELEASE/kernsmith).

    Examples:

        kernsmith package ~/.cache/kernsmith/kernels/1395ba40 -o packages

        kernsmith package 1395ba40 --format rpm

    Parameters
    ----------
    kernel
        A kernel that kernsmith built, or that `kernsmith layout apply` made: its vmlinux, its
        folder, or the beginning of its key.
    format
        deb (Debian, Ubuntu), rpm (needs rpmbuild), pacman (needs makepkg), or tar (boot/ and
        lib/modules/ as a tar.xz archive).
    output
        The folder for the packages; default: the current one.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.package import make_packages
    from kernsmith.kernel.package_kind import KINDS

    chosen = named_kernel(kernel)
    with ProgressDisplay() as display:
        display.stage("package")
        packages = make_packages(
            chosen, output or Path(), KINDS[format], display.note, display.counted
        )
    if json:
        document = {"kernel": chosen.key, "packages": [str(path) for path in packages]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        for path in packages:
            print(path)
    return 0
