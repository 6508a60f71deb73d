# SPDX-License-Identifier: GPL-2.0-or-later
"""A study: factors × workloads × machine × design, as a frozen value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

from kernsmith.study.variant import digest_of


@dataclass(frozen=True)
class Design:
    """How often and in which order.

    layouts: random layouts of each variant, besides the default one.
    replicates: runs of each trial; 1 on a machine without noise.
    seed: of the random layouts and of the order of trials.
    alpha: the error rate of verdicts; intervals have 1 - alpha confidence.
    until: width in per cent that the overall interval must reach; 0 is a fixed number of layouts.
    most_layouts: the limit of a study that goes on until its interval is narrow enough.
    """

    layouts: int = 8
    replicates: int = 1
    seed: int = 1
    alpha: float = 0.05
    until: float = 0.0
    most_layouts: int = 64


@dataclass(frozen=True)
class Study:
    """What is compared with what, on which workloads, where and how.

    workloads, train: names of workloads or of sets of them; an empty `train` means all workloads
        of the study.
    profile: a profile that the user brings instead of training; empty when kernsmith trains.
    factors: factor names with their levels; the first level of each is the baseline.
    compiler, linker: of every variant that has no such factor; an empty compiler is the newest
        clang that is installed, an empty linker the one that belongs to the compiler.
    options, flags: config symbols and compiler flags of every variant.
    """

    source: str
    config: str
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    workloads: tuple[str, ...] = ("lab",)
    train: tuple[str, ...] = ()
    profile: str = ""
    machine: str = "tcg"
    cpu: str = "skylake"
    compiler: str = ""
    linker: str = ""
    options: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    design: Design = field(default_factory=Design)
    name: str = "study"

    def with_layouts(self, layouts: int) -> Study:
        """The same study with another number of random layouts."""
        return replace(self, design=replace(self.design, layouts=layouts))

    @property
    def digest(self) -> str:
        """Identity of the study: everything but its name."""
        fields = asdict(self)
        del fields["name"]
        if not self.linker:  # studies without one keep the digest that they have in ledgers
            del fields["linker"]
        return digest_of(fields)
