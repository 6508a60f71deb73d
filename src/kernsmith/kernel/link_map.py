# SPDX-License-Identifier: GPL-2.0-or-later
"""The linker's maps of a kernel's objects: what it puts where in its default layout, as they are
given to it, and in the order that it makes of a call graph itself."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.files import locked, to_disk
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import LAYOUTS, mirror_output, ordered_flags, run_link


def link_map_path(kernel: Kernel) -> Path:
    """Where the linker's map of the default layout is or will be."""
    return kernel.folder / "link.map"


def link_map(kernel: Kernel) -> Path:
    """The linker's map of the default layout; made by linking it once more.

    Raises:
        LinkFailed: the linker ended with an error.
        UserError: the same objects do not give the same kernel again.
    """
    return _map(kernel, link_map_path(kernel), same=True)


def input_map(kernel: Kernel) -> Path | None:
    """The linker's map of the kernel with its sections as they are given to the linker; None where
    the default layout is that.

    Objects that are compiled with a profile say who calls whom, and by that lld sorts what no order
    file names; a kernel may be linked in an order of its own, too. What one line of an order file
    names several times is sorted from the input's order.

    Raises:
        LinkFailed: the linker ended with an error.
    """
    if not kernel.order and not kernel.provenance.get("profiles"):
        return None
    return _map(kernel, kernel.folder / "input.map", *as_given(kernel), same=False)


def as_given(kernel: Kernel) -> list[str]:
    """Flags by which the linker leaves sections as they are given to it."""
    flags = ["--call-graph-profile-sort=none"]
    if kernel.order:
        flags.append("--symbol-ordering-file=/dev/null")
    return flags


def _map(kernel: Kernel, path: Path, *flags: str, same: bool) -> Path:
    """The map of another link. same: whether that must give the same kernel."""
    with locked(path.with_name(f".{path.name}.lock")):
        if path.exists():
            return path
        work = path.with_name(f".{path.name}.work")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        try:
            mirror_output(kernel.output, work)
            run_link(kernel, work, *ordered_flags(kernel, work, []), *flags, *mapped(work))
            if same and (work / "System.map").read_bytes() != kernel.system_map.read_bytes():
                raise UserError(f"linking {kernel.folder} again gives another kernel")
            to_disk(work / "map")
            (work / "map").rename(path)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return path


def linkers_own_order(kernel: Kernel, calls: str, algorithm: str) -> Path:
    """The linker's map of the layout that `ld.lld` makes of a call graph.

    calls: lines of caller, callee and weight, as `--call-graph-ordering-file` takes them.
    algorithm: of `--call-graph-profile-sort`: `hfsort` or `cdsort`.

    Raises:
        LinkFailed: the linker ended with an error.
    """
    content = hashlib.sha256(f"{algorithm}\n{calls}".encode()).hexdigest()[:12]
    path = kernel.folder / LAYOUTS / f"lld-{algorithm}-{content}.map"
    with locked(path.with_name(f".{path.name}.lock")):
        if path.exists():
            return path
        work = path.with_name(f".{path.name}.work")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            mirror_output(kernel.output, work)
            (work / "calls").write_text(calls)
            flags = [
                f"--call-graph-ordering-file={work / 'calls'}",
                f"--call-graph-profile-sort={algorithm}",
            ]
            run_link(kernel, work, *flags, *mapped(work))
            to_disk(work / "map")
            (work / "map").rename(path)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return path


def mapped(work: Path) -> tuple[str, ...]:
    """Flags for a map, `map`, with names as symbols have them: lld would write Rust's otherwise."""
    return f"-Map={work / 'map'}", "--no-demangle"
