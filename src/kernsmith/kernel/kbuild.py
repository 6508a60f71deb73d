# SPDX-License-Identifier: GPL-2.0-or-later
"""kbuild run again for a kernel that is built, over a copy of its output.

What kbuild has made for a kernel stays as it was: relinks, traces and other processes read it. A
copy shares no file with it: a compile cache writes an object into the file that is there, and
kbuild writes its notes of command lines (`.*.cmd`), generated headers and images in place.

Command lines hold the folder's path. In a copy it is the copy's, in these notes and in what make is
told alike: kbuild finds nothing changed, and what is compiled anew is what it would have been.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from kernsmith import process
from kernsmith.files import copy_file
from kernsmith.kernel import link_rules, object_rules
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import BUILD_SECONDS
from kernsmith.kernel.compile_cache import write_compiler
from kernsmith.kernel.link import place_script
from kernsmith.kernel.make import build_environment
from kernsmith.kernel.toolchain import find_toolchain


def copy_output(kernel: Kernel, folder: Path) -> Path:
    """Copy kbuild's output into `folder`, which has none; returns the copy, to build in."""
    folder.mkdir(parents=True, exist_ok=True)
    old, new = os.fsencode(_folder_of(kernel)), os.fsencode(folder)

    def copied(source: str, target: str) -> None:
        if source.endswith(".cmd"):
            Path(target).write_bytes(Path(source).read_bytes().replace(old, new))
            shutil.copystat(source, target)
        else:
            shutil.copy2(source, target)

    output = folder / "out"
    shutil.copytree(kernel.output, output, symlinks=True, copy_function=copied)
    write_compiler(folder, (kernel.output / "source").resolve())
    for rules in (object_rules.FILE, link_rules.FILE):
        if (kernel.folder / rules).exists():
            copy_file(kernel.folder / rules, folder / rules)
    return output


def command_in(kernel: Kernel, folder: Path) -> list[str]:
    """The kernel's own make command line, for the copy of its output in a folder."""
    old = str(_folder_of(kernel))
    return [str(word).replace(old, str(folder)) for word in kernel.provenance["command"]]


def make_again(
    kernel: Kernel,
    folder: Path,
    *targets: str,
    log: Path,
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str | None] = MappingProxyType({}),
    prefix: Sequence[str] = (),
) -> None:
    """Make targets in the copy of a kernel's output in a folder, as the kernel was made.

    environment: set beside that of the kernel's build; None removes a variable. prefix: words in
        front of make's.

    Raises:
        ProcessFailed: make ended with an error.
    """
    compilers = find_toolchain(kernel.provenance["variant"]["compiler"]).compilers
    words = command_in(kernel, folder)
    while "=" not in words[-1]:
        words.pop()  # what was made when the kernel was built
    process.run(
        [*prefix, *words, f"-j{os.cpu_count() or 1}", *targets],
        log=log,
        timeout=BUILD_SECONDS,
        env=build_environment(compilers) | kernel.provenance["environment"] | dict(environment),
        on_line=on_line,
        capture=False,
    )


def link_again(kernel: Kernel, folder: Path, script: str) -> None:
    """Have kbuild link `vmlinux` in the copy of a kernel's output, and make its images of it.

    script: stands in for the tree's `link.LINK_SCRIPT`.

    Raises:
        ProcessFailed: make ended with an error.
    """
    output = folder / "out"
    place_script(output, script)
    for image in ("vmlinux", "vmlinux.unstripped"):
        (output / image).unlink(missing_ok=True)
    make_again(kernel, folder, *kernel.arch.images, log=folder / "build.log")


def _folder_of(kernel: Kernel) -> Path:
    """The folder that the kernel was built in, as its command line has it."""
    (output,) = (word[2:] for word in kernel.provenance["command"] if word.startswith("O="))
    return Path(output).parent
