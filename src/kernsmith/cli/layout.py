# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith layout`: measure, predict and choose the order of a kernel's functions."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from kernsmith.cli.output import NewFile, OutputFile, check_outputs
from kernsmith.document import LayoutDocument
from kernsmith.errors import UserError
from kernsmith.files import write_text

Names = Annotated[tuple[str, ...], Parameter(negative=())]

layout = App(
    name="layout",
    help="""Measure, predict and choose the order of a kernel's functions.

    One boot of each workload writes a trace; what it costs in any order of the functions is then
    computed from the trace, without linking or booting. KERNEL is the vmlinux or the folder of a
    kernel that kernsmith built, or the beginning of its key.""",
)


@layout.command
def sample(
    kernel: str,
    /,
    *,
    workload: Names = ("lab",),
    count: int = 1000,
    cpu: str = "emeraldrapids",
    seed: int = 1,
    every: int = 16,
    output: OutputFile | None = None,
    report: NewFile | None = None,
    json: bool = False,
) -> int:
    """The distribution of what random layouts cost.

    Example:

        kernsmith layout sample ~/.cache/kernsmith/kernels/1395ba40 --workload pipe --count 1000

    Parameters
    ----------
    kernel
        A kernel that kernsmith built.
    workload
        Workloads or sets of them; may be given several times.
    count
        Random layouts.
    cpu
        CPU model: a shipped one (`kernsmith cpu models`) or a TOML file. One of your own without
        [decoupled], a sum of penalties, is replayed five times as fast.
    seed
        Of the layouts.
    every
        Replay one of so many windows of each trace; 1 replays the whole traces.
    output
        A file for every figure of every layout, as JSON; default: none.
    report
        A file for the result as one HTML page; default: none.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.sampling import sample_layouts

    if count < 1:
        raise UserError(f"--count must be at least 1, it is {count}")
    check_outputs([output, report], [Path(kernel), Path(cpu)])
    with ProgressDisplay() as display:
        lab = _open(kernel, workload, cpu, every, display)
        document = sample_layouts(lab, count=count, seed=seed, events=display)
    return _show(document, output, report, json)


@layout.command
def evaluate(
    kernel: str,
    /,
    *,
    order: Annotated[tuple[Path, ...], Parameter(negative=())],
    workload: Names = ("lab",),
    cpu: str = "emeraldrapids",
    every: int = 1,
    strict: bool = False,
    output: OutputFile | None = None,
    report: NewFile | None = None,
    json: bool = False,
) -> int:
    """What given orders cost, beside the default layout.

    Example:

        kernsmith layout evaluate vmlinux --workload lab --order a.order --order b.order

    Parameters
    ----------
    kernel
        A kernel that kernsmith built.
    order
        Files with one function a line; may be given several times.
    workload
        Workloads or sets of them; may be given several times.
    cpu
        CPU model: a shipped one (`kernsmith cpu models`) or a TOML file. One of your own without
        [decoupled], a sum of penalties, is replayed five times as fast.
    every
        Replay one of so many windows of each trace; 1 replays the whole traces.
    strict
        Refuse orders with unknown or repeated functions instead of ignoring these.
    output
        A file for the result as JSON; default: none.
    report
        A file for the result as one HTML page; default: none.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.sampling import evaluate_orders

    check_outputs([output, report], [*order, Path(kernel), Path(cpu)])
    with ProgressDisplay() as display:
        orders = _read_orders(kernel, order, strict, display)
        lab = _open(kernel, workload, cpu, every, display)
        document = evaluate_orders(lab, orders, display)
    return _show(document, output, report, json)


@layout.command
def optimize(
    kernel: str,
    /,
    *,
    train: Names = ("lab",),
    test: Names = (),
    folds: int = 0,
    cpu: str = "emeraldrapids",
    count: int = 1000,
    evaluations: int = 2000,
    every: int = 16,
    search_every: int = 16,
    seed: int = 1,
    confirm: bool = True,
    output: OutputFile = Path("best.order"),
    report: NewFile | None = None,
    json: bool = False,
) -> int:
    """Find the best order, and compare it with random ones and with every known algorithm.

    Hot-first, density, Pettis-Hansen, C3, CDSort and the linker's own sorting (hfsort, cdsort)
    make orders from the training workloads. Packing moves functions until what is executed takes up
    few lines and pages; from there a local search moves the functions that many of the workloads
    share, with the geometry of the CPU model. The best order is linked and booted, and what it
    costs is shown beside what was predicted.

    Examples:

        kernsmith layout optimize vmlinux --train lab -o best.order

        kernsmith layout optimize vmlinux --train pipe --train file --test fork --cpu cortex-a9

        kernsmith layout optimize vmlinux --train lab --folds 3

    Parameters
    ----------
    kernel
        A kernel that kernsmith built.
    train
        Workloads or sets of them that the order is made for.
    test
        Workloads that the order is not made for, shown apart.
    folds
        Also make orders without some of the training workloads, each of which is left out once, in
        so many parts: tells what such orders are worth to workloads that nobody has run, as they
        are and with empty lines put between the functions in eight ways. 0: do not.
    cpu
        CPU model: a shipped one (`kernsmith cpu models`) or a TOML file. One of your own without
        [decoupled], a sum of penalties, is replayed five times as fast.
    count
        Random layouts to compare with.
    evaluations
        Orders that the local search tries.
    every
        Replay one of so many windows of each trace for the random layouts.
    search_every
        The same for the local search.
    seed
        Of the random layouts, the packing and the search.
    confirm
        Link and boot the result, and measure it.
    output
        The file for the best order.
    report
        A file for the result as one HTML page; default: none.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.best_order import Effort, best_order

    if not 0 <= seed < 2**64:
        raise UserError("--seed takes a whole number from 0 to 2^64 - 1")
    if folds and not 1 < folds <= len(_names(train)):
        raise UserError(
            f"--folds must be 0, or from 2 to the {len(_names(train))} that are trained"
        )
    check_outputs([output, report], [Path(kernel), Path(cpu)])
    with ProgressDisplay() as display:
        lab = _open(kernel, (*train, *test), cpu, every, display)
        chosen = best_order(
            lab,
            train=_names(train),
            test=_names(test) if test else (),
            folds=folds,
            effort=Effort(count, evaluations, search_every, seed),
            confirm=confirm,
            events=display,
        )
        write_text(output, "\n".join(chosen.order) + "\n")
    document = replace(chosen.document, order=str(output.absolute()))
    code = _show(document, None, report, json)
    if not json:
        print(f"best order: {chosen.name}, in {output.absolute()}")
        print(f"link it: kernsmith layout apply {lab.kernel.folder} --order {output}")
    return code


@layout.command
def collisions(
    kernel: str,
    /,
    *,
    order: Path | None = None,
    workload: Names = ("lab",),
    cpu: str = "emeraldrapids",
    strict: bool = False,
    json: bool = False,
) -> int:
    """What displaces what from the instruction cache, in the default layout or in an order.

    Pairs of functions of which one's fetches evict the other's lines, with the misses that come of
    it, and the cache's sets with the lines that want to be in each.

    Example:

        kernsmith layout collisions vmlinux --workload pipe --order best.order

    Parameters
    ----------
    kernel
        A kernel that kernsmith built.
    order
        A file with one function a line, to be held against the default layout.
    workload
        Workloads or sets of them; may be given several times.
    cpu
        CPU model: a shipped one (`kernsmith cpu models`) or a TOML file. One of your own without
        [decoupled], a sum of penalties, is replayed five times as fast.
    strict
        Refuse an order with unknown or repeated functions instead of ignoring these.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.document.text import as_plain
    from kernsmith.engine.collisions import lab_collisions
    from kernsmith.report.plain import as_text
    from kernsmith.report.study.collisions import collision_tables, collision_words

    names = ["default", *([order.name] if order else [])]
    with ProgressDisplay() as display:
        orders = list(_read_orders(kernel, [order] if order else [], strict, display).values())
        lab = _open(kernel, workload, cpu, 1, display)
        display.stage("replay")
        found = lab_collisions(lab, orders[0] if orders else [])
    if json:
        sys.stdout.write(json_text.dumps(as_plain(found), indent=1) + "\n")
    else:
        sys.stdout.write(as_text([collision_words(found, names), *collision_tables(found, names)]))
    return 0


@layout.command
def apply(
    kernel: str,
    /,
    *,
    order: Path,
    strict: bool = False,
    json: bool = False,
) -> int:
    """Link a kernel in another order: a kernel like any other comes out.

    Example:

        kernsmith layout apply vmlinux --order best.order

    Parameters
    ----------
    kernel
        A kernel that kernsmith built.
    order
        A file with one function a line.
    strict
        Refuse an order with unknown or repeated functions instead of ignoring these.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.bolted import refuse_bolted
    from kernsmith.kernel.package import package_command
    from kernsmith.kernel.reordered import reordered

    with ProgressDisplay() as display:
        (symbols,) = _read_orders(kernel, (order,), strict, display).values()
        base = named_kernel(kernel)
        refuse_bolted(base)
        display.stage("link")
        applied = reordered(base, symbols)
    if json:
        document = {
            "kernel": applied.key,
            "folder": str(applied.folder),
            "vmlinux": str(applied.vmlinux),
            "bzimage": str(applied.bzimage),
            "package_command": package_command(applied),
        }
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        print(f"kernel:  {applied.key}\nvmlinux: {applied.vmlinux}\nimage:   {applied.bzimage}")
        print(f"package: {package_command(applied)}")
    return 0


def _names(words: Sequence[str]) -> tuple[str, ...]:
    from kernsmith.guest.workloads import load_catalogue

    return tuple(work.name for work in load_catalogue().including(words).select(words))


def _open(kernel: str, workloads: Sequence[str], cpu: str, every: int, display: Any) -> Any:
    from kernsmith.engine.lab import open_lab
    from kernsmith.guest.workloads import load_catalogue
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.machine.tcg import open_machine

    if every < 1:
        raise UserError(f"--every must be at least 1, it is {every}")
    machine = open_machine(cpu)
    chosen = load_catalogue().including(workloads).select(workloads)
    return open_lab(named_kernel(kernel), chosen, machine, display, every=every)


def _read_orders(
    kernel: str, files: Sequence[Path], strict: bool, display: Any
) -> dict[str, list[str]]:
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.symbols import movable_functions, read_system_map
    from kernsmith.layout import read_order

    functions = movable_functions(read_system_map(named_kernel(kernel).system_map))
    orders = {}
    for path in files:
        read = read_order(path, functions, strict=strict)
        if read.remark:
            display.note(f"{path}: {read.remark}")
        orders[str(path)] = list(read.symbols)
    return orders


def _show(document: LayoutDocument, output: Path | None, report: Path | None, as_json: bool) -> int:
    """Write the document and its page where asked to, and print it."""
    from kernsmith.cli.console import result_console
    from kernsmith.document import text
    from kernsmith.report.layout.page import layout_page
    from kernsmith.report.layout.terminal import print_layouts

    if report:
        document = replace(document, report=str(report.absolute()))
        write_text(report, layout_page(document))
    if output:
        write_text(output, text.as_json(document))
    if as_json:
        sys.stdout.write(text.as_json(document))
    else:
        print_layouts(document, result_console())
    return 0
