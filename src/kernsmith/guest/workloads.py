# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of workloads. It is the guest programs' own: `kernsmith-guest --list`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.initramfs import build_initramfs, kept_initramfs
from kernsmith.guest.own_metric import OwnMetric
from kernsmith.paths import shipped

Progress = Callable[[str, float | None], None]

MOST_VCPUS = 8
"""As many as the shipped configs have (CONFIG_NR_CPUS)."""


MEMORY_MIB = 512
ROOT_MEMORY_MIB = 1024
"""Of guests with a root file system, above which a tmpfs lies."""


@dataclass(frozen=True)
class Baseline:
    """What the machine does that an index is relative to: `count` operations in `seconds`."""

    count: float
    seconds: float = 1.0


@dataclass(frozen=True)
class Workload:
    """What runs in the guest.

    sets: names of the sets that it belongs to.
    rounds, warmup: default amounts of work in the region of interest and before it.
    needs: kernel config symbols (`CONFIG_X`) without which it cannot run.
    first: those of them that must be there before a module can be loaded: what its root needs.
    file: that of a user's own workload (see `guest.own`); empty for those of the catalogue.
    program: the guest program that it is part of; empty: `guest_program`.
    initramfs: what the guest is booted with, named by its content; None for those of
        `guest_program`, which the machine itself knows.
    root: the image of the root file system that it runs in, of which the initramfs knows the
        content; None: the initramfs is all there is.
    operations, unit: what a round is, in numbers: 16 times a `loop`.
    baseline: of the index that it belongs to (see `guest.index`).
    vcpus: how many the guest has that it runs in.
    memory: of that guest, in MiB, beside the image of its root; 0: see `mib`.
    metrics: figures that it tells itself.
    time_limit: seconds that a boot with it may take in the `tcg` machine, unless a study says how
        many; 0: as many as any.
    boot: the number of the boot that it runs in, of several that differ by luck alone (see
        `Design.boots`); 0 is as any other boot.
    """

    name: str
    sets: tuple[str, ...]
    description: str
    rounds: int
    warmup: int
    needs: tuple[str, ...]
    file: str = ""
    initramfs: Path | None = None
    root: Path | None = None
    operations: int = 1
    unit: str = "round"
    baseline: Baseline | None = None
    program: str = ""
    vcpus: int = 1
    memory: int = 0
    metrics: tuple[OwnMetric, ...] = ()
    time_limit: float = 0.0
    first: tuple[str, ...] = ()
    boot: int = 0

    @property
    def content(self) -> str:
        """The digest of its initramfs; empty for those of `guest_program`."""
        return self.initramfs.parent.name if self.initramfs else ""

    @property
    def mib(self) -> int:
        """MiB of memory that its guest has beside the image of its root."""
        return self.memory or (ROOT_MEMORY_MIB if self.root else MEMORY_MIB)

    @property
    def done(self) -> int:
        """How many operations its rounds in the region of interest are."""
        return self.operations * self.rounds

    @property
    def title(self) -> str:
        """Its name, and which of several boots it is, if it is not the first."""
        return f"{self.name}, boot {self.boot}" if self.boot else self.name

    @property
    def amount(self) -> str:
        """What runs, and how often, in a word: what is kept of its runs is named by it."""
        own = f"-{self.content[:16]}" if self.content else ""
        several = f"-{self.vcpus}-vcpus" if self.vcpus > 1 else ""
        memory = f"-{self.memory}-mib" if self.memory else ""
        boot = f"-boot-{self.boot}" if self.boot else ""
        return f"{self.name}-{self.rounds}-{self.warmup}{own}{several}{memory}{boot}"

    @property
    def advice(self) -> str:
        """Where a kernel has what it needs, for the end of a sentence that says it is missing."""
        return "; the shipped config root has what a root file system needs" if self.root else ""

    def missing(
        self, symbols: Mapping[str, str], *, loads: bool = True, on_demand: bool = False
    ) -> tuple[str, ...]:
        """What it needs and a kernel with these config symbols (without `CONFIG_`) lacks.

        loads: whether modules are loaded where it runs; else what is one is lacking. on_demand:
        whether that is when somebody wants them, so that what its root needs must be built in.
        """

        def lacks(need: str) -> bool:
            value = symbols.get(need.removeprefix("CONFIG_"), "n")
            late = not loads or (on_demand and need in self.first)
            return value == "n" or (value == "m" and late)

        lacking = filter(lacks, self.needs)
        return tuple(dict.fromkeys((*lacking, *_missing_for(self.vcpus, symbols))))


def _missing_for(vcpus: int, symbols: Mapping[str, str]) -> tuple[str, ...]:
    """What a kernel lacks that is to run so many processors."""
    if vcpus == 1:
        return ()
    if symbols.get("SMP", "n") == "n":
        return ("CONFIG_SMP",)
    if int(symbols.get("NR_CPUS", vcpus)) < vcpus:
        return (f"CONFIG_NR_CPUS={vcpus}",)
    found_by = find_arch().processors
    found = any(symbols.get(name, "n") != "n" for name in found_by)
    return () if found else (" or ".join(f"CONFIG_{name}" for name in found_by),)


class UnknownWorkload(UserError):
    """A name that is neither a workload nor a set. The message lists what is allowed."""

    def __init__(self, name: str, sets: Sequence[str], workloads: Sequence[str]) -> None:
        self.name = name
        super().__init__(
            f"there is no workload {name!r}: allowed are the sets {', '.join(sets)}, "
            f"the workloads {', '.join(workloads)}, stressors (stress-ng:NAME:OPERATIONS), and "
            "files of your own (….toml)"
        )


@dataclass(frozen=True)
class Catalogue:
    """All workloads of one guest program after the other, in their orders."""

    workloads: tuple[Workload, ...]

    def __iter__(self) -> Iterator[Workload]:
        return iter(self.workloads)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all workloads."""
        return tuple(workload.name for workload in self.workloads)

    @property
    def sets(self) -> tuple[str, ...]:
        """Names of all sets, sorted."""
        return tuple(sorted({name for workload in self.workloads for name in workload.sets}))

    def select(self, names: Sequence[str]) -> tuple[Workload, ...]:
        """The workloads that are named or in a named set: once each, in catalogue order.

        Raises:
            UnknownWorkload: a name is neither.
        """
        wanted: set[str] = set()
        for name in names:
            found = {w.name for w in self.workloads if name in (w.name, w.file, *w.sets)}
            if not found:
                from kernsmith.guest.own import described, shipped_files

                also = Catalogue((*self.workloads, *map(described, shipped_files(""))))
                raise UnknownWorkload(name, also.sets, tuple(dict.fromkeys(also.names)))
            wanted |= found
        return tuple(workload for workload in self.workloads if workload.name in wanted)

    def on_vcpus(self, vcpus: int) -> Catalogue:
        """The same workloads, each in a guest that has at least so many."""
        return Catalogue(tuple(replace(w, vcpus=max(w.vcpus, vcpus)) for w in self.workloads))

    def including(
        self,
        words: Iterable[str],
        root: Path | None = None,
        progress: Progress | None = None,
        *,
        look_only: bool = False,
    ) -> Catalogue:
        """The catalogue with those workloads behind it that these words name by a file: users' own,
        which end with `.toml`, stressors of stress-ng, and shipped ones by their names or sets.

        root: what those with a root file system run in, instead of what their files say.
        progress: called with what is being done, where a root file system must be made.
        look_only: make none; a workload without its root cannot run.

        Raises:
            UserError: a file is no workload, its name is taken, or there is no such root.
        """
        from kernsmith.guest.own import (
            SUFFIX,
            described,
            lacks_root,
            read_own_workload,
            shipped_files,
        )
        from kernsmith.guest.stressor import PREFIX, stressor_file

        known = list(self.workloads)
        for word in dict.fromkeys(words):
            if word.endswith(SUFFIX):
                files = [Path(word)]
            elif word.startswith(PREFIX):
                files = [stressor_file(word)]
            else:
                files = [*shipped_files(word)]
            for path in files:
                if look_only and root is None and lacks_root(path):
                    own = described(path)
                else:
                    own = read_own_workload(path, root, progress)
                if word.endswith(SUFFIX):
                    own = replace(own, file=word)
                else:
                    named = word if word.startswith(PREFIX) else path.parent.name
                    own = replace(own, sets=(named,))
                if own in known:
                    continue
                if own.name in (*self.sets, *(each.name for each in known)):
                    raise UserError(f"{path}: name: {own.name!r} is a workload or a set already")
                known.append(own)
        return Catalogue(tuple(known))


def guest_program() -> Path:
    """Where the build puts the guest program."""
    return shipped("build", "guest", "kernsmith-guest")


def suite_programs() -> tuple[Path, ...]:
    """The guest programs of the folders of workloads (`guest/workloads/NAME`), by name.

    Each has a program of its own, so that one more workload moves the code of no other.
    """
    own = guest_program()
    return tuple(p for p in sorted(own.parent.glob(f"{own.name}-*")) if not p.suffix)


def timed_program(workload: Workload) -> Path:
    """Where the build puts a workload's program for machines whose clock is a real one: the same,
    with what a real processor says of the region, and many runs in a boot (guest/timed)."""
    own = guest_program()
    return own.parent / "timed" / (workload.program or own.name)


def held_program(workload: Workload) -> Path:
    """Where the build puts a workload's program for snapshots: the same, which is told what to run
    when it goes on from one (guest/snapshot)."""
    own = guest_program()
    return own.parent / "held" / (workload.program or own.name)


def held_programs() -> tuple[Path, ...]:
    """All of these, by name."""
    return tuple(p for p in sorted((guest_program().parent / "held").iterdir()) if not p.suffix)


def module_loader() -> Path:
    """Where the build puts the program that loads a kernel's modules."""
    return shipped("build", "guest", "kernsmith-modules")


def module_prober() -> Path:
    """Where the build puts the program that a kernel starts for a module that somebody wants."""
    return shipped("build", "guest", "kernsmith-modprobe")


def load_catalogue() -> Catalogue:
    """The workloads of all guest programs.

    Raises:
        UserError: the guest program has not been built.
        KernsmithError: one of them prints something else than a catalogue, or two workloads or a
            workload and a set share a name.
    """
    from kernsmith.guest.suite import read_suite

    own, *suites = (_listed(program) for program in (guest_program(), *suite_programs()))
    known = list(read_suite("").described(own.workloads))
    for program, listed in zip(suite_programs(), suites, strict=True):
        suite = read_suite(program.name.removeprefix(f"{guest_program().name}-"))
        kept = kept_initramfs(build_initramfs(program, suite.members()), program.name)
        workloads = suite.described(listed.workloads)
        known += (replace(each, initramfs=kept, program=program.name) for each in workloads)
    return _checked(Catalogue(tuple(known)))


def _listed(program: Path) -> Catalogue:
    if not program.is_file():
        raise UserError(
            f"the guest program {program} has not been built; build it with: make setup"
        )
    return parse_catalogue(process.run([program, "--list"], log=None, timeout=10).output)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)

    name: str
    sets: tuple[str, ...]
    description: str
    rounds: int
    warmup: int
    needs: tuple[str, ...]


class _Listing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    workloads: tuple[_Entry, ...]


def parse_catalogue(text: str) -> Catalogue:
    """The catalogue from the JSON that `kernsmith-guest --list` prints.

    Raises:
        KernsmithError: the text is not a catalogue, or two workloads or a workload and a set share
            a name.
    """
    try:
        listing = _Listing.model_validate_json(text)
    except ValidationError as error:
        raise KernsmithError(f"the guest program lists no catalogue: {error}") from None
    return _checked(Catalogue(tuple(Workload(**dict(entry)) for entry in listing.workloads)))


def _checked(catalogue: Catalogue) -> Catalogue:
    taken = [*catalogue.names, *catalogue.sets]
    twice = sorted({name for name in taken if taken.count(name) > 1})
    if twice:
        raise KernsmithError(f"the guest program uses a name twice: {', '.join(twice)}")
    return catalogue
