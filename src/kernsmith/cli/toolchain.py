# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith toolchain`: which compilers there are, and how to get newer ones."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kernsmith.kernel.private_root import add_toolchain
from kernsmith.kernel.toolchain.listing import Installed, list_toolchains

toolchain = App(name="toolchain", help="List compilers, or get a newer one beside the system's.")


@toolchain.command(name="list")
def list_(
    prefix: Annotated[tuple[Path, ...], Parameter(negative=())] = (), /, *, json: bool = False
) -> int:
    """Show the compilers on PATH, in private roots and in folders, and what each can do.

    Every compiler is asked; nothing is looked up in a table.

    Examples:

        kernsmith toolchain list

        kernsmith toolchain list /opt/llvm --json

    Parameters
    ----------
    prefix
        Folders to look into, too, each as itself and as PREFIX/bin. Studies name such a compiler
        by its path.
    json
        Print all of it as JSON, with every value of -march.
    """
    with Console(stderr=True).status("asking the compilers"):
        found = list_toolchains(prefix)
    if json:
        document = {"version": 1, "compilers": [_document(each) for each in found]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        _print(found, Console(highlight=False))
    return 0


@toolchain.command
def add(compiler: str, /, *, json: bool = False) -> int:
    """Get a compiler that the system's Debian does not have, in a root of its own.

    mmdebstrap extracts the compiler's packages from a newer suite (trixie, forky, sid) of the
    system's own mirror into kernsmith's cache: no package is installed, root is not needed, the
    system stays as it is. Studies then name the compiler like any other. What was downloaded
    before a kill is used by the next call.

    Example:

        kernsmith toolchain add gcc-15

    Parameters
    ----------
    compiler
        gcc-13, gcc-14, gcc-15 …
    json
        Print where it is as JSON.
    """
    with Console(stderr=True).status("looking for the compiler") as status:
        root = add_toolchain(compiler, lambda text, share: status.update(text))
    if json:
        document = {"version": 1, **asdict(root), "program": str(root.program)}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        sys.stdout.write(
            f"{root.package} of Debian {root.suite}: {root.program}\n"
            f'studies name it so: compiler = "{compiler}"\n'
        )
    return 0


def _document(found: Installed) -> dict[str, Any]:
    usable = found.toolchain
    return {
        "name": found.name,
        "program": found.program,
        "family": usable.compiler.family if usable else "",
        "version": _written(usable.compiler.release) if usable else "",
        "banner": usable.compiler.banner if usable else "",
        "linker": usable.linker.program if usable else "",
        "march": sorted(usable.compiler.words()) if usable else [],
        "lto": usable.lto if usable else [],
        "autofdo": usable.autofdo if usable else False,
        "propeller": usable.propeller if usable else [],
        "origin": found.origin,
        "default": found.default,
        "problem": found.problem,
    }


def _written(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))


def _print(found: list[Installed], console: Console) -> None:
    for each in found:
        usable = each.toolchain
        version = f" {_written(usable.compiler.release)}" if usable else ""
        console.print(Text(f"{each.name}{version}", style="bold"), end="")
        console.print(f"{' (default)' if each.default else ''}: {each.origin}", markup=False)
        if usable is None:
            console.print(f"    cannot be used: {each.problem}", markup=False)
            continue
        abilities = [
            f"LTO {', '.join(usable.lto) or 'none'}",
            f"AutoFDO {'yes' if usable.autofdo else 'no'}",
            f"Propeller {' '.join(usable.propeller) or 'no'}",
        ]
        march = " ".join(sorted(usable.compiler.words()))
        lines = f"links with {usable.linker.program}; {'; '.join(abilities)}\n-march: {march}"
        console.print(Padding(Text(lines), (0, 0, 0, 4)))
