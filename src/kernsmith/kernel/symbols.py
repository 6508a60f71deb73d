# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of a kernel, from its System.map: which of them a layout may move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^([0-9a-f]+) (\w) (\S+)$", re.MULTILINE)
# Marked parts of .text that the linker script groups for speed, not for correctness.
_MOVABLE_GROUPS = ("hot", "unlikely", "split")
_BOUNDS = ("_text", "_stext", "_etext")
_MARK = re.compile(r"^__(\w+?)_?text_(start|end)$")


@dataclass(frozen=True)
class Symbol:
    """A symbol of `System.map`; `kind` is nm's letter."""

    address: int
    kind: str
    name: str


def mark_of(name: str) -> tuple[str, str]:
    """Of a symbol like `__sched_text_start`: `sched` and `start`; else two empty words."""
    mark = _MARK.match(name)
    return (mark[1], mark[2]) if mark else ("", "")


def is_function(symbol: Symbol) -> bool:
    """Whether it is code, and no mark of the linker script's."""
    is_mark = symbol.name in _BOUNDS or _MARK.match(symbol.name)
    return symbol.kind in "tTwW" and not is_mark


def read_system_map(path: Path) -> list[Symbol]:
    """All symbols, by address."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return [Symbol(int(a, 16), kind, name) for a, kind, name in _LINE.findall(text)]


def code_symbols(listing: str) -> list[Symbol]:
    """The code symbols of an image, by address, from what `nm --print-size` lists.

    Of several at one address a function with a size comes first and a mark last. A label without a
    size inside of a function that has one is left out: its code is the function's.
    """
    fields = (line.split() for line in listing.splitlines())
    sized = [
        (int(found[1], 16), Symbol(int(found[0], 16), found[2], found[3]))
        for found in fields
        if len(found) == 4 and found[2] in "tTwW"
    ]
    sized.sort(key=lambda each: (each[1].address, not each[0], not is_function(each[1])))
    kept, end = [], 0
    for size, symbol in sized:
        if size or symbol.address >= end:
            kept.append(symbol)
        end = max(end, symbol.address + size)
    return kept


def movable_functions(symbols: Sequence[Symbol]) -> list[str]:
    """Names of the functions in `.text` that an order may move, by address, each once.

    Entry code, noinstr, scheduler, lock and interrupt text stay in the regions that the linker
    script has for them (`kernel.regions`): the kernel takes their bounds as meaningful.
    """
    bounds = {s.name: s.address for s in symbols if s.name in ("_stext", "_etext")}
    fixed = fixed_spans(symbols)
    names: dict[str, None] = {}
    for symbol in symbols:
        if not is_function(symbol):
            continue
        inside = bounds["_stext"] <= symbol.address < bounds["_etext"]
        if inside and not any(start <= symbol.address < end for start, end in fixed):
            names[symbol.name] = None
    return list(names)


def movable_end(symbols: Sequence[Symbol]) -> int:
    """Where the code begins that the linker script puts behind all functions that may move.

    0 when this kernel has no marks of such code.
    """
    marks = ("__noinstr_text_start", "__sched_text_start")
    return min((symbol.address for symbol in symbols if symbol.name in marks), default=0)


def fixed_spans(symbols: Sequence[Symbol]) -> list[tuple[int, int]]:
    """Address ranges (start, end) of the text that no order may move or take apart."""
    starts: dict[str, int] = {}
    spans = []
    for symbol in symbols:
        word, edge = mark_of(symbol.name)
        if not word or word in _MOVABLE_GROUPS:
            continue
        if edge == "start":
            starts[word] = symbol.address
        elif word in starts:
            spans.append((starts.pop(word), symbol.address))
    return sorted(span for span in spans if span[0] < span[1])


def text_span(system_map: Path) -> tuple[int, int]:
    """Addresses of the first byte of kernel code and of the one behind the last."""
    at = {symbol.name: symbol.address for symbol in read_system_map(system_map)}
    return at["_stext"], at["_etext"]


def entry_spans(system_map: Path) -> list[tuple[int, int]]:
    """Address ranges of entry code: where exceptions and interrupts come in."""
    at = {symbol.name: symbol.address for symbol in read_system_map(system_map)}
    names = ("entry", "irqentry")
    spans = [(at.get(f"__{n}_text_start", 0), at.get(f"__{n}_text_end", 0)) for n in names]
    return sorted(span for span in spans if span[0] < span[1])
