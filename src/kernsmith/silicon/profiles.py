# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds that a profile guides: the program trains on its own work."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kernsmith.files import locked
from kernsmith.kernel.toolchain import Compiler
from kernsmith.process import run
from kernsmith.silicon.binaries import DEFAULT, Objects, compile_program, link_layouts
from kernsmith.silicon.builds import Build
from kernsmith.silicon.programs import Program
from kernsmith.silicon.uml import compile_with_kernel

_SECONDS = 900.0


def compile_build(program: Program, build: Build, compiler: Compiler, linker: Compiler) -> Objects:
    """Compile a program in one way, with the profile that it asks for.

    linker: the clang that links, and whose tools convert profiles.

    Raises:
        ProgramMissing: a tool or the profile runtime of the compiler is not installed.
    """
    if program.kernel:
        return compile_with_kernel(program, program.kernel, build, compiler)
    if build.profile == "instrumented":
        profile = _instrumented(program, build, compiler, linker)
        return compile_program(
            program, build, compiler, (f"-fprofile-use={profile}", "-Wno-backend-plugin"),
            hashlib.sha256(profile.read_bytes()).hexdigest(),
        )  # fmt: skip
    return compile_program(program, build, compiler)


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
