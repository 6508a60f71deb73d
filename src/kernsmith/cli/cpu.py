# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu`: what compilers can compile for, this machine, choices for menuconfig."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table

from kernsmith.cli.calibrate import calibrate
from kernsmith.cli.console import result_console
from kernsmith.cli.models import models
from kernsmith.cli.output import OutputFile, check_outputs
from kernsmith.errors import UserError
from kernsmith.files import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernsmith.kernel.cpu.catalogue import Cpu, Level
    from kernsmith.kernel.cpu.detect import Best, Machine
    from kernsmith.kernel.cpu.patch import Patch
    from kernsmith.kernel.toolchain import Compiler

_WIDE = 160

cpu = App(
    name="cpu",
    help="Processors: what compilers know, what this one is, a kernel patch; models of them.",
)
cpu.command(models)
cpu.command(calibrate)


@cpu.command(name="list")
def list_cpus(
    *,
    compiler: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show every processor and x86-64 level that gcc or clang can compile for.

    With the word for -march=, the level that is reached, and the first releases of the compilers
    that take it; later branches that got it in a point release are named, too.

    For example:

        kernsmith cpu list

        kernsmith cpu list --compiler gcc-12

        kernsmith cpu list --json

    Parameters
    ----------
    compiler
        Only what this installed compiler takes, by its own word: clang-22, gcc-12.
    json
        Print the table as JSON.
    """
    from kernsmith.kernel.cpu.catalogue import read_catalogue

    catalogue = read_catalogue()
    lines: list[tuple[str, Sequence[Level | Cpu]]] = [("x86-64 levels", catalogue.levels)]
    lines += [(group.name, group.cpus) for group in catalogue.groups]
    if compiler:
        words = _asked(compiler).words()
        lines = [(name, [cpu for cpu in cpus if cpu.march in words]) for name, cpus in lines]
    if json:
        found = [{"line": name} | _document(cpu) for name, cpus in lines for cpu in cpus]
        oldest = {name: _written(release) for name, release in catalogue.oldest.items()}
        _print_json({"version": 1, "oldest": oldest, "targets": found})
        return 0
    table = _table("-march=", "processor", "family", "level", "gcc", "clang", "sold as, or adds")
    for _, cpus in lines:
        for cpu in cpus:
            table.add_row(*_cells(_document(cpu)))
        table.add_section()
    console = result_console(_WIDE, markup=False)
    console.print(table)
    console.print(
        "gcc, clang: the first release that takes it, older branches in brackets; "
        f"{_written(catalogue.oldest['gcc'])} and {_written(catalogue.oldest['clang'])} mean: "
        "these or older ones"
    )
    return 0


@cpu.command
def detect(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Show this machine's processor, its x86-64 level, and the best -march= for each compiler.

    The level is found as glibc's loader finds it: from CPUID, and from what the system saves of
    the vector registers. What -march=native stands for is what the compiler says.

    For example:

        kernsmith cpu detect

        kernsmith cpu detect --json

    Parameters
    ----------
    json
        Print what was found as JSON.
    """
    from kernsmith.kernel.cpu.detect import best_march, detect_machine
    from kernsmith.kernel.toolchain import installed_compilers

    machine = detect_machine()
    found = [best_march(machine, compiler) for compiler in installed_compilers()]
    if json:
        _print_json({"version": 1} | _machine_document(machine, found))
        return 0
    console = result_console(_WIDE, markup=False)
    _print_machine(console, machine)
    table = _table("compiler", "release", "best -march=", "-march=native is", "why not its own")
    for best in found:
        release = _written(best.compiler.release[:2])
        table.add_row(best.compiler.name, release, best.march, best.native, best.reason)
    console.print(table)
    if not found:
        console.print("no gcc or clang is installed here: make setup")
    return 0


@cpu.command
def patch(
    source: str,
    /,
    *,
    output: OutputFile | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Make a patch that puts the choice of a processor into a kernel's menuconfig.

    It is made for that very tree: the x86-64 levels, every processor of `cpu list` with the
    compilers that take it, and native where the kernel has not got that itself. The tree is only
    read. Nothing changes in a kernel until something is chosen.

    Variants do not need it: the factor march gives -march= by KCFLAGS.

    For example:

        kernsmith cpu patch debian:6.12 -o cpu.patch

        kernsmith cpu patch ~/linux | patch -d ~/linux -p1

        kernsmith cpu patch git:~/linux@v6.1 --json

    Parameters
    ----------
    source
        A folder, a tarball, git:FOLDER@REVISION, or debian:VERSION.
    output
        File to write the patch to; default: standard output.
    json
        Print the choices, and the patch as a text, as JSON.
    """
    from kernsmith.kernel.cpu.patch import make_patch

    check_outputs([output], [Path(source)])
    choices = make_patch(_tree(source))
    if json:
        _print_json(_patch_document(choices))
    if not choices.text:
        _tell(
            f"{choices.tree} (Linux {choices.version}) has these choices already: nothing to patch"
        )
        return 0
    if output is not None:
        try:
            write_text(output, choices.text)
        except OSError as error:
            raise UserError(f"{output} cannot be written: {error.strerror or error}") from None
        _tell(
            f"{output}: {len(choices.options)} choices for Linux {choices.version}; apply it in "
            f"the tree with: patch -p1 < {output}"
        )
    elif not json:
        sys.stdout.write(choices.text)
    return 0


def _document(target: Level | Cpu) -> dict[str, Any]:
    from kernsmith.kernel.cpu.catalogue import Cpu

    document: dict[str, Any] = {"march": target.march, "level": target.level}
    document |= {name: list(map(_written, target.releases(name))) for name in ("gcc", "clang")}
    until = target.until("gcc")
    document["gcc_until"] = _written(until) if until else None
    if isinstance(target, Cpu):
        document |= {"name": target.name, "products": target.products, "family": target.family}
        document["aliases"] = list(target.aliases)
    else:
        document["adds"] = target.adds
    return document


def _cells(document: dict[str, Any]) -> tuple[str, ...]:
    gcc = _releases(document["gcc"])
    if document["gcc_until"]:
        gcc += f" to before {document['gcc_until']}"
    return (
        document["march"],
        document.get("name", ""),
        document.get("family", ""),
        f"v{document['level']}",
        gcc,
        _releases(document["clang"]),
        document.get("products") or document["adds"],
    )


def _releases(first: list[str]) -> str:
    *older, newest = first or ["-"]
    return f"{newest} ({', '.join(older)})" if older else newest


def _written(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


def _asked(program: str) -> Compiler:
    """The compiler that the user named."""
    from kernsmith.kernel.toolchain import find_compiler

    found = find_compiler(program)
    if not found.compiles:
        raise UserError(f"{program} does not compile for x86-64")
    return found


def _machine_document(machine: Machine, found: list[Best]) -> dict[str, Any]:
    own = machine.microarchitecture
    return {
        "vendor": machine.vendor,
        "name": machine.name,
        "family": machine.family,
        "model": machine.model,
        "stepping": machine.stepping,
        "processor": _document(own) if own else None,
        "level": machine.level,
        "missing": list(machine.missing),
        "compilers": [
            {
                "program": best.compiler.name,
                "release": _written(best.compiler.release[:2]),
                "march": best.march,
                "native": best.native,
                "reason": best.reason,
            }
            for best in found
        ],
    }


def _print_machine(console: Console, machine: Machine) -> None:
    identity = f"family {machine.family:X}h, model {machine.model:X}h, stepping {machine.stepping}"
    console.print(f"{machine.name} ({machine.vendor}, {identity})")
    if own := machine.microarchitecture:
        console.print(f"{own.name}: -march={own.march}")
    else:
        console.print("not in the catalogue: the x86-64 level is the best that can be said")
    level = f"x86-64-v{machine.level}" if machine.level > 1 else "x86-64"
    lacks = f"; v{machine.level + 1} needs {', '.join(machine.missing)}" if machine.missing else ""
    console.print(f"{level}{lacks}\n")


def _tree(source: str) -> Path:
    """The folder of a source. A folder is taken as it is: only few of its files are read."""
    from kernsmith import paths
    from kernsmith.kernel.source import resolve_source

    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.absolute()
    console = Console(stderr=True)
    with console.status(f"looking for {source}") as status:

        def progress(what: str, share: float | None) -> None:
            status.update(what if share is None else f"{what}: {share:.0%}")

        return resolve_source(source, paths.sources(), progress=progress).path


def _patch_document(patch: Patch) -> dict[str, Any]:
    return {
        "version": 1,
        "tree": str(patch.tree),
        "linux": patch.version,
        "patched": not patch.text,
        "options": [asdict(option) for option in patch.options],
        "patch": patch.text,
    }


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="ellipsis", no_wrap=True)
    return table


def _tell(sentence: str) -> None:
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(sentence)


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
