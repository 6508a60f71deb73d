# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel configurations: a fragment over `tinyconfig`, checked symbol by symbol."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.foreign import one_line, read_text
from kernsmith.paths import shipped
from kernsmith.study.config_word import KINDS
from kernsmith.study.factors.config_symbol import VALUES, is_value

_SET = re.compile(r"^CONFIG_(\w+)=(.*)$")
_UNSET = re.compile(r"^# CONFIG_(\w+) is not set$")
# What arch/Kconfig offers beside LTO_NONE.
LTO_SYMBOLS = ("LTO_CLANG_THIN", "LTO_CLANG_FULL", "LTO_CLANG_THIN_DIST")
# Of these one is set where kbuild has the compiler write debug information.
DEBUG_INFO_SYMBOLS = (
    "DEBUG_INFO", "DEBUG_INFO_DWARF4", "DEBUG_INFO_DWARF5", "DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT",
)  # fmt: skip
_WRITTEN = "# Automatically generated file; DO NOT EDIT."
# A comment of a fragment: what it asks for in trees that are older than one of its symbols.
_OLDER = re.compile(r"^# without CONFIG_(\w+): CONFIG_(\w+)=(.*)$", re.MULTILINE)
# A comment of a fragment: the shipped fragment that it is laid over.
_OVER = re.compile(r"^# over[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_LOADS = re.compile(r"^# loads: (.+)$", re.MULTILINE)
_OBJECTS = re.compile(r"^# objects: (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Added:
    """A config symbol that is set otherwise than in the config that a user named, and why."""

    symbol: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"CONFIG_{self.symbol}={self.value}"


@dataclass(frozen=True)
class Fragment:
    """Requested config symbols.

    symbols: name without `CONFIG_` → value (`y`, `n`, `m`, a number, a quoted string).
    objects: how many objects such a kernel compiles, for progress; 0 when unknown.
    older: for some symbols, another one with its value that takes their place in trees that do not
        have them.
    modules: names of those that the guest loads.
    origin: of a distribution's, where it comes from, for people; empty for shipped ones and files.
    added: what of `symbols` is not that config's own.
    only_modules: names of the only modules that are to be built (`make localmodconfig`); None: all
        that it has.
    """

    name: str
    symbols: Mapping[str, str]
    objects: int
    complete: bool
    older: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    origin: str = ""
    added: tuple[Added, ...] = ()
    only_modules: tuple[str, ...] | None = None

    def symbols_in(self, tree: Path) -> dict[str, str]:
        """What it asks of a tree."""
        symbols = dict(self.symbols)
        for absent in absent_symbols(self.older, tree) if self.older else ():
            symbols.pop(absent, None)
            symbols |= [self.older[absent]]
        return symbols


def read_fragment(name: str) -> Fragment:
    """A shipped fragment by its name (`lab`), or any file by its path.

    A file that Kconfig itself wrote (its header says so) is a complete `.config`: it is taken as
    it is instead of being laid over `tinyconfig`. Modules to load are named by a comment:
    `# loads: NAME NAME`.

    Raises:
        UserError: no such config (the message lists those that are shipped), a value in it that
            make or a shell would expand, or a comment `# over` that names no shipped one.
    """
    path = (
        Path(name) if "/" in name or Path(name).is_file() else shipped("configs", f"{name}.config")
    )
    text = read_text(path, "the config") if path.is_file() else ""
    if not text:
        raise UserError(
            f"there is no config {name!r}: allowed are {', '.join(_shipped_names())}, {KINDS}, or "
            "the path of a file"
        )
    symbols = parse_config(text)
    if not symbols:
        raise UserError(f"{path} sets no config symbol")
    older = {absent: (symbol, value) for absent, symbol, value in _OLDER.findall(text)}
    for symbol, value in (*symbols.items(), *older.values()):
        if not is_value(value):
            raise UserError(f"{path} sets CONFIG_{symbol} to {value[:80]!r}: {VALUES}")
    count = _OBJECTS.search(text)
    objects = int(count[1]) if count else 0
    modules = tuple(name for names in _LOADS.findall(text) for name in names.split())
    if over := _OVER.search(text):
        base = _base(path, over[1])
        symbols, older = {**base.symbols, **symbols}, {**base.older, **older}
        modules = modules or base.modules
    return Fragment(name, symbols, objects, _WRITTEN in text, older, modules)


def _base(path: Path, name: str) -> Fragment:
    """The shipped fragment that the file's comment `# over NAME` names."""
    names = _shipped_names()
    if name not in names:
        raise UserError(
            f"{path}: the comment '# over {one_line(name)}' names no shipped config: allowed are "
            f"{', '.join(names)}, with nothing behind the name"
        )
    return read_fragment(str(shipped("configs", f"{name}.config")))


def _shipped_names() -> list[str]:
    return sorted(path.stem for path in shipped("configs").glob("*.config"))


def parse_config(text: str) -> dict[str, str]:
    """Symbols and values of a `.config`; symbols that are "not set" have the value `n`."""
    symbols = {}
    for line in text.splitlines():
        if match := _SET.match(line.strip()):
            symbols[match[1]] = match[2]
        elif match := _UNSET.match(line.strip()):
            symbols[match[1]] = "n"
    return symbols


def render_config(symbols: Mapping[str, str]) -> str:
    """The text of a fragment with these symbols."""
    lines = [
        f"# CONFIG_{name} is not set" if value == "n" else f"CONFIG_{name}={value}"
        for name, value in symbols.items()
    ]
    return "\n".join(lines) + "\n"


class ConfigRefused(UserError):
    """Config symbols that a source does not have or that Kconfig did not take, all of them."""


def check_config(requested: Mapping[str, str], effective: str, source: Path) -> None:
    """That every requested symbol survived `olddefconfig`.

    effective: text of the `.config` that Kconfig wrote.

    Raises:
        ConfigRefused: symbols that do not exist in this source, or that Kconfig dropped or changed
            (their dependencies are not met), all of them named.
    """
    got = parse_config(effective)
    wrong = {name: v for name, v in requested.items() if got.get(name, "n") != v}
    if not wrong:
        return
    known = kconfig_symbols(source)
    absent = absent_symbols(wrong, source)
    dropped = [
        f"CONFIG_{name}={wrong[name]} (got {got.get(name, 'n')})"
        for name in sorted(wrong)
        if name in known
    ]
    problems = []
    if absent:
        problems.append(no_symbols(absent))
    if dropped:
        problems.append(
            f"Kconfig did not take {', '.join(dropped)}: their dependencies are not met"
        )
    raise ConfigRefused("; ".join(problems))


def absent_symbols(symbols: Iterable[str], source: Path) -> list[str]:
    """Those of the config symbols that a source does not have, sorted."""
    known = kconfig_symbols(source)
    return sorted(name for name in symbols if name not in known)


def no_symbols(absent: Iterable[str]) -> str:
    """The sentence about config symbols that a source does not have."""
    names = ", ".join(f"CONFIG_{name}" for name in absent)
    return f"this source has no config symbol {names}"


@cache
def kconfig_symbols(source: Path) -> frozenset[str]:
    """All config symbols that the Kconfig files of a source define."""
    symbols: set[str] = set()
    pattern = re.compile(r"^\s*(?:menu)?config\s+(\w+)", re.MULTILINE)
    for path in source.rglob("Kconfig*"):
        if path.is_file():
            symbols.update(pattern.findall(path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(symbols)
