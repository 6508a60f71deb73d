# SPDX-License-Identifier: GPL-2.0-or-later
"""What counters in a kernel have counted → a profile that the compiler reads, and who reads it.

The second file says it to kbuild's compiler (native/compiler): its first line is the words that a
compilation gets beside the profile, each line more an object as kbuild names it. Objects of which
nothing ran are none of them: they are compiled as without a profile.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kernsmith import process
from kernsmith._native import gcov_files, llvm_raw_profile
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.files import replacing, write_bytes, write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link_map import link_map
from kernsmith.kernel.toolchain import CLANG, Toolchain
from kernsmith.profile.counters import Counters
from kernsmith.profile.idle import WHOLE, input_sections
from kernsmith.profile.maker import ProfileMaker
from kernsmith.study.steps.autofdo import hot_cutoff
from kernsmith.study.steps.kind import HOT

PROFDATA_SECONDS = 300.0
GCOV_MAGIC = "kernsmith-gcda 1"
_SECTION = "__llvm_prf_cnts"
_COMMANDS = ".*.o.cmd"
_COUNTS = "-fprofile-generate"
# What the compiler is told beside the profile: where hot begins, and that cold blocks go elsewhere,
# as with AutoFDO (scripts/Makefile.autofdo).
_CLANG = (
    "-fsplit-machine-functions",
    "-mllvm", "-enable-ext-tsp-block-placement=true",
    "-mllvm", f"-profile-summary-cutoff-hot={hot_cutoff(HOT)}",
)  # fmt: skip
# At the region's ends functions are in the middle: not all that flows in has flowed out.
# Functions that never ran have no counts on purpose, and gcc would warn of each.
_GCC = ("-fprofile-correction", "-Wno-missing-profile")
# A profile of another kernel has functions that are other ones here: clang leaves them alone.
_CLANG_GIVEN = (*_CLANG, "-mllvm", "-no-pgo-warn-mismatch=true")
# Without values in the profile, clang misses them.
_WITHOUT_VALUES = ("-mllvm", "-disable-vp=true")
_SHOW_VALUES = ("--all-functions", "--ic-targets", "--memop-sizes")
_SITES = re.compile(r"Total number of sites: *[1-9]")


def make_profdata(counters: Counters, kernel: Kernel, toolchain: Toolchain, target: Path) -> Path:
    """LLVM's indexed profile of the counters of a kernel; returns `target`.

    Functions that never ran are in it, with counts of 0.

    Raises:
        UserError: they are of another kernel, or it has none, or nothing was counted.
        ProcessFailed: llvm-profdata ended with an error.
    """
    check_counters(counters, kernel)
    try:
        words = counters.words.astype("<u8").tobytes()
        raw = llvm_raw_profile(
            kernel.vmlinux, words, [tuple(row) for row in counters.values.tolist()]
        )
    except ValueError as error:
        raise UserError(f"there is no profile of {kernel.vmlinux}: {error}") from None
    with tempfile.TemporaryDirectory() as folder, replacing(target) as profile:
        given = Path(folder) / "counters.profraw"
        given.write_bytes(raw)
        _merge(toolchain, given, profile, target.with_suffix(".log"))
    return target


def _merge(toolchain: Toolchain, given: Path, target: Path, log: Path, *flags: str) -> None:
    words: list[str | Path] = [toolchain.tool("llvm-profdata"), "merge", *flags]
    process.run([*words, f"--output={target}", given], log=log, timeout=PROFDATA_SECONDS)


def _seen_alone(profile: Path, toolchain: Toolchain, target: Path) -> Path:
    """An indexed profile without the functions that never ran: clang compiles them as if there were
    none."""
    with replacing(target) as made:
        _merge(toolchain, profile, made, target.with_suffix(".log"), "--sparse")
    return target


def make_gcov_files(
    counters: Counters, kernel: Kernel, target: Path, *, seen_alone: bool = False
) -> list[str]:
    """gcc's files of the counters of a kernel, all in one: a line of its format, a line for each
    object with its name and the length of its file, an empty line, and the files. Returns the
    objects, as kbuild names them.

    seen_alone: without the functions that never ran.

    Raises:
        UserError: they are of another kernel, or it has none, or nothing was counted.
    """
    check_counters(counters, kernel)
    try:
        found = gcov_files(kernel.vmlinux, counters.words.astype("<u8").tobytes(), seen_alone)
    except ValueError as error:
        raise UserError(f"there is no profile of {kernel.vmlinux}: {error}") from None
    files = sorted((_object_of(name), content) for name, content in found)
    head = "".join(f"{name} {len(content)}\n" for name, content in files)
    contents = b"".join(content for _, content in files)
    write_bytes(target, f"{GCOV_MAGIC}\n{head}\n".encode() + contents)
    return [name for name, _ in files]


def _object_of(name: str) -> str:
    """The object that gcc means with the name of a file of counters: `…/out/fs/pipe.gcda`."""
    inside = name.rpartition("/out/")[2] if "/out/" in name else name.removeprefix("./")
    return f"{inside.removesuffix('.gcda')}.o"


def check_counters(counters: Counters, kernel: Kernel) -> None:
    """That counters are of this kernel and no other, and have counted something.

    Raises:
        UserError: not so.
    """
    if counters.build_id != kernel.build_id:
        raise UserError(
            f"the counters are of another kernel: its build id is {counters.build_id or 'absent'}, "
            f"the kernel's is {kernel.build_id}; train again on this kernel"
        )
    if not counters.words.any():
        raise UserError(f"nothing was counted in the kernel in {kernel.folder}")


def counted_objects(counters: Counters, kernel: Kernel) -> list[str]:
    """Objects in which something was counted, as kbuild names them, sorted.

    All that have counters where the linker's map does not tell of which object these are.
    """
    try:
        sections = list(input_sections(link_map(kernel), _SECTION))
    except KernsmithError:
        sections = []
    if not sections or any(name == WHOLE for _, _, name in sections):
        return _compiled_with(_COUNTS, kernel)
    counted = set()
    for start, end, name in sections:
        first, last = (start - counters.start) // 8, (end - counters.start) // 8
        if np.any(counters.words[max(first, 0) : max(last, 0)]):
            counted.add(name)
    return sorted(counted)


def _linked(kernel: Kernel) -> list[str]:
    """The objects of a kernel, as kbuild names them, sorted."""
    try:
        objects = {name for _, _, name in input_sections(link_map(kernel))}
    except KernsmithError:
        objects = {WHOLE}
    return _compiled_with("-flto", kernel) if WHOLE in objects else sorted(objects)


def _compiled_with(flag: str, kernel: Kernel) -> list[str]:
    """Objects that were compiled with a flag, by kbuild's notes of their command lines, sorted."""
    objects = []
    for note in kernel.output.rglob(_COMMANDS):
        if f" {flag}" in note.read_text(encoding="utf-8", errors="replace"):
            name = note.name.removeprefix(".").removesuffix(".cmd")
            objects.append(str((note.parent / name).relative_to(kernel.output)))
    return sorted(objects)


def _write_objects(words: Iterable[str], objects: Iterable[str], path: Path) -> Path:
    write_text(path, "".join(f"{line}\n" for line in (" ".join(words), *objects)))
    return path


def _make(counts: Counters, kernel: Kernel, toolchain: Toolchain, stem: Path) -> tuple[Path, ...]:
    profile, seen = stem.with_suffix(".instrumented"), stem.with_suffix(".seen")
    if toolchain.compiler.family != CLANG:
        objects = make_gcov_files(counts, kernel, profile)
        make_gcov_files(counts, kernel, seen, seen_alone=True)
        return profile, seen, _write_objects(_GCC, objects, stem.with_suffix(".objects"))
    make_profdata(counts, kernel, toolchain, profile)
    _seen_alone(profile, toolchain, seen)
    objects = counted_objects(counts, kernel)
    return profile, seen, _write_objects(_CLANG, objects, stem.with_suffix(".objects"))


def _use(
    files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
) -> tuple[Path, ...]:
    """An indexed profile of the user's (`llvm-profdata merge`), of any origin: clang matches it by
    functions and their control flow. All objects that could have counters take it.
    """
    shown = _shown(files, toolchain)
    seen = _seen_alone(files[0], toolchain, stem.with_suffix(".seen"))
    words = _CLANG_GIVEN + (() if _SITES.search(shown) else _WITHOUT_VALUES)
    objects = _write_objects(words, _linked(kernel), stem.with_suffix(".objects"))
    return files[0], seen, objects


def _shown(files: tuple[Path, ...], toolchain: Toolchain) -> str:
    """What llvm-profdata says of a profile of the user's."""
    if toolchain.compiler.family != CLANG:
        raise UserError(
            f"gcc's counters of a kernel are many files: {files[0]} cannot be given to "
            f"{toolchain.compiler.name}; let kernsmith train"
        )
    show: list[str | Path] = [toolchain.tool("llvm-profdata"), "show", *_SHOW_VALUES, files[0]]
    try:
        return process.run(show, log=None, timeout=PROFDATA_SECONDS).output
    except ProcessFailed as error:
        reason = error.tail.splitlines()[-1] if error.tail else "it cannot be read"
        raise UserError(f"{files[0]} is not a usable profile of llvm-profdata: {reason}") from None


def _check(files: tuple[Path, ...], toolchain: Toolchain) -> None:
    _shown(files, toolchain)


MAKER = ProfileMaker[Counters](make=_make, usable=_use, check=_check)
