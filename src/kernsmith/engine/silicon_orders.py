# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of a program's functions, made as the layout lab makes those of a kernel: from one run of
its own work in the `tcg` machine."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.engine.best_order import Effort, judged_orders
from kernsmith.engine.events import Events
from kernsmith.engine.order_step import EFFORT
from kernsmith.files import locked, write_text
from kernsmith.kernel.artifact import file_digest
from kernsmith.kernel.toolchain import Compiler
from kernsmith.layout import Arrangement, Evaluator, TracedText, TraceFile
from kernsmith.layout.traced import Figures
from kernsmith.machine.tcg import Tcg
from kernsmith.silicon.binaries import DEFAULT, Binary, Objects, link_layouts, link_order
from kernsmith.silicon.orders import linkers_order, ordered_text
from kernsmith.silicon.simulation import simulate
from kernsmith.silicon.timing import TUNABLES
from kernsmith.study import digest_of

# Of what is kept: a change makes orders anew.
_FORMAT = 1


@dataclass(frozen=True)
class Maker:
    """What orders are made with.

    machine: its CPU model is what the search lowers. kernel: starts the program. linker: the clang
    that calls lld. effort: that of the step `layout` of a study.
    """

    machine: Tcg
    kernel: Path
    linker: Compiler
    effort: Effort = EFFORT


@dataclass(frozen=True)
class ProgramGround:
    """A program with the trace of its run: see `best_order.Ground`."""

    objects: Objects
    linker: Compiler
    evaluator: Evaluator
    kept: None = None

    def linkers_order(self, algorithm: str, train: Sequence[str]) -> list[str]:
        """See `Ground`."""
        calls, functions = self.evaluator.calls(train), self.evaluator.movable
        return linkers_order(self.objects, self.linker, calls, algorithm, functions)


def link_orders(
    objects: Objects, names: Sequence[str], maker: Maker, events: Events
) -> list[Binary]:
    """A program in these orders (of `best_order.ORDERS`); orders that were made before are read.

    Raises:
        KernsmithError: the program did not come to its end in the guest.
    """
    binary = link_layouts(objects, (DEFAULT,), maker.linker)[0]
    cpu = maker.machine.fingerprint()
    of = [_FORMAT, cpu, file_digest(maker.kernel), file_digest(binary.path), TUNABLES]
    of.append(str(maker.effort))
    file = paths.cache_root() / "programs" / "orders" / f"{digest_of(of)[:32]}.json"
    with locked(file.with_suffix(".lock")):
        if not file.exists():
            write_text(file, json.dumps(_made(objects, binary, maker, events)))
    orders: dict[str, list[str]] = json.loads(file.read_text())
    return [link_order(objects, name, orders[name], maker.linker) for name in names]


def _made(objects: Objects, binary: Binary, maker: Maker, events: Events) -> dict[str, list[str]]:
    events.stage(f"{binary.program}: orders of {binary.build}")
    with tempfile.TemporaryDirectory() as folder:
        simulate(maker.machine, maker.kernel, binary, Path(folder), trace=True)
        ground = open_ground(objects, binary, Path(folder) / "blocks.trace", maker)
    judged = judged_orders(ground, [binary.program], maker.effort, events)
    return {name: list(order) for name, order in judged.orders.items()}


def open_ground(objects: Objects, binary: Binary, trace: Path, maker: Maker) -> ProgramGround:
    """A program with what it executes. binary: in its default layout; trace: of its run.

    Raises:
        UserError: it is the trace of another program.
    """
    ordered = ordered_text(objects, binary.path, maker.linker)
    tag = f"{binary.program} {binary.build} {binary.layout}"
    files = [TraceFile(binary.program, trace, tag)]
    traced = TracedText(ordered.text, files, program=True)

    def replay(
        layouts: Sequence[Arrangement],
        every: int,
        displaced: int | None,
        told: Callable[[int], None],
    ) -> Sequence[Figures]:
        threads = os.cpu_count() or 1
        cpu = maker.machine.cpu
        return traced.figures(layouts, cpu, every=every, displaced=displaced, threads=threads)

    evaluator = Evaluator(traced, ordered.functions, maker.machine.cpu, replay)
    return ProgramGround(objects, maker.linker, evaluator)
