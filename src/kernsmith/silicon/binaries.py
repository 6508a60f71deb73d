# SPDX-License-Identifier: GPL-2.0-or-later
"""From a program and a build to static binaries, one for each layout of the same objects.

All are linked by one linker at fixed addresses, whatever the compiler: what differs between two
layouts is where functions lie, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import locked, replacing, write_text
from kernsmith.kernel.toolchain import Compiler, find_compiler
from kernsmith.kernel.toolchain.content import linker_content
from kernsmith.kernel.toolchain.linker import newest_lld
from kernsmith.layout import random_order
from kernsmith.process import run
from kernsmith.silicon.builds import Build
from kernsmith.silicon.programs import Program
from kernsmith.threads import each_of, threads

DEFAULT = "default"
SHIFTED = "shifted"
ORDERED = "order"
"""In front of the name of an order that is not drawn: `order:c3`."""

# Fixed addresses, a section for each function, and nothing that the distribution adds by taste.
_FLAGS = (
    "-g1", "-std=gnu11", "-D_GNU_SOURCE", "-fno-pie", "-ffunction-sections", "-fno-stack-protector",
    "-fcf-protection=none", "-fno-plt",
)  # fmt: skip
# Data lie at the same addresses in all layouts (sections with an address come first, everything
# else behind them): else they would move by as many bytes as the functions' alignment takes up, and
# would meet other lines and pages. A kernel's data begin at a page whatever its text's order is.
_TEXT, _DATA = 0x400000, 0x4000000
UNPLACED = ("-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-Wl,-z,norelro")
"""What the linker is told of a binary of which nothing lies at an address of ours."""
_LINK = (*UNPLACED, f"-Wl,--section-start=.text={_TEXT:#x},--section-start=.data={_DATA:#x}")
# Changes with the way in which orders are drawn: it is in the names of binaries.
_ORDER = 2
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
    """A program compiled in one way.

    folder: where it lies, named by what it was made of. frame: what the linker is told about the
        binary. inputs: what it links beside the files. order: a file with the order of functions
        in the default layout; without one, it is that of the objects.
    kernel, flags: kbuild's output and what all of its code was compiled with, of a program that is
        a kernel.
    profile: the files that guided the compiler, if any did.
    """

    program: Program
    build: Build
    folder: Path
    files: tuple[Path, ...]
    frame: tuple[str, ...] = _LINK
    inputs: tuple[str, ...] = ()
    order: Path | None = None
    kernel: Path | None = None
    flags: tuple[str, ...] = ()
    profile: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Binary:
    """A linked program. layout: `default`, `random:SEED`, `shifted:SEED`, or `order:NAME`."""

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
    folder = objects_folder(program, build, compiler, [mark] if mark else profile)
    files = tuple(folder / f"{number}.o" for number in range(len(program.units)))

    def one(number: int) -> None:
        unit = program.units[number]
        command = [compiler.program, *_FLAGS, *unit.flags, *build.flags, *profile]
        run(
            [*command, "-c", "-o", str(files[number]), str(unit.file)], timeout=_SECONDS, cwd=folder
        )

    with locked(folder / "lock"):
        if not (folder / "whole").exists():
            with threads(os.cpu_count() or 1) as pool:
                each_of(pool, one, range(len(files)))
            write_text(folder / "whole", "")
    return Objects(program, build, folder, files)


def objects_folder(
    program: Program, build: Build, compiler: Compiler, guided: Sequence[str] = ()
) -> Path:
    """Where a program's objects are or will be. guided: what tells its profile."""
    words = [program.digest, compiler.content, *_FLAGS, *build.flags, *guided]
    key = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]
    return paths.cache_root() / "programs" / "objects" / key


def link_layouts(
    objects: Objects, layouts: Sequence[str], linker: Compiler, flags: Sequence[str] = ()
) -> list[Binary]:
    """Link a program's objects in these layouts. linker: the clang that calls lld."""
    default = _link(objects, DEFAULT, linker, flags)
    names = movable(default.path)
    made = [default]
    for layout in layouts:
        if layout != DEFAULT:
            made.append(_link(objects, layout, linker, flags, names))
    return made


def link_order(objects: Objects, name: str, order: Sequence[str], linker: Compiler) -> Binary:
    """Link a program's objects with these functions first, in this order."""
    text = "\n".join(order) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    file = objects.folder / f"{ORDERED}-{name.replace(' ', '-')}-{digest}.order"
    write_text(file, text)
    return _link(objects, f"{ORDERED}:{name}", linker, (), order=file)


def link_map(objects: Objects, linker: Compiler, *flags: str) -> str:
    """The linker's map of the default layout. flags: what the linker is told besides."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "map"
        told = (f"-Wl,-Map={file},--no-demangle", *flags)
        inputs = _inputs(objects, objects.order)
        _run_linker(objects, linker, (*told, *inputs), Path(folder) / "binary")
        return file.read_text(errors="replace")


@dataclass(frozen=True)
class Names:
    """Names of functions that an order is drawn of. data: those of them that data have, too; an
    order would move these with the function."""

    functions: tuple[str, ...] = ()
    data: frozenset[str] = frozenset()

    def order(self, seed: str) -> list[str]:
        """The functions in an order of their own for each seed."""
        return [name for name in random_order(self.functions, seed) if name not in self.data]


def movable(binary: Path) -> Names:
    """What an order can move of a binary: all whose names are one word for the linker."""
    said = run(["nm", "--defined-only", "--no-sort", str(binary)], timeout=_SECONDS).output
    named = re.findall(r"^[0-9a-f]+ ([a-zA-Z]) ([A-Za-z_][\w.]*)$", said, re.MULTILINE)
    functions = {name for kind, name in named if kind in "tTwW"}
    others = {name for kind, name in named if kind not in "tTwW"}
    return Names(tuple(sorted(functions)), frozenset(functions & others))


_NO_NAMES = Names()


def _link(
    objects: Objects,
    layout: str,
    linker: Compiler,
    flags: Sequence[str],
    names: Names = _NO_NAMES,
    order: Path | None = None,
) -> Binary:
    """order: the file of a layout that is not drawn."""
    program, build = objects.program, objects.build
    linked_by = f"{_ORDER} {linker_content(newest_lld())} {objects.frame}"
    by = hashlib.sha256(linked_by.encode()).hexdigest()[:8]
    word = order.stem if order else layout.replace(":", "-")
    path = objects.folder / f"{program.name}-{word}-{by}.elf"
    if not path.exists():
        if order or layout == DEFAULT:
            inputs = _inputs(objects, order or objects.order)
        else:
            inputs = [*_inputs(objects, None), *_drawn(objects, layout, linker, names)]
        with replacing(path) as new:
            _run_linker(objects, linker, (*flags, *inputs), new)
    return Binary(program.name, build.name, layout, path)


def _inputs(objects: Objects, order: Path | None) -> list[str]:
    """What the linker is given. order: the file that says in which order functions lie."""
    return [*map(str, objects.files), *objects.inputs, *(_by_order(order) if order else ())]


def _run_linker(objects: Objects, linker: Compiler, words: Sequence[str], output: Path) -> None:
    libraries = [f"-l{name}" for name in objects.program.libraries]
    frame = [linker.program, *objects.frame, f"--ld-path={newest_lld()}"]
    run([*frame, *words, *libraries, "-o", str(output)], timeout=_SECONDS)


def order_path(folder: Path, layout: str) -> Path:
    """The order of functions that a layout of the objects in a folder was linked in; there is none
    of the default layout."""
    return folder / f"{layout.replace(':', '-')}.order"


def _drawn(objects: Objects, layout: str, linker: Compiler, names: Names) -> list[str]:
    kind, _, seed = layout.partition(":")
    order = names.order(seed)
    order_file = order_path(objects.folder, layout)
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
    return [*extra, *_by_order(order_file)]


def _by_order(file: Path) -> list[str]:
    return [f"-Wl,--symbol-ordering-file={file}", "-Wl,--no-warn-symbol-ordering"]


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
