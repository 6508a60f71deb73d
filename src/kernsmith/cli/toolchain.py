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

from kernsmith.cli.console import result_console
from kernsmith.errors import KernsmithError
from kernsmith.kernel.private_root import add_toolchain
from kernsmith.kernel.toolchain import RUST, Rust, find_compiler, find_rust
from kernsmith.kernel.toolchain.compiler import default_compiler
from kernsmith.kernel.toolchain.listing import Installed, list_toolchains

toolchain = App(name="toolchain", help="List compilers, or get a newer one beside the system's.")


@toolchain.command(name="list")
def list_(
    prefix: Annotated[tuple[Path, ...], Parameter(negative=())] = (), /, *, json: bool = False
) -> int:
    """Show the compilers on PATH, in private roots and in folders, and what each can do.

    Every compiler is asked; nothing is looked up in a table. At the end stands what code in Rust
    (CONFIG_RUST) is built with.

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
        found, rust = list_toolchains(prefix), _rust()
    if json:
        document = {
            "version": 1,
            "compilers": [_document(each) for each in found],
            "rust": _rust_document(rust),
        }
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        console = result_console()
        _print(found, console)
        _print_rust(rust, console)
    return 0


@toolchain.command
def add(compiler: str, /, *, json: bool = False) -> int:
    """Get a compiler that the system's Debian does not have, in a root of its own.

    mmdebstrap extracts the compiler's packages from a newer suite (trixie, forky, sid) of the
    system's own mirror into kernsmith's cache: no package is installed, root is not needed, the
    system stays as it is. Studies then name the compiler like any other. What was downloaded
    before a kill is used by the next call.

    Examples:

        kernsmith toolchain add gcc-15

        kernsmith toolchain add rust

    Parameters
    ----------
    compiler
        gcc-13, gcc-14, gcc-15 …; rust: rustc, the source of its library, and bindgen, which configs
        with CONFIG_RUST need.
    json
        Print where it is as JSON.
    """
    with Console(stderr=True).status("looking for the compiler") as status:
        root = add_toolchain(compiler, lambda text, share: status.update(text))
    if json:
        document = {"version": 1, **asdict(root), "program": str(root.program)}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        use = f'studies name it so: compiler = "{compiler}"'
        if compiler == RUST:
            use = "configs with CONFIG_RUST=y are built with it"
        sys.stdout.write(f"{root.package} of Debian {root.suite}: {root.program}\n{use}\n")
    return 0


def _rust() -> Rust | str:
    """What code in Rust is built with beside the default compiler, or why it cannot be."""
    try:
        return find_rust(find_compiler(default_compiler()))
    except KernsmithError as error:
        return str(error)


def _rust_document(rust: Rust | str) -> dict[str, Any]:
    if isinstance(rust, str):
        return {"problem": rust}
    return {
        "rustc": rust.rustc,
        "version": _written(rust.release),
        "llvm": _written(rust.llvm),
        "library": str(rust.library),
        "bindgen": rust.bindgen,
        "bindgen_version": _written(rust.bindgen_release),
        "libclang": str(rust.libclang),
        "problem": "",
    }


def _print_rust(rust: Rust | str, console: Console) -> None:
    if isinstance(rust, str):
        console.print("Rust", style="bold", end="")
        console.print(f": cannot be used: {rust}", markup=False)
        return
    console.print(f"Rust {_written(rust.release)}", style="bold", end="")
    console.print(f": {rust.rustc}, by LLVM {_written(rust.llvm)}", markup=False)
    lines = f"library {rust.library}\nbindgen {_written(rust.bindgen_release)}: {rust.bindgen}"
    console.print(Padding(Text(f"{lines}, by {rust.libclang}"), (0, 0, 0, 4)))


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
