# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on a computer that runs no kernsmith meanwhile: packed into a folder, read from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from kernsmith.engine.builds import record_builds
from kernsmith.engine.events import Events
from kernsmith.engine.maker import open_maker
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.run import keeping, plan_of
from kernsmith.engine.trial_rows import boot_row, run_row
from kernsmith.engine.trials import open_trials, visits_of
from kernsmith.engine.workers import Workers
from kernsmith.errors import UserError
from kernsmith.files import write_text
from kernsmith.ledger import Ledger, TrialRow
from kernsmith.machine import Job
from kernsmith.machine.protocol import Carried
from kernsmith.study.writing import write_study

STUDY, TRIALS = "study.toml", "trials.json"
_FORMAT = 1


@dataclass(frozen=True)
class Packed:
    """folder: what was written. boots, trials: how many are in it."""

    folder: Path
    boots: int
    trials: int


def pack_study(
    prepared: Prepared,
    ledger: Ledger,
    events: Events,
    folder: Path,
    workers: Workers | None = None,
) -> Packed | None:
    """Build all that a study asks for, and pack the trials that have no run yet.

    folder: is not there yet. None where every trial has its run.

    Raises:
        UserError: the folder is there, or cannot be written; see also `run_study`.
    """
    machine = prepared.machine
    assert isinstance(machine, Carried)
    if prepared.study.design.until:
        raise UserError(
            f"design.until: the machine {machine.name} goes through a plan that is made before: "
            "say the number of layouts by design.layouts"
        )
    if folder.exists():
        raise UserError(f"{folder} is there already: name a folder that is not")
    forge = open_maker(prepared, events, keeping(prepared, ledger), workers)
    try:
        forge.build()
    finally:
        record_builds(prepared, forge, ledger)
    forge.link()
    rows = plan_of(prepared, forge, ledger)
    todo = open_trials(rows, machine, ledger, events)
    if not todo:
        return None
    events.stage(f"pack {len(todo)} trials into {folder}")
    visits = [
        (visit.image, [Job(prepared.workload(trial.workload), folder, trial.replicate,
                           name=rows[trial].digest) for trial in visit.tasks])
        for visit in visits_of(prepared, forge, todo, folder)
    ]  # fmt: skip
    part = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        machine.pack(visits, part)
        _describe(prepared, {rows[trial].digest: rows[trial] for trial in todo}, part)
        part.rename(folder)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Packed(folder, len(visits), len(todo))


def _describe(prepared: Prepared, rows: Mapping[str, TrialRow], folder: Path) -> None:
    """What only this side reads."""
    write_text(folder / STUDY, write_study(prepared.study))
    trials = {
        digest: vars(row) | {"conditions": dict(row.conditions)} for digest, row in rows.items()
    }
    document = {"format": _FORMAT, "batch": uuid4().hex, "study": prepared.study.name}
    write_text(folder / TRIALS, json.dumps(document | {"trials": trials}))


def take_batch(prepared: Prepared, folder: Path, ledger: Ledger, events: Events) -> int:
    """Record what a computer has measured of a folder; returns how many runs are new.

    What was recorded before is left alone, whoever did it.

    Raises:
        UserError: the folder is none, or of another study.
    """
    machine = prepared.machine
    assert isinstance(machine, Carried)
    batch, rows = read_trials(folder)
    ledger.add_trials(rows.values())
    boots: dict[int, int] = {}
    new = 0
    for name, outcome in machine.unpack(folder):
        if name not in rows:
            continue
        row = rows[name]
        origin = f"{batch}/{outcome.boot.number}"
        known = ledger.runs([name]).get(name)
        if known is not None and (known.ok or known.provenance.get("batch") == origin):
            continue
        attempt = ledger.claim(name)
        if attempt is None:
            events.note(f"another process holds a trial of {row.variant}: ask again")
            continue
        number = outcome.boot.number
        if number not in boots:
            found = ledger.find_boot(origin)
            boots[number] = (
                ledger.record_boot(boot_row(origin, row, outcome.boot)) if found is None else found
            )
        run = run_row(name, attempt, outcome.boot.started_at, outcome, boots[number])
        ledger.record(replace(run, provenance={**run.provenance, "batch": origin}))
        new += 1
        if not outcome.ok:
            events.note(f"{outcome.status}: {row.variant}, {row.workload}: {outcome.reason}")
    return new


def read_trials(folder: Path) -> tuple[str, dict[str, TrialRow]]:
    """The batch's own name, and its trials by digest.

    Raises:
        UserError: it is no folder that `pack_study` wrote.
    """
    try:
        text = (folder / TRIALS).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{folder} is no folder of kernsmith batch: {TRIALS} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {folder / TRIALS}: {error}") from None
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise UserError(f"{folder} was written by another version of kernsmith")
        rows = {digest: TrialRow(**fields) for digest, fields in document["trials"].items()}
        return str(document["batch"]), rows
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(
            f"{folder / TRIALS} is damaged: copy it anew from where kernsmith batch wrote it"
        ) from None
