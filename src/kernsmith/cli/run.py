# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith run`: run a study that the user wrote."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFolder
from kernsmith.study.check import check_trust
from kernsmith.study.file import read_study
from kernsmith.study.machines import on_machine
from kernsmith.study.study import LayoutsBy
from kernsmith.study.unsaid import oracles_on


def run(
    study: Path,
    /,
    *,
    machine: str = "",
    trust: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts_by: LayoutsBy | None = None,
    keep_traces: Annotated[bool, Parameter(negative=())] = False,
    oracle: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Run a study file: build, boot and measure all its variants, and compare them.

    What the ledger and the caches hold already is not repeated; a run that was killed goes on
    where it stopped.

    A study file starts no program by itself; a source that is built runs its Makefiles.

    On the machine self, this computer, it prepares a folder and says how the computer is sent
    through it; "kernsmith resume" reads what came out.

    Examples:

        kernsmith run studies/optimize.toml

        kernsmith run studies/seconds.toml --machine ssh:lab1

    Parameters
    ----------
    study
        The study's TOML file.
    machine
        Another machine than the study's, without settings: tcg, kvm, ssh:HOST, self or uml.
    trust
        A compiler or linker that the study names by its path, and that may be started; may be
        given several times. Those that are found by their names need no such word.
    layouts_by
        How random layouts are measured, whatever the study says: replay (one boot of each kernel
        and workload, or as many as the study says, serve all of them; two are linked and booted to
        check it) or boot (each is linked and booted).
    keep_traces
        Keep the traces that layouts are replayed from (some MB to hundreds each), for other
        studies of the same kernels and for `kernsmith layout`; `kernsmith prune traces` frees them.
    oracle
        Ask this oracle whether variants that are better work: kunit, selftests, lockdep, ubsan or
        kasan, see `kernsmith verify --help`; may be given several times. Default: selftests, on tcg
        and kvm; none asks nothing.
    output
        Folder for report.html, report.md, study.json and study.toml; default: one that is
        named after the study, in kernsmith-results.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    from kernsmith.cli.batches import instructions, pack_all
    from kernsmith.cli.outcome import run_and_show
    from kernsmith.engine.oracles import select_oracles

    asked = read_study(study, layouts_by)
    if machine:
        asked = on_machine(asked, machine)
    check_trust(asked, trust)
    waiting = pack_all(asked, ledger)
    if waiting:
        sys.stdout.write("".join(f"{instructions(each)}\n" for each in waiting))
        return 0
    return run_and_show(
        asked,
        output=output,
        ledger=ledger,
        as_json=json,
        keep_traces=keep_traces,
        oracles=select_oracles(oracles_on(asked.machine, oracle)),
        unasked=not oracle,
    )
