# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's code in parts: each of one symbol, and of one function of the source with all that it
is inlined in."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernsmith._native import source_functions
from kernsmith.arch import architectures
from kernsmith.files import write_text
from kernsmith.kernel.artifact import load_kernel
from kernsmith.kernel.module_code import Spans, code_spans, module_image, module_symbols
from kernsmith.kernel.symbols import Symbol, is_function, read_system_map
from kernsmith.machine import Outcome

UNKNOWN = "?"
"""The name of code in front of all symbols."""


@dataclass(frozen=True)
class KernelCode:
    """Parts, and where they are.

    starts: addresses at which another part begins, sorted; parts: the number of that part.
    symbols: by part, without a compiler's suffix. frames: by part, its place in `tree`.
    tree: functions, each with the place of the one that it is inlined in, and its number.
    functions: names by that number. by_source: whether the kernel has debug information; without,
    functions are symbols. switches: addresses where threads are switched.
    """

    starts: Sequence[int]
    parts: Sequence[int]
    symbols: Sequence[str]
    frames: Sequence[int]
    tree: Sequence[tuple[int | None, int]]
    functions: Sequence[str]
    by_source: bool
    switches: Sequence[int]

    def source(self, part: int) -> str:
        """The function of the source that a part is of."""
        return self.functions[self.tree[self.frames[part]][1]]


def read_code(folder: Path, places: Path | None = None) -> KernelCode:
    """The code of the kernel in a folder.

    places: a file that says where its modules were (see `note_modules`); their functions have the
        module's name behind their own: `FUNCTION [MODULE]`.
    """
    noted = places.read_text(encoding="utf-8") if places and places.exists() else ""
    return _read_code(folder, noted)


@lru_cache(maxsize=2)
def _read_code(folder: Path, noted: str) -> KernelCode:
    """noted: what the file says of the modules; workloads that have loaded none share the code."""
    symbols = [each for each in read_system_map(folder / "System.map") if is_function(each)]
    source = _source(folder / "vmlinux")
    for name, spans in _loaded(folder, noted).items():
        symbols += module_symbols(folder, {name: spans})
        if source.spans:
            source = source.with_module(name, spans, folder)
    return _Parts(symbols, source.names, source.frames).code(source.spans)


def note_modules(outcome: Outcome, places: Path) -> None:
    """Keep where a boot had the modules of its kernel, if any."""
    if outcome.modules:
        write_text(places, json.dumps(outcome.modules))


def _loaded(folder: Path, noted: str) -> Mapping[str, Spans]:
    kernel = load_kernel(folder) if noted else None
    return code_spans(kernel, json.loads(noted)) if kernel else {}


@dataclass(frozen=True)
class _Source:
    """What `source_functions` tells of an image: names, frames, and stretches of code."""

    names: list[str]
    frames: list[tuple[int | None, int]]
    spans: list[tuple[int, int, int]]

    def with_module(self, name: str, spans: Spans, folder: Path) -> _Source:
        """With the functions of a module that the kernel in a folder had there."""
        kernel = load_kernel(folder)
        assert kernel is not None
        own = _source(module_image(kernel, name, spans))
        names, frames = len(self.names), len(self.frames)
        inside = [
            (first, end, frame + frames)
            for first, end, frame in own.spans
            if any(start <= first < behind for start, behind in spans.values())
        ]
        moved = [
            (None if outer is None else outer + frames, function + names)
            for outer, function in own.frames
        ]
        return _Source(
            names=[*self.names, *(f"{each} [{name}]" for each in own.names)],
            frames=[*self.frames, *moved],
            spans=sorted([*self.spans, *inside]),
        )


def _source(image: Path) -> _Source:
    try:
        return _Source(*source_functions(image))
    except ValueError:
        return _Source([], [], [])


class _Parts:
    """Numbers parts, functions and frames, each once."""

    def __init__(
        self,
        symbols: Sequence[Symbol],
        names: Sequence[str],
        frames: Sequence[tuple[int | None, int]],
    ) -> None:
        self._symbols = sorted((each.address, each.name) for each in symbols)
        self._functions: dict[str, int] = {}
        self._tree = [(outer, self._function(names[name])) for outer, name in frames]
        self._alone: dict[str, int] = {}

    def code(self, spans: Sequence[tuple[int, int, int]]) -> KernelCode:
        known = [address for address, _ in self._symbols]
        begins = [begin for begin, _, _ in spans]
        starts = sorted({*known, *begins, *(end for _, end, _ in spans)})
        numbers: dict[tuple[str, int], int] = {}
        parts = []
        for address in starts:
            symbol = self._symbol(known, address)
            at = bisect_right(begins, address) - 1
            inside = at >= 0 and address < spans[at][1]
            frame = spans[at][2] if inside else self._alone_frame(symbol)
            parts.append(numbers.setdefault((symbol, frame), len(numbers)))
        switching = {arch.switch for arch in architectures().values()}
        return KernelCode(
            starts=starts,
            parts=parts,
            symbols=[symbol for symbol, _ in numbers],
            frames=[frame for _, frame in numbers],
            tree=self._tree,
            functions=list(self._functions),
            by_source=bool(spans),
            switches=[address for address, name in self._symbols if name in switching],
        )

    def _symbol(self, known: Sequence[int], address: int) -> str:
        at = bisect_right(known, address) - 1
        if at < 0:
            return UNKNOWN
        name, _, module = self._symbols[at][1].partition(" ")
        # .llvm.123, .cold, .constprop.0: of the same function of the source.
        own = name.partition(".")[0] or UNKNOWN
        return f"{own} {module}" if module else own

    def _function(self, name: str) -> int:
        return self._functions.setdefault(name, len(self._functions))

    def _alone_frame(self, symbol: str) -> int:
        """Of code without debug information: the symbol is the function."""
        if symbol not in self._alone:
            self._alone[symbol] = len(self._tree)
            self._tree.append((None, self._function(symbol)))
        return self._alone[symbol]
