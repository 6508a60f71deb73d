# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel whose functions were put in another order: an artifact of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kernsmith.files import copy_file, locked, write_text
from kernsmith.kernel.artifact import Kernel, file_digest, load_kernel
from kernsmith.kernel.build import read_build_id
from kernsmith.kernel.link import relink
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.variant import digest_of

_LINKED = ("vmlinux", "System.map", "order")
_SHARED = ("config", "link.env", "out")


def reordered(kernel: Kernel, order: Sequence[str]) -> Kernel:
    """The kernel linked in an order, in a folder beside it, named by its own content address.

    It is bootable by its `vmlinux`; kbuild's output is the original's.

    Raises:
        LinkFailed: the linker ended with an error.
    """
    key = digest_of({"kernel": kernel.key, "order": list(order)})
    folder = kernel.folder.with_name(key[:20])
    if found := load_kernel(folder):
        return found
    image = relink(kernel, f"applied-{key[:12]}", list(order))
    with locked(folder / "lock"):
        if found := load_kernel(folder):
            return found
        for name in _LINKED:
            copy_file(image.with_name(name), folder / name)
        for name in _SHARED:
            _refer(folder / name, kernel.folder / name)
        readelf = find_toolchain(kernel.provenance["variant"]["compiler"]).tool("llvm-readelf")
        provenance = kernel.provenance | {
            "key": key,
            "reordered": {"kernel": kernel.key, "functions": len(order)},
            "vmlinux_sha256": file_digest(folder / "vmlinux"),
            "build_id": read_build_id(readelf, folder / "vmlinux"),
        }
        write_text(
            folder / "provenance.json", json.dumps(provenance, indent=2, sort_keys=True) + "\n"
        )
    return Kernel(key, folder, provenance)


def _refer(link: Path, target: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)
