# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith workload`: what can run in the guest, and a user's own workloads."""

from __future__ import annotations

import json as json_text
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.table import Table

from kernsmith.cli.console import result_console
from kernsmith.errors import KernsmithError, UserError
from kernsmith.study.study import DEFAULT_CPU

if TYPE_CHECKING:
    from kernsmith.document import HotFunctionView
    from kernsmith.guest.workloads import Workload
    from kernsmith.kernel.artifact import Kernel
    from kernsmith.machine import Machine, Outcome

workload = App(name="workload", help="List, check and run what the guest can do.")
Words = Annotated[tuple[str, ...], Parameter(negative=())]
Root = Annotated[Path | None, Parameter(name="--root")]
_TAIL = 8


@workload.command(name="list")
def list_(words: Words = (), /, *, json: bool = False) -> int:
    """List workloads: what each does, how often, its sets, and what it needs of a kernel.

    Examples:

        kernsmith workload list

        kernsmith workload list net mine.toml --json

    Parameters
    ----------
    words
        Workloads, sets of them, or files of your own; default: the whole catalogue.
    json
        Print JSON.
    """
    chosen = _chosen(words, look_only=True)
    if json:
        _print_json({"version": 1, "workloads": [_as_json(each) for each in chosen]})
        return 0
    table = Table(box=None, pad_edge=False)
    for title in ("workload", "sets", "rounds", "what it does"):
        table.add_column(title, justify="right" if title == "rounds" else "left")
    for each in chosen:
        table.add_row(each.name, " ".join(each.sets), str(each.rounds), each.description)
    result_console(markup=False).print(table)
    return 0


@workload.command
def show(word: str, /, *, root: Root = None, json: bool = False) -> int:
    """Show one workload: what it does, how much, and what it needs of a kernel.

    Examples:

        kernsmith workload show tcp-stream

        kernsmith workload show mine.toml

    Parameters
    ----------
    word
        A workload, or a file of your own.
    root
        A folder or an image to run in, in place of the root that the workload's file asks for.
    json
        Print JSON.
    """
    each = _one(word, root, look_only=True)
    if json:
        _print_json({"version": 1, **_as_json(each)})
        return 0
    lines = {
        "workload": each.name,
        "description": each.description,
        "sets": " ".join(each.sets) or "none",
        "rounds": f"{each.rounds}, {each.warmup} before the region of interest",
        "a round is": f"{each.operations:,} × {each.unit}",
        "vcpus": str(each.vcpus),
        "memory": f"{each.mib} MiB",
        "needs": " ".join(each.needs) or "nothing beside what all kernels have",
    }
    if each.metrics:
        told = (f"{own.name} ({own.unit})" if own.unit else own.name for own in each.metrics)
        lines |= {"metrics": ", ".join(told)}
    if each.file:
        lines |= {"file": each.file, "content": each.content or "known when its root is made"}
    if each.root:
        lines |= {"root": str(each.root)}
    for name, value in lines.items():
        print(f"{name:12} {value}")
    return 0


@workload.command
def check(word: str, /, *, kernel: str, root: Root = None) -> int:
    """Run one round of a workload on a kernel, and say whether it did its work.

    A workload of your own that does not check its output is told as such: what fails without a word
    would look fast.

    Examples:

        kernsmith workload check mine.toml --kernel 8cbd96d6

    Parameters
    ----------
    word
        A workload, or a file of your own.
    kernel
        A kernel of the cache, by the beginning of its key or by its vmlinux.
    root
        A folder or an image to run in, in place of the root that the workload's file asks for.
    """
    from kernsmith.guest.own import parse_own_workload

    each = _one(word, root)
    _run(replace(each, rounds=1, warmup=0), kernel, "emeraldrapids")
    print(f"{each.name} did its work")
    if each.file and not parse_own_workload(Path(each.file)).check.output:
        print("only its exit status is checked; [check] output names a file with what it prints")
    return 0


@workload.command
def run(
    word: str,
    /,
    *,
    kernel: str,
    root: Root = None,
    cpu: str = DEFAULT_CPU,
    rounds: int | None = None,
    hottest: int = 0,
    json: bool = False,
) -> int:
    """Run a workload on a kernel in the tcg machine, and print its metrics.

    The figures of a second run are the same, to the last digit. Nothing is written down: a study
    (`kernsmith run`) compares kernels.

    Examples:

        kernsmith workload run pipe --kernel 8cbd96d6

        kernsmith workload run mine.toml --kernel 8cbd96d6 --rounds 100 --json

        kernsmith workload run lmbench-select --kernel 8cbd96d6 --hottest 10

    Parameters
    ----------
    word
        A workload, or a file of your own.
    kernel
        A kernel of the cache, by the beginning of its key or by its vmlinux.
    root
        A folder or an image to run in, in place of the root that the workload's file asks for.
    cpu
        CPU model: a shipped one (kernsmith cpu models) or a TOML file.
    rounds
        Rounds in the region of interest; default: the workload's own.
    hottest
        Also tell so many of the kernel's functions, by their share of all code that it executed.
    json
        Print JSON.
    """
    each = _one(word, root)
    if rounds is not None:
        if rounds < 1:
            raise UserError(f"--rounds must be at least 1, it is {rounds}")
        each = replace(each, rounds=rounds)
    if hottest < 0:
        raise UserError(f"--hottest must be at least 0, it is {hottest}")
    outcome, functions = _run(each, kernel, cpu, hottest)
    if json:
        metrics = {name: {"value": v, "unit": unit} for name, (v, unit) in outcome.metrics.items()}
        document = {"version": 1, "workload": _as_json(each), "cpu": cpu, "metrics": metrics}
        _print_json(document | {"hottest": [asdict(function) for function in functions]})
        return 0
    _print_run(each, outcome, functions)
    return 0


@workload.command
def index(
    words: Words = ("unixbench",), /, *, kernel: str, cpu: str = DEFAULT_CPU, json: bool = False
) -> int:
    """Print UnixBench's index of a kernel: of low load, or with `unixbench-high` of high load.

    It is an index of virtual time, in which every instruction takes 2 ns: held against another of
    the same kind it says how much more or less there is to execute. An index of a real machine is
    of real seconds; the two are never comparable.

    Examples:

        kernsmith workload index --kernel 8cbd96d6

        kernsmith workload index unixbench-high --kernel 8cbd96d6 --json

    Parameters
    ----------
    words
        Sets or workloads that have a baseline.
    kernel
        A kernel of the cache, by the beginning of its key or by its vmlinux.
    cpu
        CPU model: a shipped one (kernsmith cpu models) or a TOML file. The index is the same with
        each.
    json
        Print JSON.
    """
    from kernsmith.guest.index import indexed, overall

    chosen = _chosen(words)
    for each in chosen:
        indexed(each, 1.0)  # which says before anything runs that one belongs to no index
    tests = [
        indexed(each, _run(each, kernel, cpu)[0].metrics["virtual_seconds"][0]) for each in chosen
    ]
    if json:
        rows = [{**asdict(test), "index": test.index} for test in tests]
        whole = {"meaning": "virtual", "index": overall(tests), "tests": rows}
        _print_json({"version": 1, **whole})
        return 0
    table = Table(box=None, pad_edge=False)
    for title in ("test", "baseline", "virtual time", "", "index"):
        table.add_column(title, justify="left" if title in ("test", "") else "right")
    for test in tests:
        rate = f"{test.unit}/s" if test.per == 1 else f"{test.unit}/{test.per:g} s"
        table.add_row(
            test.name, f"{test.baseline:,.1f}", f"{test.rate:,.1f}", rate, f"{test.index:,.1f}"
        )
    table.add_row("index of virtual time", "", "", "", f"{overall(tests):,.1f}")
    result_console(markup=False).print(table)
    return 0


def _run(
    each: Workload, kernel: str, cpu: str, hottest: int = 0
) -> tuple[Outcome, tuple[HotFunctionView, ...]]:
    """Boot a kernel with a workload. Raises KernsmithError when it did not do its work.

    hottest: how many of the kernel's functions come with the outcome.
    """
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.config import parse_config
    from kernsmith.machine import Job, run_once
    from kernsmith.machine.metrics import check_own_metrics
    from kernsmith.machine.tcg import open_machine

    check_own_metrics(each)
    chosen = named_kernel(kernel)
    symbols = parse_config((chosen.output / ".config").read_text())
    if missing := each.missing(symbols, loads=bool(chosen.modules), on_demand=chosen.on_demand):
        module = symbols.get(missing[0].removeprefix("CONFIG_")) == "m"
        what = f"{missing[0]}{' (a module, which nobody loads)' if module else ''}"
        raise UserError(
            f"the kernel {chosen.key[:12]} lacks what {each.name} needs: {what}{each.advice}"
        )
    with tempfile.TemporaryDirectory() as folder:
        job = Job(each, Path(folder), profile=hottest > 0, modules=chosen.guest_archive)
        machine = open_machine(cpu)
        outcome = run_once(machine, chosen.vmlinux, job)
        if outcome.ok:
            return outcome, _functions(outcome, machine, chosen, each)[:hottest]
        last = outcome.console.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
    said = "\n".join(f"    {line}" for line in last)
    raise KernsmithError(f"{each.name} did not do its work: {outcome.reason}\n{said}")


def _functions(
    outcome: Outcome, machine: Machine, kernel: Kernel, each: Workload
) -> tuple[HotFunctionView, ...]:
    """The kernel's functions that ran, the hottest first; none where counts were not asked for."""
    from kernsmith.engine.evidence import BRANCHES
    from kernsmith.engine.hottest import hottest_functions

    if outcome.counts is None:
        return ()
    counts = BRANCHES.parsed((outcome.counts,), kernel, each)
    return hottest_functions(BRANCHES.placed(counts, kernel, outcome, machine), kernel)


def _print_run(each: Workload, outcome: Outcome, functions: tuple[HotFunctionView, ...]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column(each.name, justify="right")
    table.add_column("unit")
    table.add_column(f"per {each.unit}", justify="right")
    own = {metric.name for metric in each.metrics}
    for name, (value, unit) in outcome.metrics.items():
        shown = f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
        # Its own are of a round already, and perhaps no amounts.
        each_one = "" if name in own else f"{value / each.done:,.6g}"
        table.add_row(name, shown, unit, each_one)
    result_console(markup=False).print(table)
    for function in functions:
        print(f"{function.share:7.2%}  {function.name}")


def _chosen(
    words: tuple[str, ...], root: Path | None = None, *, look_only: bool = False
) -> tuple[Workload, ...]:
    """look_only: no root is made of packages; a workload that lacks its own cannot run."""
    from kernsmith.guest.own import described, shipped_files
    from kernsmith.guest.workloads import load_catalogue

    def tell(text: str, part: float | None) -> None:
        print(text, file=sys.stderr)

    catalogue = load_catalogue()
    if not words:
        return (*catalogue.workloads, *map(described, shipped_files("")))
    return catalogue.including(words, root, tell, look_only=look_only).select(words)


def _one(word: str, root: Path | None, *, look_only: bool = False) -> Workload:
    found = _chosen((word,), root, look_only=look_only)
    if len(found) != 1:
        raise UserError(f"{word!r} is a set of {len(found)} workloads: name one of them")
    (only,) = found
    if root is not None and only.root is None:
        raise UserError(f"{word!r} runs in no root file system: --root is for those with [root]")
    return only


def _as_json(each: Workload) -> dict[str, Any]:
    return {
        "name": each.name,
        "sets": list(each.sets),
        "description": each.description,
        "rounds": each.rounds,
        "warmup": each.warmup,
        "operations": each.operations,
        "unit": each.unit,
        "vcpus": each.vcpus,
        "memory_mib": each.mib,
        "metrics": {metric.name: metric.unit for metric in each.metrics},
        "needs": list(each.needs),
        "file": each.file or None,
        "content": each.content or None,
        "root": str(each.root) if each.root else None,
    }


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
