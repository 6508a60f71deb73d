# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith resume`: what a computer has measured alone comes to the ledger, and to a verdict."""

from __future__ import annotations

from pathlib import Path

from kernsmith.cli.output import OutputFolder


def resume(
    folder: Path | None = None,
    /,
    *,
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Read what a computer has measured of a folder, and say what came out.

    At any time and as often as you like: what is recorded already is left alone. What has no run
    yet, as after a kernel that died, is packed again by the next "kernsmith run" or "kernsmith
    batch".

    Example:

        kernsmith resume

        kernsmith resume seconds -o report

    Parameters
    ----------
    folder
        Of "kernsmith batch", as it came back; default: the newest one of "kernsmith run" on the
        machine self.
    output
        Folder for report.html, report.md, study.json and study.toml; default: one that is
        named after the study, in kernsmith-results.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    from kernsmith.cli.batches import known_folders
    from kernsmith.cli.outcome import run_and_show
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.batches import STUDY, read_trials, take_batch
    from kernsmith.engine.prepare import prepare
    from kernsmith.errors import UserError
    from kernsmith.ledger import Ledger
    from kernsmith.machine.remote.folder import finished, last_step
    from kernsmith.study.file import read_study

    if folder is None:
        folder = next(reversed(list(known_folders())), None)
        if folder is None:
            raise UserError("nothing was prepared for this computer: kernsmith run --machine self")
    read_trials(folder)
    if not last_step(folder):
        raise UserError(f"{folder} was not begun: sudo {folder}/kernsmith-batch start")
    study = read_study(folder / STUDY)
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            new = take_batch(prepare(study, display), folder, opened, display)
            display.note(f"{new} new runs; the computer: {last_step(folder)}")
            if not finished(folder):
                display.note("it is not done with the folder")
            if not opened.runs(read_trials(folder)[1]):
                raise UserError(f"nothing was measured of {folder} yet: {last_step(folder)}")
    finally:
        opened.close()
    return run_and_show(study, output=output, ledger=ledger, as_json=json)
