# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants → kernels: build them in the order in which profiles allow, then link all layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from os import cpu_count
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.training import (
    Seen,
    TrainingFailed,
    keep_trained,
    store_profile,
    train,
    trained_profile,
)
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import BuildFailed, build_kernel, find_kernel
from kernsmith.kernel.config import ConfigRefused
from kernsmith.kernel.link import LinkFailed, layout_image, relink
from kernsmith.kernel.recipe import Recipe, make_recipe
from kernsmith.kernel.symbols import (
    Symbol,
    equally_long,
    function_lengths,
    movable_end,
    movable_functions,
    read_system_map,
)
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.layout import Ranks, layout_name, make_order
from kernsmith.profile import find_profile_maker, is_counts
from kernsmith.study import Layout, Variant, digest_of
from kernsmith.study.profiles import find_profile_kind

_PADDED_TO = 64 << 10


@dataclass
class Forge:
    """Builds what a study needs and remembers it.

    kernels, profiles: by the digest of a variant's identity.
    failures: variants and layouts that could not be made, with the reason.
    """

    prepared: Prepared
    events: Events
    kernels: dict[str, Kernel] = field(default_factory=dict)
    profiles: dict[str, Path] = field(default_factory=dict)
    images: dict[tuple[str, str], Path] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if it could be built."""
        return self.kernels.get(identity(variant))

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        return self.failures.get(identity(variant), "")

    def profile(self, variant: Variant) -> Path | None:
        """The profile that a variant was compiled with."""
        return self.profiles.get(identity(variant))

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """The image of a variant in a layout, if it could be made."""
        return self.images.get((identity(variant), str(layout)))

    def build(self, seen: Seen) -> None:
        """Build all variants of the study. The baseline must build; others may fail.

        seen: called with (kernel, workload, outcome, start time) of each training run.

        Raises:
            BuildFailed, ConfigRefused: the baseline does not build.
        """
        variants = self.prepared.variants
        for variant in sorted(variants, key=lambda v: v.profile is not None):
            if self.kernel(variant) or identity(variant) in self.failures:
                continue
            try:
                self._build_one(variant, seen)
            except (BuildFailed, ConfigRefused, TrainingFailed, ProcessFailed) as error:
                if identity(variant) == identity(variants[0]):
                    self.failures[identity(variant)] = str(error)
                    raise
                self._failed(variant, error)

    def find(self) -> None:
        """Take what the caches hold, kernels and images, and make nothing."""
        for variant in sorted(self.prepared.variants, key=lambda v: v.profile is not None):
            profile = None
            if variant.profile is not None:
                base = self.kernel(variant.trainer) or self._cached(variant.trainer, None)
                if base is None or variant.profile.file:
                    continue
                self.kernels[identity(variant.trainer)] = base
                kind = find_profile_kind(variant.profile.kind)
                profile = trained_profile(base, self._train, self.prepared.trainer, kind)
                if profile is None:
                    continue
            kernel = self._cached(variant, profile)
            if kernel is not None:
                self.kernels[identity(variant)] = kernel
        self._find_images(self._orders())

    def _cached(self, variant: Variant, profile: Path | None) -> Kernel | None:
        return find_kernel(self._recipe(variant, profile))

    def _recipe(self, variant: Variant, profile: Path | None) -> Recipe:
        file = variant.profile.file if variant.profile else ""
        exact = not file or is_counts(Path(file))
        source = self.prepared.source_of(variant)
        return make_recipe(variant, source, profile, exact=exact)

    def _check_needs(self, config: str, symbols: Mapping[str, str]) -> None:
        for workload in {**dict.fromkeys(self.prepared.workloads), **dict.fromkeys(self._train)}:
            if missing := workload.missing(symbols):
                raise UserError(
                    f"the workload {workload.name} needs {', '.join(missing)}, which the config "
                    f"{config!r} does not set"
                )

    @property
    def _train(self) -> tuple[Workload, ...]:
        """What profiles are trained on; nothing when the study has none to train."""
        trained = any(v.profile and not v.profile.file for v in self.prepared.variants)
        return self.prepared.train if trained else ()

    def _failed(self, variant: Variant, error: KernsmithError) -> None:
        self.failures[identity(variant)] = str(error)
        self.events.note(f"{variant.name} is left out: {error}")

    def _build_one(self, variant: Variant, seen: Seen) -> None:
        profile = None
        if variant.profile is not None:
            profile = self._profile(variant, seen)
            self.profiles[identity(variant)] = profile
        self.kernels[identity(variant)] = self._make(variant, profile)

    def _make(self, variant: Variant, profile: Path | None) -> Kernel:
        recipe = self._recipe(variant, profile)
        self.events.stage(f"kernel {variant.name}")
        return build_kernel(
            recipe,
            on_progress=lambda done, of: self.events.progress("objects", done, of),
            check=partial(self._check_needs, variant.config),
            alone=self._is_alone(variant),
        )

    def _is_alone(self, variant: Variant) -> bool:
        """Whether no other kernel of the study is compiled with the same flags."""
        variants = self.prepared.variants
        made = {identity(v): v for v in (*variants, *(v.trainer for v in variants if v.profile))}
        return [each.code for each in made.values()].count(variant.code) == 1

    def _profile(self, variant: Variant, seen: Seen) -> Path:
        assert variant.profile is not None
        base = variant.trainer
        kernel = self.kernel(base) or self._make(base, None)
        self.kernels.setdefault(identity(base), kernel)
        toolchain = find_toolchain(variant.compiler, variant.linker)
        kind = find_profile_kind(variant.profile.kind)
        maker = find_profile_maker(kind.name)
        folder = kernel.folder / "profiles"
        with locked(folder / "lock"):
            if variant.profile.file:
                made = folder / "given.made"
                given = maker.usable(Path(variant.profile.file), kernel, toolchain, made)
                return store_profile(given, kernel, kind)
            known = trained_profile(kernel, self._train, self.prepared.trainer, kind)
            if known is not None:
                return known
            counts = train(kernel, self._train, self.prepared.trainer, self.events, seen)
            self.events.stage(f"profile → {kind.title}")
            made = maker.make(counts, kernel, toolchain, folder / "trained.made")
            return keep_trained(made, counts, kernel, self._train, self.prepared.trainer, kind)

    def link(self) -> None:
        """Link every layout of the study's trials, several at once."""
        orders = self._orders()
        todo = self._find_images(orders)
        if todo:
            self.events.stage(f"link {len(todo)} layouts")
        with ThreadPoolExecutor(cpu_count()) as pool:
            jobs = {pool.submit(orders.link, kernel, layout): key for key, kernel, layout in todo}
            try:
                for done, job in enumerate(as_completed(jobs), 1):
                    self._linked(jobs[job], job)
                    self.events.progress("layouts", done, len(todo))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _orders(self) -> _Orders:
        """Layouts for the kernels that there are; paired by place if the study says so."""
        orders = _Orders()
        if self.prepared.study.design.pairing == "place":
            made = {k.key: k for v in self.prepared.variants if (k := self.kernel(v))}
            orders.pair_by_place(list(made.values()))
        return orders

    def _find_images(self, orders: _Orders) -> list[tuple[tuple[str, str], Kernel, Layout]]:
        """Take the images that are there; returns (key, kernel, layout) of those that are not."""
        missing: dict[tuple[str, str], tuple[Kernel, Layout]] = {}
        for trial in self.prepared.trials:
            kernel = self.kernel(trial.variant)
            key = (identity(trial.variant), str(trial.layout))
            if kernel is None or key in self.images or key in missing:
                continue
            image = orders.image(kernel, trial.layout)
            if image.exists():
                self.images[key] = image
            else:
                missing[key] = (kernel, trial.layout)
        return [(key, kernel, layout) for key, (kernel, layout) in missing.items()]

    def _linked(self, key: tuple[str, str], job: Future[Path]) -> None:
        try:
            self.images[key] = job.result()
        except LinkFailed as error:
            self.failures[" ".join(key)] = str(error)
            self.events.note(f"the layout {key[1]} is left out: {error}")


class _Orders:
    """Function orders of kernels; each kernel's functions are read once.

    Paired by place: functions that are equally long in all kernels come first in random layouts,
    then those that are in all of them but differ, then those that only some have; padding behind
    them keeps the fixed code at one address, too.
    """

    def __init__(self) -> None:
        self._symbols: dict[str, list[Symbol]] = {}
        self._functions: dict[str, Sequence[str]] = {}
        self._ranks: Ranks = ()
        self._end = 0

    def pair_by_place(self, kernels: Sequence[Kernel]) -> None:
        symbols = [self._symbols_of(kernel) for kernel in kernels]
        lengths = [function_lengths(each) for each in symbols]
        in_all = frozenset.intersection(*map(frozenset, lengths)) if lengths else frozenset()
        self._ranks = (equally_long(lengths), in_all)
        # Rounded up, so that a kernel has the same padding beside most of its neighbours.
        self._end = -(-max(map(movable_end, symbols), default=0) // _PADDED_TO) * _PADDED_TO

    def _symbols_of(self, kernel: Kernel) -> list[Symbol]:
        if kernel.key not in self._symbols:
            self._symbols[kernel.key] = read_system_map(kernel.system_map)
        return self._symbols[kernel.key]

    def image(self, kernel: Kernel, layout: Layout) -> Path:
        if layout.kind == "default":
            return kernel.vmlinux
        return layout_image(kernel, self._name(kernel, layout))

    def link(self, kernel: Kernel, layout: Layout) -> Path:
        order, padding = self._order(kernel, layout), self._padding(kernel, layout)
        return relink(kernel, self._name(kernel, layout), order, padding)

    def _name(self, kernel: Kernel, layout: Layout) -> str:
        padding = self._padding(kernel, layout)
        return layout_name(layout, self._order(kernel, layout) + [str(padding)] * bool(padding))

    def _padding(self, kernel: Kernel, layout: Layout) -> int:
        end = movable_end(self._symbols_of(kernel))
        return self._end - end if layout.kind == "random" and end and self._end else 0

    def _order(self, kernel: Kernel, layout: Layout) -> list[str]:
        functions = self._functions.get(kernel.key)
        if functions is None:
            symbols = self._symbols_of(kernel)
            functions = movable_functions(symbols)
            if self._ranks:
                # lld orders functions of one name among themselves as it likes: differently in
                # two kernels. Without a place in the order they stay behind, in link order.
                lengths = function_lengths(symbols)
                functions = [name for name in functions if len(lengths.get(name, ())) == 1]
            self._functions[kernel.key] = functions
        return make_order(layout, functions, self._ranks)


def identity(variant: Variant) -> str:
    """Digest of what distinguishes kernels among variants of one source."""
    return digest_of(variant.identity())
