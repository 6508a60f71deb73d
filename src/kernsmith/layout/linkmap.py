# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of a kernel as the linker has laid it out, from the linker's map.

The format is that of `ld.lld -Map` (`lld/ELF/MapFile.cpp`): columns VMA, LMA, size and alignment
in hexadecimal (the alignment in decimal), then an output section without indentation, an input
section `FILE:(NAME)` or an assignment of the linker script with 8 spaces of it, a symbol with 16.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from kernsmith.errors import UserError
from kernsmith.kernel.regions import Margin
from kernsmith.layout.linker_sort import sorted_by_linker

_LINE = re.compile(r"^ *([0-9a-f]+) +([0-9a-f]+) +([0-9a-f]+) +(\d+) ( *)(.*)$")
_INPUT = re.compile(r"^.*:\(([^()]*)\)$")
_ALIGN = re.compile(r"^\. = ALIGN\((.*)\)$")
_ALIAS = re.compile(r"(?:PROVIDE(?:_HIDDEN)?\()?([\w.$]+) = ([A-Za-z_][\w.$]*)\)?")
_LARGEST = 1 << 32
_TEXT = ".text"
# The output sections of data, and those of their input sections whose order means nothing. Not the
# page-aligned ones, those that a mark stands in front of, and tables.
_DATA = (".data", ".bss")
_MOVABLE_DATA = re.compile(
    r"^\.(data|bss)(\.[0-9A-Za-z_].*)?$|^\.data\.\.(read_mostly|cacheline_aligned)$"
)

# Patterns of the kernel's linker script that follow each other without a symbol between them
# (`include/asm-generic/vmlinux.lds.h`, TEXT_TEXT): the names that each of them takes in.
_PATTERNS = (
    ("noinstr", re.compile(r"^\.noinstr\.text")),
    ("cpuidle", re.compile(r"^\.cpuidle\.text")),
    ("ref", re.compile(r"^\.ref\.text")),
    ("asan", re.compile(r"^\.text\.(asan|tsan)\.")),
    ("unknown", re.compile(r"^\.text\.unknown(\.|$)")),
    ("split", re.compile(r"^\.text\.split(\.|$)")),
    ("unlikely", re.compile(r"^\.text\.unlikely(\.|$)")),
    ("hot", re.compile(r"^\.text\.hot(\.|$)")),
    ("main", re.compile(r"^\.text(\.|$)")),
)


@dataclass(frozen=True)
class InputSection:
    """One input section: address, size and alignment in bytes, the symbols in it, and its file."""

    name: str
    start: int
    size: int
    align: int
    symbols: tuple[str, ...]
    file: str = ""

    @property
    def pattern(self) -> str:
        """Which pattern of the linker script takes it in; its name where it has one of its own."""
        return _pattern(self.name)


@dataclass(frozen=True)
class Arrangement:
    """Where a text's sections are to lie.

    order: numbers of sections, first to last; those that it does not name follow as they are.
    shifts: (number of a step, bytes in front of it).
    """

    order: tuple[int, ...] = ()
    shifts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Text:
    """The output section `.text`.

    steps: what the linker script says, in its order: an alignment in bytes, or the numbers (of
        `sections`) of a group, which an order sorts among themselves.
    given: the sections' places in the linker's input, where it has sorted them; else empty.
    """

    start: int
    sections: tuple[InputSection, ...]
    steps: tuple[int | tuple[int, ...], ...]
    _by_symbol: dict[str, tuple[int, ...]] = field(repr=False)
    given: tuple[int, ...] = field(default=(), repr=False)

    def arranged(
        self, order: Iterable[str], margins: Mapping[str, Margin] = MappingProxyType({})
    ) -> Arrangement:
        """An order of symbols, with margins of regions, by the names of these' sections.

        Raises:
            UserError: the linker's map shows no such region.
        """
        groups = {
            self.sections[step[0]].name: number
            for number, step in enumerate(self.steps)
            if not isinstance(step, int)
        }
        if unknown := [section for section in margins if section not in groups]:
            raise UserError(f"the linker's map shows no {unknown[0]} that could be moved")
        shifts = [
            shift
            for section, margin in margins.items()
            for shift in ((groups[section], margin.before), (groups[section] + 1, margin.behind))
            if shift[1]
        ]
        return Arrangement(tuple(self.numbers(order)), tuple(shifts))

    def numbers(self, order: Iterable[str]) -> list[int]:
        """The sections that an order of symbols names, in that order; each once.

        As the linker does it: a name that several sections define (static functions of the same
        name) moves all of them, and the linker's sorting decides which of them comes first; a
        section with several named symbols goes by the first.
        """
        places: dict[int, int] = {}
        named = 0
        for symbol in order:
            sections = self._by_symbol.get(symbol, ())
            before = len(places)
            for number in sections:
                places.setdefault(number, named)
            named += len(places) > before
        return list(places) if named == len(places) else self._as_sorted(places)

    def _as_sorted(self, places: Mapping[int, int]) -> list[int]:
        """Sections by place, and those of one place as the linker sorts the group that they are in.

        places: by section, in the order of the places.
        """
        rank: dict[int, int] = {}
        for step in self.steps:
            if not isinstance(step, int):
                ordered = [number for number in step if number in places]
                if self.given:
                    ordered.sort(key=self.given.__getitem__)
                keys = [places[number] for number in ordered]
                if len(set(keys)) < len(keys):
                    for at, place in enumerate(sorted_by_linker(keys)):
                        rank[ordered[place]] = at
        return sorted(places, key=lambda number: (places[number], rank.get(number, 0)))

    def in_order(self, functions: Iterable[str]) -> list[str]:
        """Those of the functions that sections define, as they lie in this layout."""
        wanted = set(functions)
        by_place = sorted(self.sections, key=lambda section: section.start)
        named = (name for section in by_place for name in section.symbols if name in wanted)
        return list(dict.fromkeys(named))

    def knows(self, symbol: str) -> bool:
        """Whether a section defines it."""
        return symbol in self._by_symbol


def read_link_map(path: Path, given: Path | None = None) -> Text:
    """The `.text` of a linker's map.

    given: a map of the same with the sections in the order in which the linker is given them, if
        it has sorted them.

    Raises:
        UserError: not such a map, one without text, or two maps of different sections.
    """
    reader = _read(path)
    if given is None:
        return reader.text
    return _as_given(reader, _read(given), given)


def text_files(path: Path) -> list[tuple[int, int, str]]:
    """From a linker's map: first address, end and file of each input section of `.text`, sorted.

    Raises:
        UserError: a map that cannot be read.
    """
    found = []
    for address, size, _, indent, what in _text_lines(_opened(path)):
        if indent == 8 and size and _INPUT.match(what):
            found.append((address, address + size, what.rpartition(":(")[0]))
    return sorted(found)


def movable_data(path: Path) -> list[str]:
    """From a linker's map: of each input section of data that may change places with others of its
    kind, a symbol that no other section has.

    Raises:
        UserError: a map that cannot be read.
    """
    counted: Counter[str] = Counter()
    sections: list[list[str]] = []
    inside = movable = False
    for _, _, _, indent, what in _lines(_opened(path)):
        if indent == 0:
            inside = what in _DATA
        elif indent == 8:
            section = _INPUT.match(what)
            movable = inside and section is not None and bool(_MOVABLE_DATA.match(section[1]))
            if movable:
                sections.append([])
        elif what:
            counted[what] += 1
            if movable:
                sections[-1].append(what)
    alone = ([name for name in symbols if counted[name] == 1] for symbols in sections)
    return [names[0] for names in alone if names]


def _opened(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UserError(f"cannot read the linker's map {path}: {error.strerror}") from None


def _read(path: Path) -> _Reader:
    try:
        return _Reader().read(_opened(path))
    except _NotAMap as error:
        raise UserError(f"{path} is no map of ld.lld's: {error}") from None


def _as_given(mapped: _Reader, given: _Reader, path: Path) -> Text:
    """The text of one map with the places that its sections have in another."""
    places = {origin: place for place, origin in enumerate(_distinct(given.origins))}
    origins = _distinct(mapped.origins)
    if set(origins) != set(places):
        raise UserError(f"{path} is the map of another kernel")
    return replace(mapped.text, given=tuple(places[origin] for origin in origins))


def _distinct(origins: Iterable[str]) -> list[tuple[str, int]]:
    """With numbers for sections that have file and name in common."""
    seen: Counter[str] = Counter()
    found = []
    for origin in origins:
        found.append((origin, seen[origin]))
        seen[origin] += 1
    return found


class _NotAMap(Exception):
    pass


class _Reader:
    """Goes through a map once."""

    def __init__(self) -> None:
        self.start = -1
        self.sections: list[InputSection] = []
        self.origins: list[str] = []
        self.steps: list[int | tuple[int, ...]] = []
        self._group: list[int] = []
        self._pattern = ""
        self._open: tuple[str, int, int, int] | None = None
        self._symbols: list[str] = []

    @property
    def text(self) -> Text:
        """The sections in the order of the map."""
        return Text(self.start, tuple(self.sections), tuple(self.steps), _index(self.sections))

    def read(self, lines: Sequence[str]) -> _Reader:
        for address, size, align, indent, what in _text_lines(lines):
            if indent == 0:
                self.start = address
            elif indent == 8 and (section := _INPUT.match(what)):
                self._section(section[1], address, size, align)
                self.origins.append(what)
            elif indent == 8:
                self._assignment(what)
            elif what and self._open:
                self._symbols.append(what)
        self._end_group()
        if not self.sections:
            raise _NotAMap("it shows no .text")
        self.sections = _with_aliases(self.sections, lines)
        return self

    def _section(self, name: str, address: int, size: int, align: int) -> None:
        self._end_section()
        pattern = _pattern(name)
        if pattern != self._pattern:
            self._end_group()
            self._pattern = pattern
        self._open = (name, address, size, align)

    def _assignment(self, what: str) -> None:
        self._end_group()
        if found := _ALIGN.match(what):
            self.steps.append(_value(found[1]))

    def _end_section(self) -> None:
        if self._open is None:
            return
        self._group.append(len(self.sections))
        file = self.origins[len(self.sections)].rpartition(":(")[0]
        self.sections.append(InputSection(*self._open, tuple(self._symbols), file))
        self._open = None
        self._symbols = []

    def _end_group(self) -> None:
        self._end_section()
        if self._group:
            self.steps.append(tuple(self._group))
        self._group = []
        self._pattern = ""


def _pattern(name: str) -> str:
    return next((word for word, names in _PATTERNS if names.match(name)), name)


def _lines(lines: Iterable[str]) -> Iterator[tuple[int, int, int, int, str]]:
    """(address, size, alignment, indentation, content) of the lines of a map."""
    for line in lines:
        if found := _LINE.match(line):
            yield int(found[1], 16), int(found[3], 16), int(found[4]), len(found[5]), found[6]


def _text_lines(lines: Iterable[str]) -> Iterator[tuple[int, int, int, int, str]]:
    """Those of `.text`."""
    inside = False
    for line in _lines(lines):
        *_, indent, what = line
        if indent == 0:
            if inside:
                return
            inside = what == _TEXT
        if inside:
            yield line


def _with_aliases(sections: Sequence[InputSection], lines: Iterable[str]) -> list[InputSection]:
    """With the names that the linker script gives to functions: an order may name these, too, and
    the linker moves the function to the first of all its names."""
    aliases: dict[str, list[str]] = {}
    for *_, what in _lines(lines):
        if found := _ALIAS.fullmatch(what):
            aliases.setdefault(found[2], []).append(found[1])
    alone = Counter(name for section in sections for name in section.symbols if name in aliases)
    return [
        replace(section, symbols=(*section.symbols, *more))
        if (more := [a for name in section.symbols if alone[name] == 1 for a in aliases[name]])
        else section
        for section in sections
    ]


def _value(expression: str) -> int:
    """Of a constant expression of the linker script: `16`, `((1) << 12)`; 0 aligns nothing."""
    try:
        if expression == "0":
            return 1
        value = _computed(ast.parse(expression, mode="eval").body)
    except SyntaxError:
        value = 0
    if value <= 0 or value & (value - 1):
        raise _NotAMap(f"its alignment {expression!r} is no power of two")
    return value


def _computed(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(value)) if value < _LARGEST:
            return value
        case ast.BinOp(left, ast.LShift(), right) if (by := _computed(right)) < 64:
            return _computed(left) << by
        case ast.BinOp(left, ast.Mult(), right):
            return _computed(left) * _computed(right)
    return 0


def _index(sections: Iterable[InputSection]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for number, section in enumerate(sections):
        for symbol in section.symbols:
            found.setdefault(symbol, []).append(number)
    return {symbol: tuple(numbers) for symbol, numbers in found.items()}
