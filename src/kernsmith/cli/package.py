# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith package`: installable Debian packages of a kernel."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def package(
    kernel: str,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: bool = False,
) -> int:
    """Make installable Debian packages of a kernel, of exactly the image that was measured.

    kbuild's bindeb-pkg does it, in a copy of the kernel's objects; nothing but modules is compiled.
    The boot image in the package is the kernel's own byte for byte, else there is no package.

    Example:

        kernsmith package ~/.cache/kernsmith/kernels/1395ba40 -o packages

    Parameters
    ----------
    kernel
        A kernel that kernsmith built, or that `kernsmith layout apply` made: its vmlinux, its
        folder, or the beginning of its key.
    output
        The folder for the packages; default: the current one.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.package import make_packages

    chosen = named_kernel(kernel)
    with ProgressDisplay() as display:
        display.stage("package")
        packages = make_packages(chosen, output or Path())
    if json:
        document = {"kernel": chosen.key, "packages": [str(path) for path in packages]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        for path in packages:
            print(path)
    return 0
