# SPDX-License-Identifier: GPL-2.0-or-later
"""A variant is one way to build a source: a frozen value without files or processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from kernsmith.study.layout import RANDOM, LayoutLevel
from kernsmith.study.links import LinkRule
from kernsmith.study.objects import ObjectRule
from kernsmith.study.steps import (
    HOT,
    IDLE,
    Told,
    find_step_kind,
    line_table_symbols,
    spared_symbols,
    step_symbols,
)


@dataclass(frozen=True)
class Step:
    """One stage of profile-guided building, as a variant asks for it.

    kind: the name of its module in `study.steps` (`autofdo`).
    train: names of the workloads whose exact branch counts are used, in catalogue order.
    files: a profile that the user brings; empty when kernsmith trains.
    unseen_is_cold: a function without counts in an exact profile never runs, the compiler is told.
    hot: the share of all execution that hot blocks make up.
    period: every so many taken branches of the kernel are a sample in training, as hardware takes
        them; 0: all are counted.
    """

    kind: str
    train: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unseen_is_cold: bool = False
    period: int = 0
    hot: float = HOT

    @property
    def told(self) -> Told:
        """How its profile is to be read."""
        return Told(self.unseen_is_cold, self.hot)


# Behind the name of variants that are trained in folds, where they are judged together.
HELD_OUT = ", held out"
# The architecture of variants that name none.
ARCH = "x86_64"
# What identities leave out where it is so: variants were there before these fields.
_ADDED_LATER = (("arch", ARCH), ("trains", ""), ("modules", None), ("objects", ()), ("links", ()))
# Config symbols that change the flags of every file.
_TOLD_TO_ALL = (
    "AUTOFDO_CLANG", "CC_OPTIMIZE_FOR_PERFORMANCE", "CC_OPTIMIZE_FOR_SIZE", "LTO_CLANG_FULL",
    "LTO_CLANG_THIN", "LTO_CLANG_THIN_DIST", "LTO_NONE", "PROPELLER_CLANG",
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """Everything that decides what the compiler and the linker are told.

    source and config are kept as the user wrote them (`debian:7.3`, `lab`); the kernel that is
    built from a variant is addressed by their content, not by these words.

    compiler, linker: as a study names them (`gcc-12`, `lld-19`); an empty compiler is the newest
        clang that is installed, an empty linker the one that belongs to the compiler.
    arch: the architecture, by its name in `kernsmith.arch`.
    options: kernel config symbols without `CONFIG_` and their values, sorted by symbol.
    flags: what is added to KCFLAGS, in order.
    steps: profile-guided stages; each is trained on the kernel of those before it.
    layout: in which orders of functions it is linked; the kernel itself has the objects' own.
    trains: the kind of step that its kernel has counters for and is run to train, and nothing
        else; empty for kernels as they are used.
    modules: names of the modules that its guest loads; None: those that its config names.
    objects: rules for those that are compiled in another way, in order.
    links: rules for links that are done in another way, in order.
    label: a name that changes nothing in the kernel; two labels draw different layouts.
    without: workloads that others of its kind are trained on and this one is not: those that it is
        judged by (see `study.folds`); empty: all of the study's.
    levels: the factor levels that made this variant, for tables, files by their short names (see
        `study.places`); not part of its identity.
    given_name: what the study calls it, or for what it is only trained on; likewise. Empty: its
        levels are its name.
    """

    source: str
    config: str
    compiler: str = ""
    linker: str = ""
    arch: str = ARCH
    options: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    trains: str = ""
    layout: LayoutLevel = RANDOM
    modules: tuple[str, ...] | None = None
    objects: tuple[ObjectRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    label: str = ""
    without: tuple[str, ...] = field(default=(), compare=False)
    levels: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    given_name: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """Short name for tables: `profile=autofdo march=znver3`, or `default` without factors; of a
        kernel that is only trained on, the step that is."""
        name = self._whole_name
        return f"{name} without {', '.join(self.without)}" if self.without else name

    @property
    def judged_as(self) -> str:
        """What verdicts call it: its name, or that of all variants that leave workloads out."""
        return f"{self._whole_name}{HELD_OUT}" if self.without else self._whole_name

    @property
    def _whole_name(self) -> str:
        return self.given_name or self.trains or name_of_levels(self.levels)

    def is_judged_by(self, workload: str) -> bool:
        """Whether it is measured on a workload of the study."""
        return not self.without or workload in self.without

    def with_option(self, symbol: str, value: str) -> Variant:
        """The same variant with one config symbol set."""
        options = dict(self.options) | {symbol: value}
        return replace(self, options=tuple(sorted(options.items())))

    def with_flags(self, *flags: str) -> Variant:
        """The same variant with flags appended to KCFLAGS."""
        return replace(self, flags=(*self.flags, *flags))

    @property
    def last_trained(self) -> Step | None:
        """The last of its steps that has a profile."""
        trained = [step for step in self.steps if find_step_kind(step.kind).trained]
        return trained[-1] if trained else None

    @property
    def trainer(self) -> Variant | None:
        """The variant whose kernel is run to train `last_trained`; None where nothing is trained.

        It has the steps before that one, and counters where that one wants them. Of config symbols
        that tools read it has line tables, and those of these steps and of the trained one: what
        only a later step must be trained with makes no kernel of its own here.
        """
        step = self.last_trained
        if step is None:
            return None
        at = len(self.steps) - 1 - self.steps[::-1].index(step)
        kinds = [find_step_kind(step.kind) for step in self.steps]
        read = {symbol for kind in kinds[: at + 1] for symbol in kind.symbols}
        read |= set(line_table_symbols())
        later = {option for kind in kinds[at:] for option in kind.options}
        later -= {option for kind in kinds[:at] for option in kind.options}
        counts = kinds[at].instrument is not None and not step.files
        options = tuple(
            option
            for option in self.options
            if option not in later and (option[0] in read or option[0] not in step_symbols())
        )
        trains = step.kind if counts else ""
        name = "" if counts else f"to train {step.kind}"
        steps = self.steps[:at]
        return replace(self.unnamed, steps=steps, options=options, trains=trains, given_name=name)

    @property
    def unnamed(self) -> Variant:
        """The variant without what does not distinguish kernels."""
        return replace(self, layout=RANDOM, label="", without=(), levels=(), given_name="")

    @property
    def code(self) -> tuple[object, ...]:
        """What every file is compiled with: kernels that differ in it have no object in common."""
        of_all_files = tuple(option for option in self.options if option[0] in _TOLD_TO_ALL)
        return self.arch, self.compiler, self.flags, of_all_files, self.steps, self.trains

    @property
    def idle_code(self) -> tuple[object, ...]:
        """The same of objects of which nothing ran in training: kernels that have it in common have
        these, if their config changes nothing in them."""
        if not any(IDLE in find_step_kind(step.kind).suffixes for step in self.steps):
            return self.code
        steps = tuple(step for step in self.steps if not find_step_kind(step.kind).spares_idle)
        options = tuple(option for option in self.options if option[0] not in spared_symbols())
        return replace(self, steps=steps, options=options).code

    @property
    def contents(self) -> tuple[object, ...]:
        """What code there is to be compiled: kernels that differ in it can do different things."""
        how = {*_TOLD_TO_ALL, *step_symbols(), *line_table_symbols()}
        options = tuple(option for option in self.options if option[0] not in how)
        return self.arch, self.source, self.config, options, self.modules

    def identity(self) -> dict[str, Any]:
        """What distinguishes kernels: everything but names for people."""
        fields = asdict(self)
        for name in ("layout", "label", "without", "levels", "given_name"):
            del fields[name]
        fields["objects"] = tuple(rule.identity() for rule in self.objects)
        fields["links"] = tuple(rule.identity() for rule in self.links)
        for name, usual in _ADDED_LATER:
            if fields[name] == usual:
                del fields[name]
        for step in fields["steps"]:
            for name, value in (("period", 0), ("hot", HOT)):
                if step[name] == value:
                    del step[name]
        return fields


def name_of_levels(levels: Iterable[tuple[str, str]]) -> str:
    """What a variant without a name of its own is called, by its factor levels."""
    return " ".join(f"{factor}={level}" for factor, level in levels) or "default"


def digest_of(value: object) -> str:
    """SHA-256 in hexadecimal of a JSON-able value, independent of key order."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
