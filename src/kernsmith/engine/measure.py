# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands measured on the running kernel, into the ledger; and what the statistics say of them.

Commands take turns, in an order that is drawn anew in each round, so that what changes meanwhile
(heat, other work, a fuller page cache) meets all of them. The first rounds warm up and count
nowhere.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from shlex import join
from typing import Any

from kernsmith import paths
from kernsmith.engine.comparable_runs import LeftOut, is_comparable, left_out
from kernsmith.errors import KernsmithError, UserError
from kernsmith.kernel.artifact import load_kernel
from kernsmith.ledger import OK, BootRow, Ledger, RunRow, TrialRow, now
from kernsmith.ledger.measured import MeasuredRun
from kernsmith.machine.command import Ran, find_command, run_command
from kernsmith.machine.conditions import Condition, conditions, throttled, throttling
from kernsmith.machine.metrics import SECONDS, in_units
from kernsmith.machine.protocol import FAILED
from kernsmith.machine.running import RunningKernel, running_kernel
from kernsmith.stats.multiple import holm
from kernsmith.stats.nested import NestedEffect, Timing, nested_effect

MACHINE = "running"
"""No study's machine: a command takes another time than a trial, and plans reckon with trials'."""
LAYOUT = "default"


@dataclass(frozen=True)
class Plan:
    """commands: words of each. runs: rounds that count. warm_up: rounds before them."""

    commands: tuple[tuple[str, ...], ...]
    runs: int = 10
    warm_up: int = 1
    ignore_failure: bool = False
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not self.commands:
            raise UserError("a command is missing: kernsmith measure -- COMMAND")
        if self.runs < 1 or self.warm_up < 0:
            raise UserError("--runs is at least 1, --warm-up at least 0")
        if not 0 < self.alpha < 1:
            raise UserError(f"--alpha is a probability between 0 and 1, not {self.alpha:g}")
        names = [join(words) for words in self.commands]
        for name in names:
            if name != name.encode(errors="replace").decode():
                raise UserError(f"the command {name!a} is no text in UTF-8: rename the file")
        if len(set(names)) < len(names):
            raise UserError("a command is given twice: it would be compared with itself")


@dataclass(frozen=True)
class Kernel:
    """The running kernel as the ledger names it.

    key: of the store's kernel with the same build id, else its own build id (see `RunningKernel`).
    name: of its variant, where a study built it. known: whether the store has it.
    """

    key: str
    name: str
    known: bool
    running: RunningKernel


@dataclass(frozen=True)
class Comparison:
    """baseline, treated: commands; or kernels, of one command.

    of: `command` or `kernel`. command: the one that both kernels ran; empty of commands.
    p_corrected: by Holm, over the comparisons of one kind; None where there is no p.
    """

    of: str
    command: str
    baseline: str
    treated: str
    found: NestedEffect
    p_corrected: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the ratio differs from 1, corrected."""
        return self.p_corrected is not None and self.p_corrected < self.found.effect.alpha


@dataclass(frozen=True)
class Measured:
    """What came out.

    runs: by command, in the order given, the runs of this call that count. failed: by command, how
        many of them failed. before: the machine when it began; throttling: since then. left_out:
        runs of the ledger that no kernel is compared by.
    """

    plan: Plan
    kernel: Kernel
    runs: Mapping[str, tuple[Ran, ...]]
    failed: Mapping[str, int]
    conditions: tuple[Condition, ...]
    comparisons: tuple[Comparison, ...]
    left_out: tuple[LeftOut, ...] = ()


Tell = Callable[[int, int], None]
"""Called with the runs that are done and their total."""


Run = Callable[[Path, Sequence[str]], Ran]
"""Runs a program with the words of its command line: `run_command`."""


def measure(
    ledger: Ledger,
    plan: Plan,
    tell: Tell = lambda done, total: None,
    *,
    run: Run = run_command,
    running: RunningKernel | None = None,
) -> Measured:
    """Run all commands, record every run that counts, and compare.

    running: the kernel that runs here; None: look.

    Raises:
        UserError: a program that is not there.
        KernsmithError: a command failed, and failures are not ignored.
    """
    programs = {words: find_command(words) for words in plan.commands}
    before, heat = conditions(), throttled()
    kernel = identify(ledger, running or running_kernel())
    session = _Session(ledger, plan, kernel, before)
    draw = random.Random()
    total = (plan.warm_up + plan.runs) * len(plan.commands)
    done = 0
    for number in range(-plan.warm_up, plan.runs):
        order = list(plan.commands)
        draw.shuffle(order)
        for words in order:
            ran = run(programs[words], words)
            if number >= 0:
                session.record(words, number, done, ran)
            if ran.exit_code and not plan.ignore_failure:
                raise KernsmithError(_failure(words, ran))
            done += 1
            tell(done, total)
    seen = (*before, throttling(heat, throttled()))
    return session.result(seen)


def identify(ledger: Ledger, running: RunningKernel) -> Kernel:
    """The store's kernel with the running one's build id, if it has one."""
    for folder in sorted(paths.kernels().glob("*")) if running.build_id else ():
        found = load_kernel(folder)
        if found is not None and found.build_id == running.build_id:
            name = ledger.variant_of(found.key) or running.release
            return Kernel(found.key, name, True, running)
    return Kernel(running.key, f"Linux {running.release}", False, running)


@dataclass
class _Session:
    """The runs of one call."""

    ledger: Ledger
    plan: Plan
    kernel: Kernel
    before: tuple[Condition, ...]
    runs: dict[str, list[Ran]] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    boot: int = 0
    folder: str = field(default_factory=lambda: os.fsencode(Path.cwd()).decode(errors="replace"))
    began: str = field(default_factory=now)

    def __post_init__(self) -> None:
        self.runs = {join(words): [] for words in self.plan.commands}
        self.places = {command: [] for command in self.runs}
        self.failed = dict.fromkeys(self.runs, 0)
        running = self.kernel.running
        self.boot = self.ledger.find_boot(running.boot) or self.ledger.record_boot(
            BootRow(
                session=running.boot, machine=MACHINE, image=running.key, kernel=self.kernel.key,
                layout=LAYOUT, command=running.command, console="", started_at=running.booted_at,
            )
        )  # fmt: skip

    @property
    def cpu(self) -> str:
        """The processor, and which computer it is in: what times may be compared on."""
        return f"{self.before[0].value} @{self.kernel.running.host}"

    def record(self, words: Sequence[str], number: int, place: int, ran: Ran) -> None:
        """A run that counts, and its trial, which no other call shares. place: how many runs of
        all commands there were before it."""
        command = join(words)
        told = {each.name: each.value for each in self.before}
        asked: dict[str, Any] = {
            "command": list(words), "boot": self.kernel.running.boot, "began": self.began,
            "round": number, "warm_up": self.plan.warm_up, "conditions": told,
            "folder": self.folder,
        }  # fmt: skip
        key = [self.kernel.key, self.cpu, asked]
        digest = sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        self.ledger.add_trial(
            TrialRow(
                digest=digest, kernel=self.kernel.key, variant=self.kernel.name, layout=LAYOUT,
                workload=command, machine=MACHINE, cpu=self.cpu, replicate=number, conditions=asked,
            )
        )  # fmt: skip
        well = ran.exit_code == 0 or self.plan.ignore_failure
        self.ledger.record(
            RunRow(
                trial=digest, attempt=1, status=OK if well else FAILED,
                reason="" if well else _failure(words, ran), console="", started_at=now(),
                wall_seconds=ran.metrics[SECONDS],
                metrics=in_units(ran.metrics),
                provenance={"exit_code": ran.exit_code}, boot=self.boot,
            )
        )  # fmt: skip
        self.runs[command].append(ran)
        self.places[command].append(place)
        self.failed[command] += ran.exit_code != 0

    def result(self, seen: tuple[Condition, ...]) -> Measured:
        """With the comparisons of commands, and of this kernel with others."""
        names = list(self.runs)
        kernels, left_out = self._against_other_kernels()
        pairs = [
            Comparison("command", "", names[0], name, self._compare(names[0], name))
            for name in names[1:]
        ]
        return Measured(
            self.plan, self.kernel, {name: tuple(runs) for name, runs in self.runs.items()},
            self.failed, seen, (*_corrected(pairs), *_corrected(kernels)), left_out,
        )  # fmt: skip

    def _compare(self, baseline: str, treated: str) -> NestedEffect:
        """Of this call's runs; those of one round belong together."""
        rows = [
            Timing(name, self.kernel.key, self.kernel.running.boot, str(number), value, place)
            for name in (baseline, treated)
            for number, (ran, place) in enumerate(
                zip(self.runs[name], self.places[name], strict=True)
            )
            for value in [ran.metrics[SECONDS]]
        ]
        return nested_effect(rows, baseline, treated, alpha=self.plan.alpha)

    def _against_other_kernels(self) -> tuple[list[Comparison], tuple[LeftOut, ...]]:
        """Each command on every kernel of the ledger that ran it on this computer, against this.

        By the runs that ended well, in this folder, and those of which no folder is known.
        """
        earlier = self.ledger.earlier_runs(self.cpu, list(self.runs), SECONDS)
        names = {run.kernel: run.name for run in earlier}
        found = []
        for command in self.runs:
            rows = [
                Timing(run.kernel, run.layout, run.boot, str(run.number), run.value, run.number)
                for run in earlier
                if run.workload == command and is_comparable(run, self.folder)
            ]
            others = dict.fromkeys(row.variant for row in rows)
            for other in others if self.kernel.key in others else ():
                if other != self.kernel.key:
                    effect = nested_effect(rows, other, self.kernel.key, alpha=self.plan.alpha)
                    found.append(
                        Comparison("kernel", command, names[other], self.kernel.name, effect)
                    )
        if len(names) < 2:
            return found, ()
        return found, left_out([replace(run, name=self._name(run)) for run in earlier], self.folder)

    def _name(self, run: MeasuredRun) -> str:
        return self.kernel.name if run.kernel == self.kernel.key else run.name


def _corrected(pairs: Sequence[Comparison]) -> list[Comparison]:
    known = [pair.found.effect.p for pair in pairs if pair.found.effect.p is not None]
    corrected = iter(holm(known))
    return [
        Comparison(
            pair.of, pair.command, pair.baseline, pair.treated, pair.found,
            None if pair.found.effect.p is None else next(corrected),
        )
        for pair in pairs
    ]  # fmt: skip


def _failure(words: Sequence[str], ran: Ran) -> str:
    how = f"exit code {ran.exit_code}" if ran.exit_code > 0 else f"signal {-ran.exit_code}"
    last = ran.errors.splitlines()[-1] if ran.errors else ""
    said = f": {''.join(filter(str.isprintable, last))}" if last else ""
    return f"{join(words)} ended with {how}{said} (--ignore-failure measures it all the same)"
