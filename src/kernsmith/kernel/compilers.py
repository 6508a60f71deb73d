# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compilers there are, what each can do, and where it comes from: all found by asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError
from kernsmith.kernel.cpu.compiler import compiler_programs, examine
from kernsmith.kernel.private_root import private_roots
from kernsmith.kernel.toolchain import LLD, default_compiler, find_toolchain
from kernsmith.kernel.toolchain.content import CLANG

# What kbuild tells the compiler for each (Makefile, scripts/Makefile.autofdo, .propeller).
_ABILITIES = {
    "lto_thin": ("-flto=thin", "-fsplit-lto-unit", "-fvisibility=hidden"),
    "lto_full": ("-flto=full", "-fvisibility=hidden"),
    "autofdo": (
        "-fdebug-info-for-profiling", "-mllvm", "-enable-fs-discriminator=true",
        "-mllvm", "-improved-fs-discriminator=true", "-fsplit-machine-functions",
    ),
    "propeller": ("-fbasic-block-address-map",),
    "propeller_labels": ("-fbasic-block-sections=labels",),
}  # fmt: skip
_PROPELLER = ("propeller", "propeller_labels")


@dataclass(frozen=True)
class ListedCompiler:
    """A compiler and what it can do for a kernel.

    name: what a study writes. program: its path. banner: first line of `--version`.
    linker: the linker that it is used with when a study names none.
    march: the values of `-march=` for 64 bits, as the compiler lists them.
    lto, propeller: modes and flags that it takes. autofdo: whether it takes the kernel's flags.
    origin: a Debian package with its version, a private root, or the path alone.
    default: whether it is what studies without a compiler are built with.
    problem: why it cannot be used, empty if it can.
    """

    name: str
    program: str
    family: str
    version: str
    banner: str
    linker: str
    march: tuple[str, ...]
    lto: tuple[str, ...]
    autofdo: bool
    propeller: tuple[str, ...]
    origin: str
    default: bool
    problem: str = ""


def list_compilers(prefixes: Sequence[Path] = ()) -> list[ListedCompiler]:
    """Compilers on PATH, in private roots, and in these folders or their `bin`."""
    found = [_look_at(name, program) for name, program in compiler_programs(prefixes).items()]
    return sorted(found, key=lambda each: (each.family, _numbers(each.version), each.name))


def _look_at(name: str, program: Path) -> ListedCompiler:
    origin = _origin(name, program)
    try:
        toolchain = find_toolchain(name)
        can = {ability for ability, flags in _ABILITIES.items() if not toolchain.refuses(flags)}
        asked = examine(program)
    except KernsmithError as error:
        reason = str(error).splitlines()[0]
        return ListedCompiler(
            name, str(program), "", "", "", "", (), (), False, (), origin, False, reason
        )
    # gcc takes flags of the same names, but the kernel has no such build with it.
    clang = toolchain.family == CLANG
    return ListedCompiler(
        name=name,
        program=str(program),
        family=toolchain.family,
        version=".".join(map(str, toolchain.release)),
        banner=dict(toolchain.banners)["compiler"],
        linker=toolchain.linker,
        march=tuple(sorted(asked.words())) if asked else (),
        lto=tuple(
            mode
            for mode in ("thin", "full")
            if clang and toolchain.linker_family == LLD and f"lto_{mode}" in can
        ),
        autofdo=clang and "autofdo" in can,
        propeller=tuple(_ABILITIES[each][0] for each in _PROPELLER if clang and each in can),
        origin=origin,
        default=name == _default(),
    )


def _default() -> str:
    try:
        return default_compiler()
    except KernsmithError:
        return ""


def _origin(name: str, program: Path) -> str:
    for root in private_roots():
        if program == root.program:
            return f"private root: {root.package} of Debian {root.suite}"
    for path in (program, program.resolve()):
        asked = process.run(
            ["dpkg-query", "--search", path], timeout=30, check=False, merge=False
        ).output
        if asked:
            package = asked.partition(":")[0]
            shown = ["dpkg-query", "--show", "--showformat=${Version}", package]
            return f"Debian package {package} {process.run(shown, timeout=30).output}"
    return str(program)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)
