# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith batch`: a whole study as a folder that another computer goes through alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFolder
from kernsmith.study.check import check_trust
from kernsmith.study.file import read_study


def batch(
    study: Path,
    /,
    *,
    output: OutputFolder,
    host: str = "",
    trust: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    ledger: str | None = None,
) -> int:
    """Pack a study into a folder that is carried to a computer, and back.

    All kernels are built here. The folder has them, the plan and what measures: it needs no
    network, and nothing is installed there. There, as root, "./kernsmith-batch start" boots one
    kernel after the other by kexec, measures, and comes back to the computer's own kernel; its
    default boot entry stays what it is. Then "kernsmith resume FOLDER" here reads what came out.

    Example:

        kernsmith batch studies/seconds.toml -o seconds --host lab7

    Parameters
    ----------
    study
        The study's TOML file. Whatever machine it names, the folder is for the machine self.
    output
        The folder, which is not there yet.
    host
        What you call the computer that it is for: runs of different ones are never compared.
        Default: that of the study's settings, else this computer.
    trust
        A compiler or linker that the study names by its path, and that may be started; may be
        given several times.
    ledger
        URL of the ledger; default: SQLite in the cache.
    """
    from kernsmith.cli.batches import on_self
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.batches import pack_study
    from kernsmith.engine.prepare import prepare
    from kernsmith.ledger import Ledger

    asked = on_self(read_study(study), host)
    check_trust(asked, trust)
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            packed = pack_study(prepare(asked, display), opened, display, output)
    finally:
        opened.close()
    if packed is None:
        sys.stdout.write("every trial has its run already: kernsmith run shows the verdict\n")
        return 0
    sys.stdout.write(
        f"{packed.trials} trials in {packed.boots} boots. Copy {output} to a disk of the computer "
        f"that is mounted when it boots, and there, as root:\n    {output.name}/kernsmith-batch "
        f"start\nWhen it is done, copy the folder back, and here:\n    kernsmith resume {output}\n"
    )
    return 0
