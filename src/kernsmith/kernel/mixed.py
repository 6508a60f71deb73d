# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects of two kernels linked as one: a mixed kernel, made without compiling anything.

kbuild's link takes `vmlinux.a`, a thin archive with the names of all objects in their order. A
mixed kernel is linked by the rules of one of the two kernels, its *base*, with a list in the place
of that archive which names some objects in the output of the other. The tables that a link makes
itself (symbols, exceptions) are the mixed kernel's own; what is linked beside the archive (exports,
the version's text, libraries of older sources) is the base's. Of an object, functions alone may be
the bad kernel's: it is made of both kernels' objects.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernsmith import process
from kernsmith.errors import UserError
from kernsmith.files import locked
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, file_digest
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.exchange import Exchange, by_object, exchange_of, mixed_object
from kernsmith.kernel.link import keep_link, mirror_output, ordered_flags, run_link
from kernsmith.kernel.link_map import as_given, mapped
from kernsmith.kernel.mixable import refuse_mix
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.study.objects import regex_of
from kernsmith.study.steps import step_symbols

_ARCHIVE = "vmlinux.a"
MIXED = "mixed-objects"
"""The folder, in a link's, of objects that are made of both kernels'."""
_LIST_SECONDS = 60
_SHOWN = 5


@dataclass(frozen=True)
class Pair:
    """Two kernels of one source whose objects can stand in for each other.

    among: patterns of the objects that are exchanged; the others stay the good kernel's. Without
        any, all are.
    """

    good: Kernel
    bad: Kernel
    among: tuple[str, ...] = ()

    def check(self) -> None:
        """That objects of both can be linked into one kernel.

        Raises:
            UserError: they cannot; one sentence with the reason.
        """
        refuse_mix(self.good, self.bad)
        here, there = set(self.objects), set(objects_of(self.bad))
        if alone := sorted(here ^ there):
            more = ", …" if len(alone) > _SHOWN else ""
            raise UserError(
                f"the two kernels do not consist of the same objects: only one of them has "
                f"{', '.join(alone[:_SHOWN])}{more}"
            )
        self.check_among()

    def check_among(self) -> None:
        """That there is something to exchange for each of the patterns.

        Raises:
            UserError: there is not.
        """
        for pattern in self.among:
            fit = self._fitting((pattern,))
            if not fit:
                raise UserError(f"no object of the kernels is called {pattern}")
            if not any(name in self.suspects for name in fit):
                raise UserError(f"both kernels have the same objects for {pattern}")

    @property
    def base(self) -> Kernel:
        """The kernel by whose rules mixes are linked: the good one, unless only the other's linker
        script knows the sections of a profile's step."""
        good, bad = (_step_symbols(kernel) for kernel in (self.good, self.bad))
        return self.bad if bad - good else self.good

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """All objects, as kbuild names them, in the order of the link."""
        return objects_of(self.good)

    @cached_property
    def suspects(self) -> tuple[str, ...]:
        """Those of which the two kernels have files that differ, in the order of the link."""
        good, bad = self.good.output, self.bad.output
        names = self._fitting(self.among) if self.among else self.objects
        return tuple(name for name in names if _differ(good / name, bad / name))

    def _fitting(self, patterns: Sequence[str]) -> tuple[str, ...]:
        regexes = [regex_of(pattern) for pattern in patterns]
        return tuple(name for name in self.objects if any(r.fullmatch(name) for r in regexes))

    def link(
        self,
        taken: Collection[str],
        target: Path,
        order: Sequence[str] = (),
        *,
        with_map: bool = False,
    ) -> Path:
        """Link the good kernel with some objects of the bad one; returns the `vmlinux`.

        taken: names of the objects that are the bad kernel's, and of functions of others, as
            `kernel.exchange` names them. target: a folder for `vmlinux` and
            `System.map`; what was there is replaced.
        order: functions, first to last; those that it does not name follow.
        with_map: sections stay as they are given to the linker, and its map, `map`, is in the
            folder: what replays in other orders begin with.

        Raises:
            LinkFailed: the linker or a table tool ended with an error.
        """
        work = target.with_name(f".{target.name}")
        work.parent.mkdir(parents=True, exist_ok=True)
        with locked(work.with_name(f".{target.name}.lock")):
            for folder in (work, target):
                shutil.rmtree(folder, ignore_errors=True)
            work.mkdir()
            try:
                mirror_output(self.base.output, work)
                (work / _ARCHIVE).unlink(missing_ok=True)
                paths = self._paths(taken, work / MIXED)
                (work / _ARCHIVE).write_text(_input_list(paths), encoding="utf-8")
                flags = ordered_flags(self.base, work, list(order))
                if with_map:
                    flags += [*as_given(self.base), *mapped(work)]
                run_link(self.base, work, *flags)
                keep_link(work, target, *(["map"] if with_map else []))
            finally:
                shutil.rmtree(work, ignore_errors=True)
        return target / "vmlinux"

    def exchange(self, name: str) -> Exchange:
        """Which functions of an object can be taken.

        Raises:
            NotExchangeable: none can.
        """
        return exchange_of(self.good.output / name, self.bad.output / name)

    def _paths(self, taken: Collection[str], folder: Path) -> Iterator[Path]:
        """The files of all objects. folder: for those that are made of both kernels'."""
        parts = by_object(taken)
        for name in self.objects:
            good, bad = self.good.output / name, self.bad.output / name
            functions = parts.get(name, ())
            if name not in parts:
                yield good
            elif functions is None:
                yield bad
            else:
                made = folder / name
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_bytes(mixed_object(good, bad, functions))
                yield made


def short_key(kernel: Kernel) -> str:
    """So much of a kernel's key as its folder is named by."""
    return kernel.key[:FOLDER_LETTERS]


def _input_list(paths: Iterable[Path]) -> str:
    """Files for the linker, in the place of an archive of them: a linker script with one command,
    which `ld` and `lld` take where they expect a file (ld's manual, "Implicit Linker Scripts")."""
    return "INPUT(\n" + "".join(f'"{path}"\n' for path in paths) + ")\n"


def objects_of(kernel: Kernel) -> tuple[str, ...]:
    """The members of the archive of all objects."""
    archiver = find_toolchain(kernel.provenance["variant"]["compiler"]).tool("llvm-ar")
    listed = process.run(
        [archiver, "t", _ARCHIVE], timeout=_LIST_SECONDS, cwd=kernel.output, merge=False
    )
    return tuple(dict.fromkeys(listed.output.splitlines()))


def _differ(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return True
    return file_digest(one) != file_digest(other)


def _step_symbols(kernel: Kernel) -> set[str]:
    symbols = parse_config((kernel.folder / "config").read_text(encoding="utf-8"))
    return {symbol for symbol in step_symbols() if symbols.get(symbol) == "y"}
