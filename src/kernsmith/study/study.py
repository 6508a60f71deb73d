# SPDX-License-Identifier: GPL-2.0-or-later
"""A study: factors × workloads × machine × design, as a frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from kernsmith.study.layout import Layout
from kernsmith.study.links import LinkRule
from kernsmith.study.objects import ObjectRule
from kernsmith.study.variant import digest_of

Pairing = Literal["seed", "place"]
"""How layouts of two variants belong together.

`seed`: the same seed shuffles the functions that both have into the same relative order.
`place`: besides, the functions that are equally long in all variants of the study come first, so
that they lie at the same addresses in all of them; those that differ follow.
"""

LayoutsBy = Literal["boot", "replay"]
"""How random layouts are measured.

`boot`: each is linked and booted. `replay`: a kernel is booted once with each workload, or
`Design.boots` times, in its default layout; what was executed is replayed in the others, and two of
them are linked and booted to check it.
"""

DEFAULT_LAYOUTS: Mapping[LayoutsBy, int] = MappingProxyType({"boot": 8, "replay": 64})
"""Random layouts of a study that does not say how many."""

MOST_LAYOUTS: Mapping[LayoutsBy, int] = MappingProxyType({"boot": 64, "replay": 512})
"""The limit of a study with `until` that does not say one."""


MOST_DRAWN = 10_000
"""Random layouts of each variant that a study may have, and boots that they are dealt out to."""

SEEDS = range(-(2**63), 2**63)
"""What a seed may be: a whole number that ledgers can hold."""

DEFAULT_CPU = "emeraldrapids"
"""The CPU model of who names none: the one that was held against a processor (docs/silicon.md)."""

Depth = Literal["frontend", "core"]
"""How deep a machine simulates a processor, by `depth` of its settings.

`frontend`: what code costs. `core`: what loads and stores cost, too.
"""

FRONTEND: Depth = "frontend"
"""The depth of studies that do not say one."""

TRACING = frozenset({"tcg"})
"""Machines that write traces."""

UML = "uml"
"""The machine whose images are programs with a kernel and its load inside; so are called its
config, and its only workload."""

KVM = "kvm"
"""The machine that boots kernels on this processor, many runs in a boot."""

SELF = "self"
"""The machine that goes through a folder while kernsmith does not run."""


Setting = bool | int | float | str


def default_layouts_by(
    machine: str, pairing: Pairing, settings: Iterable[tuple[str, Setting]] = ()
) -> LayoutsBy:
    """How layouts are measured if a study does not say it: replayed, where that can be."""
    traced = machine in TRACING and depth_of(settings) == FRONTEND and vcpus_of(settings) == 1
    return "replay" if traced and pairing == "seed" else "boot"


Named = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Variants by name, each with the factor levels that make it."""


def depth_of(settings: Iterable[tuple[str, Setting]]) -> str:
    """The `depth` among a machine's settings."""
    return str(dict(settings).get("depth", FRONTEND))


def vcpus_of(settings: Iterable[tuple[str, Setting]]) -> int:
    """The `vcpus` among a machine's settings; one, too, where that is no number, which its machine
    says."""
    found = dict(settings).get("vcpus", 1)
    return found if isinstance(found, int) else 1


@dataclass(frozen=True)
class Design:
    """How often and in which order.

    layouts: random layouts of each variant, besides the default one.
    replicates: boots of each layout, where a machine does several runs in a boot; else runs of each
        trial; 1 on a machine without noise.
    runs: of each workload in a boot, by turns with the others'; 1 where a boot does one.
    seed: of the random layouts and of the order of trials.
    alpha: the error rate of verdicts; intervals have 1 - alpha confidence.
    until: width in per cent that the overall interval must reach; 0 is a fixed number of layouts.
    most_layouts: the limit of a study that goes on until its interval is narrow enough.
    metric: what `until` and the first sentence of a result are about; empty: `model_cycles`, or
        `core_cycles` or `seconds` on a machine without a model.
    pairing: `seed` or `place` (see `Pairing`). layouts_by: see `LayoutsBy`; where functions are
        paired by place, layouts have paddings, which only a link lays out: they are booted.
    every: one of so many windows of each trace is replayed; 1 is the whole trace, 0 what suits the
        CPU model.
    boots: where layouts are replayed, how many boots of a kernel with a workload those of each
        variant are replayed from; more than one are the sample that an interval is of (see
        `engine.verdicts`).
    data: random layouts also shuffle the data of the kernel's objects, which no CPU model here
        sees, and only a link lays out.
    """

    layouts: int = 8
    replicates: int = 1
    runs: int = 1
    seed: int = 1
    alpha: float = 0.05
    until: float = 0.0
    most_layouts: int = 64
    metric: str = ""
    pairing: Pairing = "seed"
    layouts_by: LayoutsBy = "boot"
    every: int = 0
    boots: int = 1
    data: bool = False

    def replays(self, layout: Layout) -> bool:
        """Whether a layout is replayed: what is drawn, nothing else."""
        return self.layouts_by == "replay" and bool(layout.seed)


@dataclass(frozen=True)
class Place:
    """Another machine that a study is measured on, besides its own.

    machine, cpu, settings: as of a study. metric: what it is about there; empty: the usual one.
    """

    machine: str
    cpu: str = ""
    settings: tuple[tuple[str, Setting], ...] = ()
    metric: str = ""


@dataclass(frozen=True)
class Study:
    """What is compared with what, on which workloads, where and how.

    workloads, train: names of workloads or of sets of them; an empty `train` means all workloads
        of the study.
    folds: in how many parts the training workloads are left out of training in turn, to judge by
        what was not trained on; 0: not at all (see `study.folds`).
    profile: a profile that the user brings instead of training; empty when kernsmith trains.
    root: a folder or an image that workloads with a root file system run in, in place of what their
        files say; empty: what these say.
    factors: factor names with their levels; the first level of each is the baseline.
    variants: named variants instead of all combinations of factors; the first is the baseline.
    cpu, settings: of the machine: its CPU model, and what its kind takes besides.
    beside: the machines that the same kernels and layouts are measured on, too (see
        `study.machines`).
    compiler, linker: of every variant that has no such factor; an empty compiler is the newest
        clang that is installed, an empty linker the one that belongs to the compiler.
    options, flags: config symbols and compiler flags of every variant.
    objects: rules for objects that are compiled in another way; those with a name in variants whose
        factor `objects` names them.
    links: rules for links that are done in another way; likewise with the factor `links`.
    """

    source: str
    config: str
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    workloads: tuple[str, ...] = ("lab",)
    train: tuple[str, ...] = ()
    folds: int = 0
    profile: str = ""
    root: str = ""
    machine: str = "tcg"
    cpu: str = DEFAULT_CPU
    settings: tuple[tuple[str, Setting], ...] = ()
    beside: tuple[Place, ...] = ()
    compiler: str = ""
    linker: str = ""
    options: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    objects: tuple[ObjectRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    variants: Named = ()
    design: Design = field(default_factory=Design)
    name: str = "study"

    @property
    def depth(self) -> str:
        """How deep its machine simulates a processor."""
        return depth_of(self.settings)

    @property
    def vcpus(self) -> int:
        """How many vCPUs every guest of its machine has, at least."""
        return vcpus_of(self.settings)

    def with_layouts(self, layouts: int) -> Study:
        """The same study with another number of random layouts."""
        return replace(self, design=replace(self.design, layouts=layouts))

    @property
    def digest(self) -> str:
        """Identity of the study's words: everything but its name. The files that it names may lie
        elsewhere and hold something else: see `engine.prepare.study_digest`."""
        fields = asdict(self)
        del fields["name"]
        if not self.linker:  # studies without one keep the digest that they have in ledgers
            del fields["linker"]
        if not self.settings:  # likewise
            del fields["settings"]
        if not self.beside:  # likewise
            del fields["beside"]
        if not self.folds:  # likewise
            del fields["folds"]
        if not self.objects:  # likewise
            del fields["objects"]
        if not self.links:  # likewise
            del fields["links"]
        for rule in fields.get("objects", ()):
            if not rule["fallback"]:  # likewise
                del rule["fallback"]
        if not self.root:  # likewise
            del fields["root"]
        if self.design.layouts_by == "boot":  # likewise
            del fields["design"]["layouts_by"]
        if self.design.runs == 1:  # likewise
            del fields["design"]["runs"]
        if not self.design.every:  # likewise
            del fields["design"]["every"]
        if self.design.boots == 1:  # likewise
            del fields["design"]["boots"]
        if not self.design.data:  # likewise
            del fields["design"]["data"]
        return digest_of(fields)
