# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a study as programs (ARCH=um): built, linked in layouts, and remembered.

Compiling and linking are the silicon bench's own: what it has built with the same flags is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kernsmith.engine.build_plan import identity
from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.making import Link
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.silicon import trainer
from kernsmith.engine.workers import Workers
from kernsmith.errors import DiskFull, KernsmithError, UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.silicon.binaries import Objects, objects_folder
from kernsmith.silicon.profiles import compile_build
from kernsmith.silicon.programs import Program, find_program
from kernsmith.silicon.stored import (
    Made,
    find_image,
    find_stored,
    link_stored,
    store_program,
)
from kernsmith.silicon.variants import build_of
from kernsmith.study import Layout, Variant
from kernsmith.threads import each_of, threads

_OBJECTS = 1000


class UserMode:
    """Builds the variants of a study as programs that are a kernel; see `engine.maker.Maker`.

    failures: variants and layouts that could not be made, with the reason.
    """

    def __init__(self, prepared: Prepared, events: Events) -> None:
        self.prepared = prepared
        self.failures = Failures()
        self._events = events
        self._linker = find_compiler(default_compiler())
        self._made: dict[str, Made] = {}
        self._kernels: dict[str, Kernel] = {}
        self._images: dict[tuple[str, Layout], Path] = {}

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if it could be built."""
        return self._kernels.get(identity(variant))

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        return self.failures.get((identity(variant), ""), "")

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        """The files of the profiles that a variant was built with."""
        made = self._made.get(identity(variant))
        return made.objects.profile if made else ()

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """The program in a layout, if it could be linked."""
        return self._images.get((identity(variant), layout))

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        """None: no layout of a program is replayed."""
        return None

    def objects(self, variant: Variant) -> int:
        """How many objects such a kernel has, about."""
        return _OBJECTS

    def build(self, meanwhile: Callable[[Workers], None] | None = None) -> None:
        """Build all variants. The baseline must build; others may fail.

        Raises:
            KernsmithError: of the baseline.
        """
        variants = self.prepared.variants
        for variant in variants:
            key = identity(variant)
            if key in self._made or (key, "") in self.failures:
                continue
            try:
                self._build(key, variant)
            except UserError:
                raise
            except KernsmithError as error:
                self.failures.note((key, ""), error)
                if variant == variants[0]:
                    raise
                self._events.note(f"{variant.name} is left out: {error}")

    def link(self) -> None:
        """Link every layout of the study's trials, kernels side by side."""
        missing = [
            (key, layout)
            for key, layout in self._wanted()
            if key in self._made and (key, layout) not in self._images
            and (key, str(layout)) not in self.failures
        ]  # fmt: skip
        if not missing:
            return
        self._events.stage(f"link {len(missing)} layouts")
        over = count(1)

        def link_all(key: str) -> None:
            for layout in (layout for of, layout in missing if of == key):
                self._link(key, layout)
                self._events.progress("layouts", next(over), len(missing))

        with threads(2) as pool:
            each_of(pool, link_all, dict.fromkeys(key for key, _ in missing))

    def find(self) -> int:
        """Take what the caches hold of variants that are not trained, and make nothing; returns how
        many images are missing."""
        folders: dict[str, Path] = {}
        for variant in self.prepared.variants:
            if variant.steps:
                continue
            key, program = identity(variant), self._program(self.prepared.source_of(variant))
            compiler = find_compiler(variant.compiler)
            folders[key] = objects_folder(program, build_of(variant), compiler)
            if kernel := find_stored(folders[key]):
                self._kernels[key] = kernel
        for key, layout in self._wanted():
            if kernel := self._kernels.get(key):
                image = find_image(kernel, folders[key], layout.seed)
                if image is not None and image.exists():
                    self._images[key, layout] = image
        return sum(wanted not in self._images for wanted in self._wanted())

    def _wanted(self) -> dict[tuple[str, Layout], None]:
        """The images of all trials, each once."""
        trials = self.prepared.trials
        return dict.fromkeys((identity(trial.variant), trial.layout) for trial in trials)

    def _build(self, key: str, variant: Variant) -> None:
        self._events.stage(f"kernel {variant.name}")
        began, source = time.monotonic(), self.prepared.source_of(variant)
        objects = self._compiled(variant, source)
        compiler, seconds = find_compiler(variant.compiler), time.monotonic() - began
        made = Made(variant, source, compiler, self._linker, objects, seconds)
        self._kernels[key] = store_program(made)
        self._made[key] = made

    def _link(self, key: str, layout: Layout) -> None:
        kernel = self._kernels[key]
        try:
            self._images[key, layout] = link_stored(kernel, self._made[key], layout.seed)
        except DiskFull:
            raise
        except KernsmithError as error:
            self.failures.note((key, str(layout)), error)
            self._events.note(f"the layout {layout} is left out: {error}")

    def _compiled(self, variant: Variant, source: Source) -> Objects:
        program = self._program(source)
        compiler = find_compiler(variant.compiler)
        train = trainer(program.name, self._events)
        return compile_build(program, build_of(variant), compiler, self._linker, train)

    def _program(self, source: Source) -> Program:
        return find_program(self.prepared.machine.name, self._events.note, source)
