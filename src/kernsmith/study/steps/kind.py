# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kind of step is: the words in which a build is told about it and its profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

IDLE = ".idle"
"""With what the file of a profile ends that lists the objects of which nothing ran."""
HOT = 0.9
"""The share of all executed blocks that the hot ones make up, where a variant does not say."""


@dataclass(frozen=True)
class Told:
    """What a variant says of how a profile is to be read.

    unseen_is_cold: functions that it has no counts of are cold.
    hot: the blocks that are executed most are hot, up to this share of all execution.
    """

    unseen_is_cold: bool = False
    hot: float = HOT


USUAL = Told()


@dataclass(frozen=True)
class Instrumentation:
    """How a kernel gets counters in it.

    variables: what kbuild is told, as (name, value).
    script: extends the kernel's linker script (`INSERT`): says where the counters lie.
    """

    variables: tuple[tuple[str, str], ...]
    script: str


@dataclass(frozen=True)
class Backport:
    """How a step is done in trees that are older than the config symbol for it.

    symbol: what they lack.
    flags: what each object of the kernel and of its modules is compiled with, as the symbol's
        Makefile has it in newer trees. Arguments: the files of the profile (none for the kernel
        that is trained on), and whether kbuild has debug information written anyway.
    section: of those objects, one that the linker script must keep; empty without one.
    oldest_clang: major version of the oldest clang that takes the flags.
    """

    symbol: str
    flags: Callable[[tuple[str, ...], bool], tuple[str, ...]]
    section: str = ""
    oldest_clang: int = 0


@dataclass(frozen=True)
class StepKind:
    """One stage of profile-guided building.

    name: the word for it in a level of the factor `profile`. title: as its makers write it.
    symbols: config symbols that variants have with the step, and those to train on, too: they add
        what tools read, and nothing to the code.
    options: config symbols and values that kernels have with the step and, unlike `symbols`, not
        those that it is trained on.
    oldest_clang: major version of the oldest clang that does it well.
    oldest_gcc: the same of gcc; 0 where no gcc does, if `oldest_clang` is not 0.
    trained: whether it has a profile, which is made of a run on the kernel of the steps before it.
    suffixes: of the files that its profile consists of, in order: with what their names end, behind
        a part that they have in common.
    spares_idle: whether objects of which nothing ran are compiled as without it, once a step before
        or the step itself has listed them (`IDLE`, native/compiler/src/idle.rs).
    two_ways: places among these files of two of which a build reads one: that in which functions
        are cold that it has no counts of, and that in which they are compiled as without a profile.
    make_variables: from the paths of the files that are read to what kbuild is told, as
        (name, value).
    flags: what the compiler is told beside the profile.
    symbol_order: which of the files is an order of functions for the linker, if one is.
    relinks: whether it is nothing but that order: no object is compiled again, and it is the last
        step. The order is found with traces of the training workloads.
    rewrites: whether it changes the linked kernel: no object is compiled again, and it is the last
        step, too.
    instrument: how the kernel that is trained on gets counters; the arguments are the family of the
        compiler (`clang`, `gcc`) and the instruction that returns from a function. None where it is
        the kernel of the steps before as it is.
    instead_of: other kinds of which the compiler would not read a profile beside this one's.
    backport: what stands in for a config symbol that older trees lack; None: they lack the step.
    """

    name: str
    title: str
    description: str
    symbols: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    oldest_clang: int = 0
    trained: bool = True
    suffixes: tuple[str, ...] = ()
    spares_idle: bool = False
    two_ways: tuple[int, int] | None = None
    make_variables: Callable[[tuple[str, ...]], tuple[tuple[str, str], ...]] = lambda files: ()
    flags: Callable[[Told], tuple[str, ...]] = lambda told: ()
    symbol_order: int | None = None
    relinks: bool = False
    rewrites: bool = False
    oldest_gcc: int = 0
    instrument: Callable[[str, bytes], Instrumentation] | None = None
    instead_of: tuple[str, ...] = ()
    backport: Backport | None = None

    @property
    def is_told_of_unseen(self) -> bool:
        """Whether functions without counts can be cold or not."""
        return self.two_ways is not None or self.flags(Told(True)) != self.flags(Told(False))

    @property
    def is_told_of_hot(self) -> bool:
        """Whether it can be said where hot begins."""
        return self.flags(Told(hot=HOT / 2)) != self.flags(Told())

    @property
    def compiles(self) -> bool:
        """Whether objects are made for it, or only something else of those of the steps before."""
        return not self.relinks and not self.rewrites

    @property
    def reads_branches(self) -> bool:
        """Whether its profile is made of branch counts, which can also be sampled."""
        return self.trained and not self.relinks and self.instrument is None
