# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands run, batch and resume have in common: folders that a computer goes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernsmith import paths
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.batches import STUDY, Packed, pack_study, take_batch
from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared, prepare
from kernsmith.ledger import Ledger
from kernsmith.machine.remote.folder import PROGRAM, finished, last_step
from kernsmith.study import Study
from kernsmith.study.machines import on_each_machine, on_machine
from kernsmith.study.study import SELF


def folders() -> Path:
    """Where folders are made for this computer itself."""
    return paths.cache_root() / "batches"


def known_folders(study: str = "") -> Iterator[Path]:
    """Those of a study, given by the beginning of their names, the oldest first."""
    if folders().is_dir():
        made = (path for path in folders().iterdir() if (path / STUDY).is_file())
        yield from sorted(
            (path for path in made if path.name.startswith(study)),
            key=lambda path: (path / STUDY).stat().st_mtime,
        )


def on_self(study: Study, host: str = "") -> Study:
    """The study on the machine self alone. host: of its settings; empty: as the study says."""
    if study.machine != SELF or study.beside:
        study = on_machine(study, SELF)
    if host:
        settings = dict(study.settings) | {"host": host}
        study = replace(study, settings=tuple(sorted(settings.items())))
    return study


def pack_all(study: Study, ledger: str | None) -> list[Packed]:
    """What computers have to do that go through folders, of each such machine of a study.

    What they have done of earlier folders is recorded first; a folder that is not done with is told
    again, and no other one is made.
    """
    each = [one for one in on_each_machine(study) if one.machine == SELF]
    if not each:
        return []
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            packed = [_pack(prepare(one, display), opened, display) for one in each]
    finally:
        opened.close()
    return [one for one in packed if one]


def _pack(prepared: Prepared, ledger: Ledger, events: Events) -> Packed | None:
    name = f"{prepared.study.name}-{prepared.digest[:12]}"
    before = list(known_folders(f"{name}-"))
    for folder in before:
        take_batch(prepared, folder, ledger, events)
        if not finished(folder) and not _over(folder):
            return Packed(folder, 0, 0)
    return pack_study(prepared, ledger, events, folders() / f"{name}-{len(before) + 1}")


def _over(folder: Path) -> bool:
    """Whether it was left before its end."""
    return " stopped " in last_step(folder)


def instructions(packed: Packed) -> str:
    """What the user does with a folder."""
    if not packed.boots:
        state = last_step(packed.folder)
        if state:
            return (
                f"{packed.folder} is not done with: {state}; kernsmith resume reads what there is"
            )
        return (
            f"{packed.folder} was prepared before and is not begun; close what you work on, and:\n"
            f"    sudo {packed.folder / PROGRAM} start"
        )
    return (
        f"{packed.trials} trials in {packed.boots} boots are prepared; nothing is changed yet. "
        f"Close what you work on, and begin:\n    sudo {packed.folder / PROGRAM} start\n"
        "This computer then boots one kernel after the other, and is in its own one again at the "
        "end or at the first failure. Then:\n    kernsmith resume"
    )
