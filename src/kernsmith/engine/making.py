# SPDX-License-Identifier: GPL-2.0-or-later
"""The pieces of work that make things: a kernel from its recipe, an image from a kernel's key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernsmith.engine.workers import Progress, Say
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel, stored_kernel
from kernsmith.kernel.bolted import bolted, find_bolted
from kernsmith.kernel.build import build_kernel, find_kernel
from kernsmith.kernel.config import parse_config
from kernsmith.kernel.drivers import Needed, missing_drivers
from kernsmith.kernel.link import relink
from kernsmith.kernel.link_map import input_map, link_map
from kernsmith.kernel.recipe import Recipe
from kernsmith.kernel.reordered import find_reordered, reordered
from kernsmith.layout import PlacedOrder
from kernsmith.machine.tcg import NAME as TCG
from kernsmith.store import local_store
from kernsmith.study.factors.modules import INSTALLED


class WorkloadRefused(UserError):
    """A workload that a kernel cannot run: its config lacks what the workload needs."""


class DriverMissing(WorkloadRefused):
    """A machine that a kernel cannot drive: its config lacks a driver."""


@dataclass(frozen=True)
class Build:
    """A kernel to be made.

    workloads: what is to run on it. alone: whether no other kernel that is compiled with the same
        flags will be wanted. machine: what it is to boot on, and needed: what that is driven by.
    """

    recipe: Recipe
    workloads: tuple[Workload, ...]
    alone: bool
    machine: str = ""
    needed: tuple[Needed, ...] = ()


@dataclass(frozen=True)
class Link:
    """An image to be made. kernel: its key. name: of the layout, a word for a file's name."""

    kernel: str
    name: str
    order: PlacedOrder


def build(say: Say, asked: Build) -> str:
    """Make a kernel that is not in the store yet, and return its key.

    Raises:
        WorkloadRefused, DriverMissing: told before anything is compiled.
        UserError, BuildFailed: see `build_kernel`.
    """

    def check(symbols: Mapping[str, str]) -> None:
        source, variant = asked.recipe.source.path, asked.recipe.variant
        if undriven := missing_drivers(source, symbols, asked.needed):
            what, module, _ = undriven[0]
            options = ", ".join(dict.fromkeys(f"CONFIG_{symbol}=y" for *_, symbol in undriven))
            raise DriverMissing(
                f"the config {variant.config!r} of {variant.name!r} cannot drive {asked.machine}: "
                f"{what} needs the driver {module}; set {options}, or take the config that it runs"
            )
        # In a guest of this machine nobody loads modules but those that the recipe names.
        loads = bool(asked.recipe.modules) or asked.machine != TCG
        for workload in asked.workloads:
            on_demand = INSTALLED in asked.recipe.modules
            if missing := workload.missing(symbols, loads=loads, on_demand=on_demand):
                raise WorkloadRefused(
                    f"the workload {workload.name} needs {', '.join(missing)}, which the config "
                    f"{variant.config!r} of {variant.name!r} does not set{workload.advice}"
                )

    kernel = find_kernel(asked.recipe)
    if kernel is not None:
        check(parse_config((kernel.folder / "config").read_text(encoding="utf-8")))
        return kernel.key
    return build_kernel(
        asked.recipe,
        on_progress=lambda done, total: say(Progress(done, total)),
        check=check,
        alone=asked.alone,
    ).key


@dataclass(frozen=True)
class Reorder:
    """A kernel to be linked in an order of its own. kernel: the key of the one that has the
    objects. order: a file with a function a line."""

    kernel: str
    order: Path

    def found(self) -> Kernel | None:
        """What it gave before."""
        base = stored_kernel(self.kernel)
        return base and find_reordered(base, self.order.read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Rewrite:
    """A kernel to be rewritten by BOLT. kernel: its key. profile: BOLT's. program: llvm-bolt."""

    kernel: str
    profile: Path
    program: str

    def found(self) -> Kernel | None:
        """What it gave before."""
        base = stored_kernel(self.kernel)
        return base and find_bolted(base, self.profile, self.program)


def rewrite(say: Say, asked: Rewrite) -> str:
    """Rewrite a linked kernel, as a kernel like any other, and return its key.

    Raises:
        LinkFailed: make or llvm-bolt ended with an error.
    """
    return bolted(_kernel(asked.kernel), asked.profile, asked.program).key


def reorder(say: Say, asked: Reorder) -> str:
    """Link a kernel in an order, as a kernel like any other, and return its key.

    Raises:
        LinkFailed: make ended with an error.
    """
    return reordered(_kernel(asked.kernel), asked.order.read_text(encoding="utf-8").split()).key


def link(say: Say, asked: Link) -> str:
    """Link a kernel in a layout, and return the key of the image.

    Raises:
        LinkFailed: the linker or a table tool ended with an error.
    """
    order = asked.order
    kernel = _kernel(asked.kernel)
    image = relink(
        kernel, asked.name, list(order.names), order.paddings, order.margins, order.alignments
    )
    return local_store().key(image)


def map_link(say: Say, kernel: str) -> str:
    """Have the linker's map of a kernel, given by its key; returns the map's key.

    Raises:
        LinkFailed, UserError: see `kernel.link_map.link_map`.
    """
    return local_store().key(link_map(_kernel(kernel)))


def map_inputs(say: Say, kernel: str) -> str:
    """Have the map of a kernel's sections as they are given to the linker; returns its key, or
    nothing where there is none.

    Raises:
        LinkFailed: see `kernel.link_map.input_map`.
    """
    path = input_map(_kernel(kernel))
    return local_store().key(path) if path else ""


def _kernel(key: str) -> Kernel:
    kernel = stored_kernel(key)
    if kernel is None:
        raise UserError(f"the kernel {key} is not in the store: run the same again")
    return kernel
