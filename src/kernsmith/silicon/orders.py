# SPDX-License-Identifier: GPL-2.0-or-later
"""A program as the layout lab takes a kernel: its text by the linker's map, and its movable
functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kernsmith.files import write_text
from kernsmith.kernel.toolchain import Compiler
from kernsmith.layout import Text, read_link_map
from kernsmith.silicon.binaries import Objects, link_map, movable


@dataclass(frozen=True)
class Ordered:
    """What can be ordered of a program: its text in the default layout, and the functions that an
    order may name, each by the first name of its section."""

    text: Text
    functions: tuple[str, ...]


def ordered_text(objects: Objects, binary: Path, linker: Compiler) -> Ordered:
    """The text of a program that is linked. binary: in its default layout."""
    text = mapped_text(objects, linker)
    names = movable(binary)
    known = set(names.functions) - names.data
    first = (section.symbols[0] for section in text.sections if section.symbols)
    return Ordered(text, tuple(dict.fromkeys(name for name in first if name in known)))


def linkers_order(
    objects: Objects, linker: Compiler, calls: str, algorithm: str, functions: tuple[str, ...]
) -> list[str]:
    """The order that the linker makes of a call graph. calls, algorithm: as
    `kernel.link_map.linkers_own_order` takes them."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "calls"
        write_text(file, calls)
        flags = f"-Wl,--call-graph-ordering-file={file},--call-graph-profile-sort={algorithm}"
        return mapped_text(objects, linker, flags).in_order(functions)


def mapped_text(objects: Objects, linker: Compiler, *flags: str) -> Text:
    """The text of a program by the linker's map; flags: of this link alone."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "map"
        write_text(file, link_map(objects, linker, *flags))
        text = read_link_map(file)
    if objects.kernel is None:
        # Without a script of its own, lld has one group, whatever sections are called.
        return replace(text, steps=(tuple(range(len(text.sections))),))
    return text
