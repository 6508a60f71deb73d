# SPDX-License-Identifier: GPL-2.0-or-later
"""What a mixed kernel takes of the bad one, by name: whole objects, and functions of others.

`fs/pipe.o` is an object, `fs/pipe.o:anon_pipe_read` a function of it. An object of which functions
are taken is made of both kernels' (native/exchange): `fs/pipe.o:` is such an object with all
functions in the good kernel's form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernsmith._native import FunctionExchange
from kernsmith.errors import KernsmithError
from kernsmith.kernel.object_code import NoObject, changed_functions

UNCALLED = (".good", ".bad")
"""With what the symbols of forms end that are in a mixed object and that others do not call."""
_MARK = ":"


class NotExchangeable(KernsmithError):
    """Two objects of which no function can be exchanged; the text is the reason."""


@dataclass(frozen=True)
class Unit:
    """Functions that can be exchanged only together; mostly it is one.

    along: others that these call in the form that they have themselves: no other object sees these,
        and how they are called is their compiler's business.
    """

    functions: tuple[str, ...]
    along: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """One of the functions, by which the unit is taken."""
        return self.functions[0]


@dataclass(frozen=True)
class Exchange:
    """The functions of an object that can be exchanged by linking.

    kept: functions that differ and cannot be exchanged, each with the reason.
    """

    units: tuple[Unit, ...]
    kept: Mapping[str, str]


def function_of(name: str, function: str = "") -> str:
    """The name of an object's function; without one that of the object made of both kernels'."""
    return f"{name}{_MARK}{function}"


def by_object(taken: Collection[str]) -> dict[str, tuple[str, ...] | None]:
    """Which functions are taken of each object; None: the whole object is."""
    functions: dict[str, list[str]] = {}
    for each in taken:
        name, mark, function = each.partition(_MARK)
        if mark:
            functions.setdefault(name, []).extend([function] if function else [])
    whole = {each for each in taken if _MARK not in each}
    return {**dict.fromkeys(whole), **{name: tuple(each) for name, each in functions.items()}}


def exchange_of(good: Path, bad: Path) -> Exchange:
    """What can be exchanged between two compilations of an object.

    Raises:
        NotExchangeable: nothing can.
    """
    made = _native_exchange(good, bad)
    units = (Unit(tuple(functions), tuple(along)) for functions, along in made.units)
    return Exchange(tuple(units), made.kept)


def mixed_object(good: Path, bad: Path, functions: Collection[str]) -> bytes:
    """The good object with these functions, and what goes together with them, in the bad form.

    Raises:
        NotExchangeable: one of them cannot be exchanged.
    """
    try:
        return _native_exchange(good, bad).mixed(sorted(functions))
    except ValueError as error:
        raise NotExchangeable(str(error)) from None


def _native_exchange(good: Path, bad: Path) -> FunctionExchange:
    try:
        differing = changed_functions(good, bad)
        return FunctionExchange(good.read_bytes(), bad.read_bytes(), differing)
    except (ValueError, NoObject) as error:
        raise NotExchangeable(str(error)) from None
