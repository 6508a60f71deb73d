# SPDX-License-Identifier: GPL-2.0-or-later
"""What `-march=` can name: x86-64 levels and processors, and which compilers take them.

The data and their sources are in `catalogue.toml`; this module reads and checks it, once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

FAMILIES = ("gcc", "clang")

# Major and minor number of a compiler's release.
Release = tuple[int, int]


def parse_release(text: str) -> Release:
    """`13.1` → (13, 1); further numbers are left out. Raises ValueError."""
    found = re.match(r"(\d+)\.(\d+)(?!\d)", text)
    if found is None:
        raise ValueError(f"{text!r} is no release: write it as 13.1")
    return int(found[1]), int(found[2])


@dataclass(frozen=True)
class Models:
    """CPUID models, and of each of them steppings, of one family."""

    family: int
    models: tuple[tuple[int, int], ...]
    steppings: tuple[int, int] = (0, 15)

    def holds(self, family: int, model: int, stepping: int) -> bool:
        return (
            family == self.family
            and any(first <= model <= last for first, last in self.models)
            and self.steppings[0] <= stepping <= self.steppings[1]
        )


def parse_models(text: str) -> Models:
    """`19/10-1F,60-AF` (family/models, hexadecimal) and `6/55:0-4` (steppings) → Models."""
    found = re.fullmatch(r"([0-9A-F]+)/([0-9A-F,-]+)(?::([0-9A-F-]+))?", text)
    if found is None:
        raise ValueError(f"{text!r}: write it as FAMILY/MODEL-MODEL,MODEL:STEPPING-STEPPING")
    steppings = _range(found[3]) if found[3] else (0, 15)
    return Models(int(found[1], 16), tuple(map(_range, found[2].split(","))), steppings)


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    return int(first, 16), int(last if dash else first, 16)


_Release = Annotated[Release, BeforeValidator(parse_release)]
_Models = Annotated[Models, BeforeValidator(parse_models)]


class Target(BaseModel):
    """A word for `-march=`.

    level: the x86-64 level (1 to 4) that is reached.
    gcc, clang: the release of each branch that took the word first, ascending; from the last one
        on all releases take it. Empty: none does.
    gcc_until: the first release of gcc that takes it no more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    march: str
    level: int = Field(ge=1, le=4)
    gcc: tuple[_Release, ...] = ()
    clang: tuple[_Release, ...] = ()
    gcc_until: _Release | None = None

    def releases(self, family: str) -> tuple[Release, ...]:
        """First releases of the compiler family `gcc` or `clang`."""
        return self.gcc if family == "gcc" else self.clang

    def until(self, family: str) -> Release | None:
        """The first release of a family that takes the word no more."""
        return self.gcc_until if family == "gcc" else None


class Level(Target):
    """An x86-64 level of the psABI. adds: the instructions beyond the level below."""

    adds: str


class Cpu(Target):
    """A processor.

    name, products: its name, and what it is sold as.
    aliases: other words that compilers take for it.
    cpuid: how it identifies itself; None when that is not known.
    apx: compilers use APX for it: 16 more registers.
    """

    name: str
    products: str
    aliases: tuple[str, ...] = ()
    cpuid: _Models | None = None
    apx: bool = False

    @property
    def family(self) -> str:
        """The CPU family as its maker writes it: `19h` (AMD, hexadecimal), `6`; or empty."""
        if self.cpuid is None:
            return ""
        return f"{self.cpuid.family:02X}h" if self.cpuid.family > 9 else str(self.cpuid.family)


class Group(BaseModel):
    """The processors of one line of a maker, oldest first. vendors: their CPUID vendor strings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    maker: str
    vendors: tuple[str, ...]
    cpus: tuple[Cpu, ...]


class Catalogue(BaseModel):
    """All that can be compiled for. oldest: compilers before these are not told apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    oldest: dict[str, _Release]
    levels: tuple[Level, ...] = Field(alias="level")
    groups: tuple[Group, ...] = Field(alias="group")

    def cpus(self) -> Iterator[Cpu]:
        """Every processor."""
        for group in self.groups:
            yield from group.cpus

    def targets(self) -> Iterator[Target]:
        """Every level and every processor."""
        yield from self.levels
        yield from self.cpus()

    def find(self, march: str) -> Target | None:
        """What a word or an alias names."""
        for target in self.targets():
            if march == target.march or (isinstance(target, Cpu) and march in target.aliases):
                return target
        return None

    def identify(self, vendor: str, family: int, model: int, stepping: int) -> Cpu | None:
        """The processor with this CPUID identity: the narrowest entry that holds it."""
        found = [
            cpu
            for group in self.groups
            if vendor in group.vendors
            for cpu in group.cpus
            if cpu.cpuid is not None and cpu.cpuid.holds(family, model, stepping)
        ]
        return min(found, key=_breadth, default=None)


def _breadth(cpu: Cpu) -> int:
    assert cpu.cpuid is not None
    return sum(last - first for first, last in cpu.cpuid.models)


@cache
def read_catalogue() -> Catalogue:
    """The catalogue. Raises pydantic.ValidationError when `catalogue.toml` is wrong."""
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return TypeAdapter(Catalogue).validate_python(tomllib.loads(text))
