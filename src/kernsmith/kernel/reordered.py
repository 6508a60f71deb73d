# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel whose functions were put in another order: an artifact like any other.

kbuild links it by its own rules, in a copy of its output in which `scripts/link-vmlinux.sh` is a
script that adds the order and calls the tree's. So all that the build of the first kernel did
behind the link is done again: BTF, sorted tables, relocations, boot image. In memory it is what
`relink` makes of the same order, which is what was measured; `relink` leaves out line tables.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from kernsmith.errors import ProcessFailed
from kernsmith.files import copy_file, locked, write_text
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, file_digest, load_kernel
from kernsmith.kernel.build import place_images, read_build_id
from kernsmith.kernel.kbuild import command_in, copy_output, link_again
from kernsmith.kernel.link import LINK_SCRIPT, LinkFailed, whole_order
from kernsmith.kernel.modules import carry_modules
from kernsmith.kernel.provenance import write_provenance
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.variant import digest_of

# Counts up when kernels that were made before are not what this module makes.
_FORMAT = 3
_ORDER = "scripts/link-vmlinux.order"
_LINK_IN_ORDER = f"""#!/bin/sh
# kbuild finds this before the kernel tree's script of that name; called with LD, its flags, the
# flags for vmlinux, and, in newer trees, the output.
[ $# -ge 3 ] || exec sh "$srctree/{LINK_SCRIPT}" "$@"
ld=$1 flags=$2 own=$3
shift 3
own="$own --symbol-ordering-file={_ORDER} --no-warn-symbol-ordering"
exec sh "$srctree/{LINK_SCRIPT}" "$ld" "$flags" "$own" "$@"
"""


def reordered(kernel: Kernel, order: Sequence[str]) -> Kernel:
    """The kernel linked in an order, in a folder beside it, named by its own content address.

    It has all that a built kernel has: `vmlinux` with the debug information that its config asks
    for, boot image, `System.map`, and kbuild's output to make packages and other layouts from.

    Raises:
        LinkFailed: make ended with an error.
    """
    key, folder = _place(kernel, order)
    if found := load_kernel(folder):
        return found
    with locked(folder / "lock"):
        if found := load_kernel(folder):
            return found
        names = whole_order(kernel, order)
        shutil.rmtree(folder / "out", ignore_errors=True)
        output = copy_output(kernel, folder)
        _link(kernel, folder, names)
        place_images(output, folder, kernel.arch)
        write_text(folder / "order", "".join(f"{name}\n" for name in names))
        copy_file(kernel.folder / "link.env", folder / "link.env")
        carry_modules(kernel, folder)
        readelf = find_toolchain(kernel.provenance["variant"]["compiler"]).tool("llvm-readelf")
        provenance = kernel.provenance | {
            "key": key,
            "command": command_in(kernel, folder),
            "reordered": {"kernel": kernel.key, "functions": len(order)},
            "vmlinux_sha256": file_digest(folder / "vmlinux"),
            "build_id": read_build_id(readelf, folder / "vmlinux"),
        }
        images = (Path(kernel.arch.booted).name, kernel.arch.image)
        provenance = write_provenance(folder, provenance, *images)
    return Kernel(key, folder, provenance)


def find_reordered(kernel: Kernel, order: Sequence[str]) -> Kernel | None:
    """The kernel in an order, if it was made before."""
    return load_kernel(_place(kernel, order)[1])


def _place(kernel: Kernel, order: Sequence[str]) -> tuple[str, Path]:
    """The key of a kernel in an order, and its folder."""
    key = digest_of({"kernel": kernel.key, "order": list(order), "format": _FORMAT})
    return key, kernel.folder.with_name(key[:FOLDER_LETTERS])


def _link(kernel: Kernel, folder: Path, order: Sequence[str]) -> None:
    """Have kbuild link `vmlinux` anew, and make what it makes of it."""
    write_text(folder / "out" / _ORDER, "".join(f"{name}\n" for name in order))
    try:
        link_again(kernel, folder, _LINK_IN_ORDER)
    except ProcessFailed as error:
        raise LinkFailed(f"the layout does not link: {error}").because_of(error) from error
