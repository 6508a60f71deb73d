# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith measure`: any command on the running kernel, into the ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Annotated

from cyclopts import Parameter

SEPARATOR = "--"
_STOPPED = "the runs that have ended are in the ledger, and the same command begins anew"


def measure(
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    runs: int = 10,
    warm_up: int = 1,
    ignore_failure: Annotated[bool, Parameter(negative=())] = False,
    alpha: float = 0.05,
    ledger: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Measure commands on the running kernel, record every run, and say what they can bear.

    The kernel is known by its build id. Commands take turns in an order that is drawn anew in each
    round. Beside the times there is what the kernel counted (memory, page faults, switches,
    blocks), and what the machine was like (governor, turbo, SMT, load, …), which is told and not
    changed. A command that the ledger has of other kernels on this computer is compared with them.

    A command is run as it stands, without a shell; its output is thrown away.

    Examples:

        kernsmith measure --runs 30 -- tar xf linux.tar

        kernsmith measure -- gzip -k -f file -- zstd -q -f file

        kernsmith measure --json -- sh -c 'find /usr | wc -l'

    Parameters
    ----------
    words
        Behind --: a command; behind a further --: another one to compare with the first.
    runs
        Runs of each command that count.
    warm_up
        Runs of each command before them, which count nowhere.
    ignore_failure
        Measure commands that end with an error, too.
    alpha
        Error rate; intervals have 1 - alpha confidence.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print JSON.
    """
    from kernsmith.engine import measure as engine
    from kernsmith.ledger import Ledger

    plan = engine.Plan(tuple(split(words)), runs, warm_up, ignore_failure, alpha)
    opened = Ledger(ledger)
    try:
        measured = engine.measure(opened, plan, _tell)
    except KeyboardInterrupt as stopped:
        stopped.args = (_STOPPED,)
        raise
    finally:
        opened.close()
    if json:
        from kernsmith.report.measure.document import as_json

        sys.stdout.write(as_json(measured))
    else:
        from kernsmith.cli.console import text_width
        from kernsmith.report.measure.sections import measure_sections
        from kernsmith.report.plain import as_text

        sys.stdout.write(as_text(measure_sections(measured), text_width()))
    return 0


def split(words: Iterable[str]) -> list[tuple[str, ...]]:
    """The commands between separators; empty ones are left out."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word == SEPARATOR:
            commands.append([])
        else:
            commands[-1].append(word)
    return [tuple(command) for command in commands if command]


def _tell(done: int, total: int) -> None:
    """A line that is written over; nothing where standard error is no terminal."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} runs", end=end, file=sys.stderr, flush=True)
