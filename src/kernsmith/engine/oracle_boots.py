# SPDX-License-Identifier: GPL-2.0-or-later
"""The boots in which oracles ask, several at once; what an exact machine has answered is kept with
the kernel, and not asked again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.engine.oracles import WORDS
from kernsmith.engine.workers import Done, Say, Work, Workers
from kernsmith.errors import DiskFull, KernsmithError
from kernsmith.files import locked, write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import FOLDER_LETTERS, stored_kernel
from kernsmith.machine import Boot, Job, Machine, Outcome, run_to_judge
from kernsmith.study.variant import digest_of

_KEPT = "oracles"
_CONSOLE = "console.log"
_OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Question:
    """A boot. kernel: the key of what boots. folder: for its console, and of no other boot."""

    machine: Machine
    kernel: str
    workload: Workload
    folder: Path


def answered(
    questions: Sequence[Question], workers: Workers, told: Callable[[int], None]
) -> dict[Question, Outcome | KernsmithError]:
    """How each boot has ended, or why it could not be made.

    told: called with how many are over. Raises DiskFull.
    """
    found: dict[Question, Outcome | KernsmithError] = {}

    def take(done: Done[Outcome]) -> None:
        if isinstance(done.error, DiskFull):  # of none of them more than of another
            raise done.error
        found[questions[done.place]] = done.error or done.result()
        told(len(found))

    told(0)
    workers.each((Work(ask, (each,)) for each in questions), take)
    return found


def ask(say: Say, question: Question) -> Outcome:
    """Boot, unless the same boot has ended well before: its console is in the folder then, too."""
    kernel = stored_kernel(question.kernel)
    if kernel is None:
        raise KernsmithError(f"the store has lost the kernel {question.kernel[:FOLDER_LETTERS]}")
    asked = [question.workload.amount, dict(question.machine.fingerprint())]
    kept = kernel.folder / _KEPT / digest_of(asked)[:32]
    # Where `Store.remove` sees that somebody is using the kernel.
    with locked(kernel.folder / f"{_KEPT}-{kept.name}.lock"):
        if known := _known(kept, question.folder):
            return known
        archive = kernel.guest_archive
        job = Job(question.workload, question.folder, words=WORDS, modules=archive, counted=False)
        outcome = run_to_judge(question.machine, kernel.vmlinux, job)
        if outcome.ok and question.machine.exact:
            _keep(outcome, kept)
        return outcome


def _known(kept: Path, folder: Path) -> Outcome | None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        told = json.loads((kept / _OUTCOME).read_text(encoding="utf-8"))
        console = Path(shutil.copy2(kept / _CONSOLE, folder / _CONSOLE))
        boot = Boot(0, tuple(told["command"]), console, told["started_at"], told["status"])
        return Outcome(told["status"], "", {}, console, told["wall_seconds"], boot)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(outcome: Outcome, kept: Path) -> None:
    """The outcome last: what was killed before it is asked again."""
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copy2(outcome.console, kept / _CONSOLE)
    told = {
        "status": outcome.status,
        "command": outcome.boot.command,
        "started_at": outcome.boot.started_at,
        "wall_seconds": outcome.wall_seconds,
    }
    write_text(kept / _OUTCOME, json.dumps(told))
