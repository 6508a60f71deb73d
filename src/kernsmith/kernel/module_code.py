# SPDX-License-Identifier: GPL-2.0-or-later
"""A module's code as a running kernel had it: a module is a relocatable file, and only loading says
where its sections are.

The linker puts them there once more. What comes out is an image like `vmlinux`, which every reader
of symbols, lines and code takes; it is never executed. What the module calls is where the kernel
has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kernsmith import process
from kernsmith.files import locked, replacing
from kernsmith.kernel.artifact import MODULES, Kernel, load_kernel
from kernsmith.kernel.symbols import Symbol, code_symbols
from kernsmith.kernel.toolchain import Toolchain, find_toolchain
from kernsmith.study.variant import digest_of

_SECONDS = 120.0
# What a kernel runs once and frees (module_init_layout_section of kernel/module/main.c), or never.
_PASSING = (".init", ".exit")
_EXECUTED = {"SHF_ALLOC", "SHF_EXECINSTR"}

Spans = Mapping[str, tuple[int, int]]
"""By section, the first address and the one behind the last."""


def code_spans(kernel: Kernel, placement: Mapping[str, Mapping[str, int]]) -> dict[str, Spans]:
    """Where the code of a kernel's modules is that stays: by module and section.

    placement: the addresses of all sections, as the kernel told them.
    """
    return {
        name: {
            section: (sections[section], sections[section] + size)
            for section, size in _code_sizes(kernel, name).items()
            if section in sections
        }
        for name, sections in placement.items()
        if name in kernel.modules and sections
    }


def module_image(kernel: Kernel, name: str, spans: Spans) -> Path:
    """A module of a kernel with its code at these addresses; kept beside the module.

    Raises:
        ProcessFailed: the linker ended with an error.
    """
    module = kernel.folder / MODULES / f"{name}.ko"
    target = module.with_name(f"{name}-{digest_of(dict(spans))[:12]}.elf")
    with locked(target.with_suffix(".lock")):
        if target.exists():
            return target
        script = target.with_suffix(".lds")
        script.write_text(_script(spans), encoding="ascii")
        with replacing(target) as image:
            process.run(
                [
                    _toolchain(kernel).tool("ld.lld"), "--script", script, "--just-symbols",
                    kernel.vmlinux, "--unresolved-symbols=ignore-all", "--noinhibit-exec",
                    "--allow-multiple-definition", "--entry=0", "--build-id=none",
                    "-o", image, module,
                ],
                log=target.with_suffix(".log"),
                timeout=_SECONDS,
            )  # fmt: skip
    return target


def module_symbols(folder: Path, modules: Mapping[str, Spans]) -> list[Symbol]:
    """The functions of modules at these places, as `FUNCTION [MODULE]`, by address.

    folder: of the kernel. A module that it does not have is `[MODULE]` as a whole.
    """
    found: list[Symbol] = []
    for name, spans in modules.items():
        found += [Symbol(start, "t", f"[{name}]") for start, _ in spans.values()]
        # What stands behind is another module's, or nobody's.
        found += [Symbol(end, "t", "?") for _, end in spans.values()]
        found += _own_symbols(folder, name, spans)
    return sorted(found, key=_first)


def _own_symbols(folder: Path, name: str, spans: Spans) -> list[Symbol]:
    kernel = load_kernel(folder)
    if kernel is None or not (folder / MODULES / f"{name}.ko").exists():
        return []
    image = module_image(kernel, name, spans)
    words: list[str | Path] = [_toolchain(kernel).tool("llvm-nm"), "--print-size", image]
    told = process.run(words, timeout=_SECONDS, merge=False).output
    return [
        replace(symbol, name=f"{symbol.name} [{name}]")
        for symbol in code_symbols(told)
        if any(a <= symbol.address < b for a, b in spans.values())
    ]


def _first(symbol: Symbol) -> tuple[int, bool, bool]:
    """By address; of several at one address first that which says most."""
    return symbol.address, symbol.name == "?", symbol.name.startswith("[")


def _script(spans: Spans) -> str:
    """What is not code the linker puts behind it, wherever that is."""
    placed = sorted(spans.items(), key=lambda item: item[1])
    lines = [f'  "{section}" {start:#x} : {{ *("{section}") }}' for section, (start, _) in placed]
    return "\n".join(["SECTIONS", "{", *lines, "}"]) + "\n"


def _code_sizes(kernel: Kernel, name: str) -> dict[str, int]:
    """The sizes of a module's sections of code that stay."""
    words: list[str | Path] = [
        _toolchain(kernel).tool("llvm-readelf"), "--sections", "--elf-output-style=JSON",
        kernel.folder / MODULES / f"{name}.ko",
    ]  # fmt: skip
    (told,) = json.loads(process.run(words, timeout=_SECONDS, merge=False).output)
    sections = (each["Section"] for each in told["Sections"])
    return {
        section["Name"]["Name"]: section["Size"]
        for section in sections
        if {flag["Name"] for flag in section["Flags"]["Flags"]} >= _EXECUTED
        and section["Size"]
        and not section["Name"]["Name"].startswith(_PASSING)
    }


def _toolchain(kernel: Kernel) -> Toolchain:
    return find_toolchain(kernel.provenance["variant"]["compiler"])
