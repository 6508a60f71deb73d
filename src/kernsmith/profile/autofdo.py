# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → an AutoFDO profile for clang, by LLVM's own converter."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.files import replacing
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.module_code import module_image
from kernsmith.kernel.symbols import entry_spans, text_span
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts, is_counts, read_counts
from kernsmith.profile.idle import idle_objects, unnamed_objects, write_idle
from kernsmith.profile.lines import read_profile
from kernsmith.profile.maker import ProfileMaker
from kernsmith.profile.staleness import match_profile, profiled_functions
from kernsmith.profile.symbolized import symbolized


def make_autofdo(counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, target: Path) -> Path:
    """Convert the counts of a kernel to an AutoFDO profile (LLVM's extended binary format).

    Raises:
        UserError: the counts belong to another kernel, or cover nothing of it.
        ProcessFailed: llvm-profgen ended with an error.
    """
    check_build_id(counts, kernel)
    first, last = text_span(kernel.system_map)
    if not any(count and first <= start < last for (start, _), count in counts.ranges.items()):
        raise UserError(f"the profile covers nothing of the kernel in {kernel.folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    real = counts.without_targets(entry_spans(kernel.system_map))
    log = target.with_suffix(".log")
    modules = {name: part for name in real.modules if (part := real.of_module(name)).ranges}
    if not modules:
        return symbolized(real.of_kernel(), kernel.vmlinux, toolchain, target, log)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "vmlinux"
        made = [symbolized(real.of_kernel(), kernel.vmlinux, toolchain, whole, log)]
        for name, part in modules.items():
            image = module_image(kernel, name, real.modules[name])
            own = target.with_suffix(f".{name}.log")
            made.append(symbolized(part, image, toolchain, Path(folder) / f"{name}.ko", own))
        _merge(made, toolchain, target)
    return target


def _merge(profiles: Sequence[Path], toolchain: Toolchain, target: Path) -> None:
    """One profile of several binaries that ran together: counts of a function add up."""
    with replacing(target) as merged:
        command: list[str | Path] = [
            toolchain.tool("llvm-profdata"), "merge", "--sample", "--extbinary",
            f"--output={merged}", *profiles,
        ]  # fmt: skip
        process.run(command, log=None, timeout=300)


def check_build_id(counts: BranchCounts, kernel: Kernel) -> None:
    """That counts were taken of this kernel and no other.

    Raises:
        UserError: the build ids differ.
    """
    if counts.build_id != kernel.build_id:
        raise UserError(
            f"the profile is of another kernel: its build id is {counts.build_id or 'absent'}, "
            f"the kernel's is {kernel.build_id}; train again on this kernel"
        )


def usable_profile(path: Path, toolchain: Toolchain) -> Path:
    """An AutoFDO profile that the user brings, of any origin.

    clang matches it by function names and line offsets.

    Raises:
        UserError: unreadable or corrupt.
    """
    show: list[str | Path] = [toolchain.tool("llvm-profdata"), "show", "--sample", path]
    try:
        process.run(show, log=None, timeout=300, capture=False)
    except ProcessFailed as error:
        reason = error.tail.splitlines()[-1] if error.tail else "it cannot be read"
        raise UserError(f"{path} is not a usable AutoFDO profile: {reason}") from None
    return path


def _make(
    counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, stem: Path
) -> tuple[Path, ...]:
    profile = make_autofdo(counts, kernel, toolchain, stem.with_suffix(".afdo"))
    return profile, write_idle(idle_objects(counts, kernel, toolchain), stem.with_suffix(".idle"))


def _use(
    files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
) -> tuple[Path, ...]:
    if is_counts(files[0]):
        return _make(read_counts(files[0]), kernel, toolchain, stem)
    profile = usable_profile(files[0], toolchain)
    named = profiled_functions(read_profile(profile, toolchain))
    idle = unnamed_objects(named, kernel, toolchain)
    return profile, write_idle(idle, stem.with_suffix(".idle"))


def _check(files: tuple[Path, ...], toolchain: Toolchain) -> None:
    if is_counts(files[0]):
        read_counts(files[0])
    else:
        usable_profile(files[0], toolchain)


def _tell(files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain) -> str:
    """How much of a profile of any origin fits: it may be of another version."""
    if is_counts(files[0]):
        return ""
    found = match_profile(files[0], kernel.vmlinux, toolchain)
    return (
        f"of the counts of {files[0]}, the compiler finds {found.found:.1%} in this kernel "
        f"({found.functions:.1%} are of functions that it has), and {found.carried:.1%} of what "
        "kernsmith profile carry makes of it"
    )


MAKER = ProfileMaker(make=_make, usable=_use, check=_check, tell=_tell)
