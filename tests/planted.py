# SPDX-License-Identifier: GPL-2.0-or-later
"""A miscompiled kernel: many of its objects differ from the real one's, and one is wrong."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import objects_of
from kernsmith.kernel.object_rules import rules_text
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.paths import shipped
from kernsmith.study.objects import ObjectRule


@dataclass(frozen=True)
class Mistake:
    """In which object, function and conditional jump of it a comparison is swapped."""

    object: str
    function: str
    jump: int


def planted_kernel(kernel: Kernel, folder: Path, mistake: Mistake, others: str = "") -> Kernel:
    """As much of a kernel as mixing takes of the bad one.

    others: with what the names of objects begin that are suspects, too: these have one byte behind
        their end, which no linker reads. Empty: all.
    """
    planted = copied_objects(kernel, folder)
    for each in objects_of(kernel):
        if each.startswith(others):
            with (planted.output / each).open("ab") as file:
                file.write(b"\0")
    step = f"swap-comparison={mistake.function}:{mistake.jump}"
    recompiled(kernel, mistake.object, planted.output / mistake.object, step)
    return planted


def copied_objects(kernel: Kernel, folder: Path) -> Kernel:
    """A kernel with copies of all objects, to be changed."""
    for each in (*objects_of(kernel), "vmlinux.a"):
        target = folder / "out" / each
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kernel.output / each, target)
    for each in ("config", "System.map"):
        shutil.copyfile(kernel.folder / each, folder / each)
    variant = kernel.provenance["variant"] | {"name": folder.name}
    key = "f" * 64
    return Kernel(key, folder, kernel.provenance | {"key": key, "variant": variant})


def waiting_step(folder: Path, function: str, rounds: int) -> str:
    """A step that makes a function of clang's or gcc's cost so many rounds of two instructions
    more: a program on the assembly."""
    program = folder / "wait"
    loop = rf"\n\tmovl ${rounds}, %eax\n.Lwait:\n\tdecl %eax\n\tjne .Lwait"
    program.write_text(f"#!/bin/sh\nexec sed 's/^{function}:.*/&{loop}/'\n")
    program.chmod(0o755)
    return str(program)


def recompiled(
    kernel: Kernel, name: str, target: Path, *steps: str, compiler: str = "", fallback: str = ""
) -> None:
    """Compile an object of a kernel anew, through steps or by another compiler, as kbuild would:
    objtool goes over it."""
    rule = ObjectRule(("**",), compiler, steps=steps, fallback=fallback)
    noted = (kernel.output / name).with_name(f".{Path(name).name}.cmd").read_text()
    found = re.match(rf"savedcmd_{re.escape(name)} := (.*)", noted)
    assert found
    (_, own, *words), *checks = (shlex.split(each) for each in found[1].split(" ; "))
    target.parent.mkdir(parents=True, exist_ok=True)
    elsewhere = {name: str(target), f"-Wp,-MMD,{_notes(name)}": f"-Wp,-MMD,{target}.d"}
    words = [elsewhere.get(word, word) for word in words]
    rules = target.with_suffix(".rules")
    rules.write_text(rules_text([rule], find_toolchain(own).compiler, "x86_64"))
    delegate = shipped("target/release/kernsmith-compiler")
    environment = {**os.environ, "KERNSMITH_OBJECTS": str(rules), "CCACHE_DISABLE": "1"}
    subprocess.run([delegate, own, *words], cwd=kernel.output, env=environment, check=True)
    for check in checks:
        assert check[-1] == name
        subprocess.run([*check[:-1], target], cwd=kernel.output, check=True)


def _notes(name: str) -> Path:
    """Where kbuild has the dependencies of an object written."""
    return Path(name).with_name(f".{Path(name).name}.d")
