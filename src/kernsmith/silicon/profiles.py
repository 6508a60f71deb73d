# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds that a profile guides: the program trains on its own work."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernsmith._native import propeller_profile
from kernsmith.errors import KernsmithError
from kernsmith.files import locked, write_text
from kernsmith.kernel.symbols import fixed_spans, read_system_map
from kernsmith.kernel.toolchain import Compiler, find_toolchain
from kernsmith.process import run
from kernsmith.profile.counts import BranchCounts
from kernsmith.profile.propeller import EXT_TSP
from kernsmith.profile.symbolized import symbolized
from kernsmith.silicon.binaries import (
    DEFAULT,
    UNPLACED,
    Binary,
    Objects,
    compile_program,
    link_layouts,
)
from kernsmith.silicon.builds import Build
from kernsmith.silicon.programs import Program
from kernsmith.silicon.uml import compile_with_kernel
from kernsmith.study.steps import USUAL, find_step_kind
from kernsmith.study.steps.propeller import CLUSTERS, SYMBOLS

Trainer = Callable[[Binary], BranchCounts]
"""Runs a binary where every branch is counted: see `simulation.branch_counts`."""

_SECONDS = 900.0


def compile_build(
    program: Program, build: Build, compiler: Compiler, linker: Compiler, train: Trainer
) -> Objects:
    """Compile a program in one way, with the profile that it asks for.

    linker: the clang that links, and whose tools convert profiles.

    Raises:
        ProgramMissing: a tool or the profile runtime of the compiler is not installed.
    """
    if build.profile.startswith("autofdo"):
        profile = _autofdo(program, build, compiler, linker, train)
        used = _sampled(program, str(profile))
        mark = " ".join((_digest(profile), *_sampled(program, "")))
        if build.profile == "autofdo":
            return replace(_compiled(program, build, compiler, used, mark), profile=(profile,))
        made = _propelled(program, build, compiler, linker, train, (used, mark))
        return replace(made, profile=(profile, *made.profile))
    if build.profile == "instrumented":
        profile = _instrumented(program, build, compiler, linker)
        used = (f"-fprofile-use={profile}", "-Wno-backend-plugin")
        return _compiled(program, build, compiler, used, _digest(profile))
    return _compiled(program, build, compiler)


def _compiled(
    program: Program, build: Build, compiler: Compiler, flags: tuple[str, ...] = (), mark: str = ""
) -> Objects:
    """flags, mark: see `compile_program`."""
    if program.kernel:
        return compile_with_kernel(program, program.kernel, build, compiler, flags, mark)
    return compile_program(program, build, compiler, flags, mark)


def _digest(profile: Path) -> str:
    return hashlib.sha256(profile.read_bytes()).hexdigest()


def _sampled(program: Program, *profile: str) -> tuple[str, ...]:
    """What compilations get that are trained on, or that read the profile: as kernels do."""
    kind = find_step_kind("autofdo")
    assert kind.backport is not None
    # All programs but kernels are compiled with line tables.
    flags = kind.backport.flags(profile, program.kernel is None)
    return (*flags, *(kind.flags(USUAL) if profile else ()))


def _autofdo(
    program: Program, build: Build, compiler: Compiler, linker: Compiler, train: Trainer
) -> Path:
    """The branch counts of a run, by function and line (`.afdo`)."""
    objects = _compiled(program, build, compiler, _sampled(program))
    if program.kernel is None:
        # llvm-profgen 22 crashes where the text does not follow the file's header.
        objects = replace(objects, frame=UNPLACED)
    binary = link_layouts(objects, (DEFAULT,), linker)[0]
    profile = binary.path.with_suffix(".afdo")
    with locked(objects.folder / "train"):
        if not profile.exists():
            toolchain = find_toolchain(compiler.name)
            log = profile.with_suffix(".log")
            symbolized(train(binary), binary.path, toolchain, profile, log, program=True)
    return profile


def _propelled(
    program: Program, build: Build, compiler: Compiler, linker: Compiler, train: Trainer,
    below: tuple[tuple[str, ...], str],
) -> Objects:  # fmt: skip
    """Blocks and functions in an order by the branch counts of the program as it is below.

    below: flags of that, and their mark.
    """
    backport = find_step_kind("propeller").backport
    assert backport is not None

    def compiled(files: tuple[str, ...], *marks: str) -> Objects:
        flags = backport.flags(files, program.kernel is None)
        told = " ".join((below[1], *(marks or flags)))
        return _compiled(program, build, compiler, (*below[0], *flags), told)

    objects = compiled(())
    binary = link_layouts(objects, (DEFAULT,), linker)[0]
    clusters, order = (objects.folder / f"propeller{suffix}" for suffix in (CLUSTERS, SYMBOLS))
    with locked(objects.folder / "train"):
        if not order.exists():
            made = _propeller_profile(train(binary), binary.path, objects.folder / "System.map")
            write_text(clusters, made["clusters"])
            write_text(order, made["symbols"])
    ordered = compiled((str(clusters),), "propeller", _digest(clusters))
    return replace(ordered, order=order, profile=(clusters, order))


def _propeller_profile(counts: BranchCounts, binary: Path, system_map: Path) -> dict[str, Any]:
    sections = run(["readelf", "-SW", str(binary)], timeout=_SECONDS).output
    found = re.search(r" \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ", sections)
    if not found:
        raise KernsmithError(f"{binary} has no section .text")
    start, size = (int(word, 16) for word in found.groups())
    write_text(system_map, run(["nm", "-n", str(binary)], timeout=_SECONDS).output)
    ranges = [(first, last, count) for (first, last), count in counts.ranges.items()]
    branches = [(source, target, count) for (source, target), count in counts.branches.items()]
    whole = fixed_spans(read_system_map(system_map))
    return propeller_profile(binary, ranges, branches, EXT_TSP, (start, start + size), whole)


def _instrumented(program: Program, build: Build, compiler: Compiler, linker: Compiler) -> Path:
    """The counts of an instrumented run (`.profdata`)."""
    objects = compile_program(program, build, compiler, ("-fprofile-generate",))
    profile = objects.folder / "merged.profdata"
    with locked(objects.folder / "train"):
        if not profile.exists():
            binary = link_layouts(objects, (DEFAULT,), linker, ("-fprofile-generate",))[0]
            raw = objects.folder / "counts.profraw"
            run([str(binary.path)], timeout=_SECONDS, env={"LLVM_PROFILE_FILE": str(raw)})
            suffix = Path(linker.program).name.removeprefix("clang")
            merge = [f"llvm-profdata{suffix}", "merge", "-o", str(profile), str(raw)]
            run(merge, timeout=_SECONDS)
            raw.unlink()
    return profile
