# SPDX-License-Identifier: GPL-2.0-or-later
"""From a program and a build to static binaries, one for each layout of the same objects.

All are linked by one linker at fixed addresses, whatever the compiler: what differs between two
layouts is where functions lie, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel.toolchain import Compiler, find_compiler
from kernsmith.kernel.toolchain.content import linker_content
from kernsmith.kernel.toolchain.linker import newest_lld
from kernsmith.layout import random_order
from kernsmith.process import run
from kernsmith.silicon.builds import Build
from kernsmith.silicon.programs import Program

DEFAULT = "default"
SHIFTED = "shifted"

# Fixed addresses, a section for each function, and nothing that the distribution adds by taste.
_FLAGS = (
    "-g1", "-std=gnu11", "-D_GNU_SOURCE", "-fno-pie", "-ffunction-sections", "-fno-stack-protector",
    "-fcf-protection=none", "-fno-plt",
)  # fmt: skip
# Data lie at the same addresses in all layouts (sections with an address come first, everything
# else behind them): else they would move by as many bytes as the functions' alignment takes up, and
# would meet other lines and pages. A kernel's data begin at a page whatever its text's order is.
_TEXT, _DATA = 0x400000, 0x4000000
_LINK = (
    "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,norelro",
    f"-Wl,--section-start=.text={_TEXT:#x},--section-start=.data={_DATA:#x}",
)  # fmt: skip
_SECONDS = 900.0
_STEP = 16
_LINE = 64
_PADDING = """\
	.section .text.{name},"ax",@progbits
	.type {name},@function
{name}:
	.skip {size}, 0xcc
"""


@dataclass(frozen=True)
class Objects:
    """A program compiled in one way. folder: where it lies, named by what it was made of."""

    program: Program
    build: Build
    folder: Path
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Binary:
    """A linked program. layout: `default`, `random:SEED`, or `shifted:SEED`."""

    program: str
    build: str
    layout: str
    path: Path


def layout_names(count: int) -> tuple[str, ...]:
    """The default order and so many random ones; in every fourth, functions are also pushed apart
    by parts of a cache line."""
    drawn = (f"{SHIFTED if n % 4 == 0 else 'random'}:{n}" for n in range(1, count + 1))
    return (DEFAULT, *drawn)


def compile_program(
    program: Program, build: Build, compiler: Compiler, profile: Sequence[str] = (), mark: str = ""
) -> Objects:
    """Compile all of a program.

    profile: flags that make or use one. mark: the digest of the profile that they name; a path is
        in no key, and what else the units' flags are is in the program's digest.

    Raises:
        ProcessFailed: the compiler's own error.
    """
    guided = [mark] if mark else profile
    words = [program.digest, compiler.content, *_FLAGS, *build.flags, *guided]
    key = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]
    folder = paths.cache_root() / "programs" / "objects" / key
    files = tuple(folder / f"{number}.o" for number in range(len(program.units)))

    def one(number: int) -> None:
        unit = program.units[number]
        command = [compiler.program, *_FLAGS, *unit.flags, *build.flags, *profile]
        run(
            [*command, "-c", "-o", str(files[number]), str(unit.file)], timeout=_SECONDS, cwd=folder
        )

    with locked(folder / "lock"):
        if not (folder / "whole").exists():
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(one, range(len(files))))
            write_text(folder / "whole", "")
    return Objects(program, build, folder, files)


def link_layouts(
    objects: Objects, layouts: Sequence[str], linker: Compiler, flags: Sequence[str] = ()
) -> list[Binary]:
    """Link a program's objects in these layouts. linker: the clang that calls lld."""
    default = _link(objects, DEFAULT, linker, flags)
    functions = movable(default.path)
    made = [default]
    for layout in layouts:
        if layout != DEFAULT:
            made.append(_link(objects, layout, linker, flags, functions))
    return made


def movable(binary: Path) -> list[str]:
    """The functions that an order can move: all whose names are one word for the linker."""
    said = run(["nm", "--defined-only", "--no-sort", str(binary)], timeout=_SECONDS).output
    names = re.findall(r"^[0-9a-f]+ [tTwW] ([A-Za-z_][\w.]*)$", said, re.MULTILINE)
    return sorted(set(names))


def _link(
    objects: Objects,
    layout: str,
    linker: Compiler,
    flags: Sequence[str],
    functions: Sequence[str] = (),
) -> Binary:
    program, build = objects.program, objects.build
    by = hashlib.sha256((linker_content(newest_lld()) + repr(_LINK)).encode()).hexdigest()[:8]
    path = objects.folder / f"{program.name}-{layout.replace(':', '-')}-{by}.elf"
    if not path.exists():
        extra: list[str] = [str(file) for file in objects.files]
        if layout != DEFAULT:
            extra += _ordered(objects, layout, linker, functions)
        libraries = [f"-l{name}" for name in program.libraries]
        new = path.with_suffix(".new")
        command = [linker.program, *_LINK, f"--ld-path={newest_lld()}", *flags, *extra, *libraries]
        run([*command, "-o", str(new)], timeout=_SECONDS)
        new.replace(path)
    return Binary(program.name, build.name, layout, path)


def _ordered(
    objects: Objects, layout: str, linker: Compiler, functions: Sequence[str]
) -> list[str]:
    kind, _, seed = layout.partition(":")
    order = list(random_order(functions, seed))
    order_file = objects.folder / f"{layout.replace(':', '-')}.order"
    extra: list[str] = []
    if kind == SHIFTED:
        order, sizes = _pushed_apart(order, seed)
        source = order_file.with_suffix(".S")
        compiled = order_file.with_suffix(".o")
        text = "".join(_PADDING.format(name=n, size=size) for n, size in sizes.items())
        write_text(source, text)
        run([linker.program, "-c", "-o", str(compiled), str(source)], timeout=_SECONDS)
        extra.append(str(compiled))
    write_text(order_file, "\n".join(order) + "\n")
    return [*extra, f"-Wl,--symbol-ordering-file={order_file}", "-Wl,--no-warn-symbol-ordering"]


def _pushed_apart(order: Sequence[str], seed: str) -> tuple[list[str], dict[str, int]]:
    """The order with a padding of less than a cache line before each function."""
    draw = random.Random(f"shift {seed}")
    names: list[str] = []
    sizes: dict[str, int] = {}
    for function in order:
        size = draw.randrange(0, _LINE, _STEP)
        if size:
            name = f"kernsmith_padding_{len(sizes)}"
            sizes[name] = size
            names.append(name)
        names.append(function)
    return names, sizes


def compiler_of(build: Build) -> Compiler:
    """The compiler of a build: the newest clang, or the system's gcc.

    Raises:
        ProgramMissing: it is not installed.
    """
    from kernsmith.kernel.toolchain import default_compiler

    name = default_compiler() if build.family == "clang" else "gcc"
    found = find_compiler(name)
    if found.family != build.family:
        raise UserError(f"the build {build.name} needs {build.family}; {name} is {found.family}")
    return found
