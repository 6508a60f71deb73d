# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers of single objects: those that kbuild knows, and others, which are told what they know.

How kbuild's words are said to each family is in native/compiler/src/options.table.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith.arch import DEFAULT
from kernsmith.errors import ProgramMissing
from kernsmith.kernel.toolchain.compiler import find_compiler
from kernsmith.kernel.toolchain.content import content_of
from kernsmith.kernel.toolchain.programs import banner_of

TCC, ICX = "tcc", "icx"
_PACKAGES = {TCC: "apt-get install tcc", ICX: "install Intel's oneAPI compiler"}


@dataclass(frozen=True)
class OtherCompiler:
    """An installed compiler. name: what a rule writes. family: `clang`, `gcc`, `tcc`, `icx`;
    program, banner, content: as of a `Compiler`."""

    name: str
    program: str
    family: str
    banner: str
    content: str


@cache
def find_other(name: str, arch: str = DEFAULT) -> OtherCompiler:
    """A compiler by its program's name.

    Raises:
        ProgramMissing: not installed.
        UserError: neither clang nor gcc, and none of the others.
    """
    own = re.fullmatch(rf"({TCC}|{ICX})(-\d+)?", Path(name).name)
    if own is None:
        found = find_compiler(name, arch)
        return OtherCompiler(name, found.program, found.family, found.banner, found.content)
    if shutil.which(name) is None:
        raise ProgramMissing(name, _PACKAGES[own[1]])
    return OtherCompiler(name, name, own[1], banner_of(name), content_of([name], []))
