# SPDX-License-Identifier: GPL-2.0-or-later
"""A miscompiled kernel: many of its objects differ from the real one's, and one is wrong."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import objects_of

_OPPOSITE = {"je": "jne", "jl": "jge", "jle": "jg", "jb": "jae", "jbe": "ja", "js": "jns"}
_OPPOSITE |= {there: here for here, there in _OPPOSITE.items()}


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
    output = folder / "out"
    for each in (*objects_of(kernel), "vmlinux.a"):
        target = output / each
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kernel.output / each, target)
        if each.endswith(".o") and each.startswith(others):
            with target.open("ab") as file:
                file.write(b"\0")
    for each in ("config", "System.map"):
        shutil.copyfile(kernel.folder / each, folder / each)
    _miscompile(kernel, output / mistake.object, mistake)
    variant = kernel.provenance["variant"] | {"name": "planted"}
    key = "f" * 64
    return Kernel(key, folder, kernel.provenance | {"key": key, "variant": variant})


def _miscompile(kernel: Kernel, target: Path, mistake: Mistake) -> None:
    name = mistake.object
    noted = (kernel.output / name).with_name(f".{Path(name).name}.cmd").read_text()
    found = re.match(rf"savedcmd_{re.escape(name)} := (.*)", noted)
    assert found
    compile_words, *checks = (shlex.split(each) for each in found[1].split(" ; "))
    own = [word for word in compile_words[1:] if not word.startswith("-Wp,-MMD,")]
    assembly = target.with_suffix(".s")
    at = own.index("-o")
    words = [word for word in (*own[:at], *own[at + 2 :]) if word != "-c"]
    subprocess.run([*words, "-S", "-o", assembly], cwd=kernel.output, check=True)
    assembly.write_text(swapped(assembly.read_text(), mistake))
    process.run([own[0], "-c", "-o", target, assembly], timeout=60)
    for check in checks:
        assert check[-1] == name
        subprocess.run([*check[:-1], target], cwd=kernel.output, check=True)


def swapped(assembly: str, mistake: Mistake) -> str:
    """The assembly with one conditional jump of a function taken where it was not, and not taken
    where it was."""
    function = mistake.function
    begin = assembly.index(f"\n{function}:")
    end = assembly.index(f"\t.size\t{function},", begin)
    body = assembly[begin:end]
    jumps = [m for m in re.finditer(r"^\t(j\w+)(?=\t)", body, re.MULTILINE) if m[1] in _OPPOSITE]
    there = jumps[mistake.jump]
    body = body[: there.start(1)] + _OPPOSITE[there[1]] + body[there.end(1) :]
    return assembly[:begin] + body + assembly[end:]
