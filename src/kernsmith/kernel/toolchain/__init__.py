# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers and linkers: which programs a variant is built with, and exactly which ones.

`Compiler` and `Linker` are programs that were found and asked what they can do; `Toolchain` is one
of each. `Rust` is what code in Rust needs besides. All of them are known by the content of their
files.
"""

from kernsmith.kernel.toolchain.compiler import (
    OLDEST_CLANG,
    Compiler,
    default_compiler,
    find_compiler,
    installed_compilers,
)
from kernsmith.kernel.toolchain.content import CLANG, GCC
from kernsmith.kernel.toolchain.linker import BFD, LLD, Linker
from kernsmith.kernel.toolchain.programs import RUST
from kernsmith.kernel.toolchain.rust import RUST_REMEDY, Rust, find_rust, rust_flags
from kernsmith.kernel.toolchain.toolchain import Toolchain, find_toolchain

__all__ = [
    "BFD",
    "CLANG",
    "GCC",
    "LLD",
    "OLDEST_CLANG",
    "RUST",
    "RUST_REMEDY",
    "Compiler",
    "Linker",
    "Rust",
    "Toolchain",
    "default_compiler",
    "find_compiler",
    "find_rust",
    "find_toolchain",
    "installed_compilers",
    "rust_flags",
]
