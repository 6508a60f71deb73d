# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds that a profile guides: the program trains on its own work."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernsmith.files import locked
from kernsmith.kernel.toolchain import Compiler, find_toolchain
from kernsmith.process import run
from kernsmith.profile.counts import BranchCounts
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
    if build.profile == "autofdo":
        profile = _autofdo(program, build, compiler, linker, train)
        used = _sampled(program, str(profile))
        mark = " ".join((_digest(profile), *_sampled(program, "")))
        return _compiled(program, build, compiler, used, mark)
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
