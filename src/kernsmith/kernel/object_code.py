# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of an object file, and in which of them two compilations of it differ.

Read from the ELF file itself (System V ABI, "Object Files", and its x86-64 supplement): the bytes
of each function's symbol, and the relocations in them. What a relocation of a function points to
counts by its name; a place in a section without symbols of its own counts by the section alone,
since strings and tables move in it when other functions change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import KernsmithError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_SYMTAB, _RELOCATIONS = 2, 4
_FUNCTION, _OF_SECTION = 2, 3
_EXECUTED = 4
_RESERVED = 0xFF00

Code = tuple[bytes, tuple[tuple[int, int, str, int], ...]]
"""A function's bytes, and its relocations: place in it, type, name, addend."""


class NoObject(KernsmithError):
    """A file that is no relocatable ELF file of 64 bits, little-endian."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    content: bytes
    link: int
    info: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    section: int
    value: int
    size: int


def changed_functions(one: Path, other: Path) -> tuple[str, ...]:
    """The functions of which two objects have code that differs, or that only one has; sorted.

    Raises:
        NoObject: one of the files is none.
    """
    before, after = functions_of_object(one), functions_of_object(other)
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))


def functions_of_object(path: Path) -> Mapping[str, Code]:
    """The code of each function of an object, by name.

    Raises:
        NoObject: the file is none, or is damaged.
    """
    try:
        return _functions(path.read_bytes())
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise NoObject(f"{path} is no object of 64 bits that can be read: {error}") from None


def _functions(data: bytes) -> dict[str, Code]:
    sections = _sections(data)
    at = next((n for n, s in enumerate(sections) if s.kind == _SYMTAB), None)
    if at is None:
        return {}
    symbols = list(_symbols(sections[at].content, sections[sections[at].link].content, sections))
    relocations: dict[int, list[tuple[int, int, str, int]]] = {}
    for section in sections:
        if section.kind == _RELOCATIONS and sections[section.info].flags & _EXECUTED:
            relocations[section.info] = sorted(_relocations(section.content, symbols, sections))
    found: dict[str, Code] = {}
    for symbol in symbols:
        if symbol.kind == _FUNCTION and 0 < symbol.section < _RESERVED:
            start, end = symbol.value, symbol.value + symbol.size
            found[symbol.name] = (
                sections[symbol.section].content[start:end],
                tuple(
                    (place - start, kind, name, addend)
                    for place, kind, name, addend in relocations.get(symbol.section, ())
                    if start <= place < end
                ),
            )
    return found


def _sections(data: bytes) -> list[_Section]:
    ident, *rest = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01":
        raise ValueError("another magic number")
    offset, size, count, names_at = rest[5], rest[10], rest[11], rest[12]
    headers = [_SECTION.unpack_from(data, offset + size * n) for n in range(count)]
    names = data[headers[names_at][4] :]
    return [
        _Section(
            _text(names, header[0]),
            header[1],
            header[2],
            data[header[4] : header[4] + header[5]],
            header[6],
            header[7],
        )
        for header in headers
    ]


def _symbols(content: bytes, names: bytes, sections: list[_Section]) -> Iterator[_Symbol]:
    for name, info, _, section, value, size in _SYMBOL.iter_unpack(content):
        kind = info & 15
        own = _text(names, name)
        if kind == _OF_SECTION and section < _RESERVED:
            own = sections[section].name
        yield _Symbol(own, kind, section, value, size)


def _relocations(
    content: bytes, symbols: list[_Symbol], sections: list[_Section]
) -> Iterator[tuple[int, int, str, int]]:
    for place, info, addend in _RELA.iter_unpack(content):
        symbol = symbols[info >> 32]
        in_data = symbol.kind == _OF_SECTION and not sections[symbol.section].flags & _EXECUTED
        local = symbol.name.startswith(".L")
        if local and symbol.section < _RESERVED:
            yield place, info & 0xFFFFFFFF, sections[symbol.section].name, 0
        else:
            yield place, info & 0xFFFFFFFF, symbol.name, 0 if in_data else addend


def _text(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode("utf-8", "replace")
