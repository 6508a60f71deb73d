# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith bisect`: the commit that made a kernel slower, never one that only moved code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import read_percent, with_range
from kernsmith.cli.output import OutputFolder
from kernsmith.study import Design, Study
from kernsmith.study.study import DEFAULT_CPU, FRONTEND, Depth
from kernsmith.study.unsaid import (
    check_here,
    config_on,
    pairing_on,
    runs_on,
    settings_on,
    workloads_on,
)

if TYPE_CHECKING:
    from kernsmith.document import BisectDocument
    from kernsmith.kernel.history import Commit, Repository


def bisect(
    *,
    good: str,
    bad: str,
    source: Path = Path(),
    config: str = "",
    workload: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    root: Annotated[Path | None, Parameter(name="--root")] = None,
    machine: str = "tcg",
    cpu: str = DEFAULT_CPU,
    depth: Depth = FRONTEND,
    layouts: str = "8..64",
    until: str = "0.5%",
    metric: str = "",
    threshold: str | None = None,
    seed: int = 1,
    compiler: str = "",
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Find the commit that made a kernel slower, by git bisect over random layouts.

    Every step compares a commit with the good one as `kernsmith compare` does, with more layouts
    until it is clear on which side of the threshold its change lies: a jump that is only layout
    is never followed. Commits that do not build or boot are skipped. The repository is only read;
    git bisects in a private one. Killed at any moment, the same command goes on where it stopped.

    The exit code is 0 when the first bad commit was found, 1 when there is none (the bad revision
    is not worse over layouts) or only skipped commits are left, 2 for bad input.

    Examples:

        kernsmith bisect --good v7.2 --bad v7.3 --source ~/linux --workload pipe

        kernsmith bisect --good HEAD~16 --bad HEAD --workload file --metric kernel_instructions

    Parameters
    ----------
    good
        A revision that is fast.
    bad
        A revision that is slower.
    source
        The folder of the git repository.
    config
        A shipped config (lab, the default; micro), a fragment over tinyconfig, a full .config,
        debian:FLAVOUR (cloud-amd64), or running; see kernsmith optimize --help.
    workload
        Workloads or sets of them to measure; may be given several times. Default: lab; on the
        machine uml its own load.
    root
        A folder or an image that workloads with a root file system run in, in place of the roots
        that their files ask for (docs/root.md).
    machine
        Where kernels boot: tcg; kvm, on this processor, in time; ssh:HOST, a real machine that ssh
        leads to, likewise; or uml, where kernel code runs as a program on this processor.
    cpu
        CPU model of the tcg machine: a shipped one (`kernsmith cpu models`) or a TOML file. By
        default emeraldrapids, the one that was held against a processor.
    depth
        How deep the tcg machine simulates it: frontend (what code costs), or core (loads and
        stores, too: a model with [data], such as emeraldrapids).
    layouts
        Random layouts of each kernel: a number, or a range such as 8..64 that is gone through
        while a step is not clear.
    until
        How narrow the interval of the bad revision's change must be to say that there is none,
        and that of the first bad commit's change to stop adding layouts to it.
    metric
        What gets worse; default: model_cycles, or cycles or seconds on a machine without a model.
    threshold
        By how many per cent a commit must be worse than the good revision to be bad; default:
        half of the bad revision's change, which must be above 0.01 %.
    seed
        Seed of the layouts and of the order of trials.
    compiler
        The compiler's program (clang-22, gcc-12, or a path); default: the newest installed clang.
    output
        Folder for the state, bisect.json and the first bad commit's report; default:
        kernsmith-results/bisect-…, by what is asked.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    limit = None if threshold is None else read_percent("--threshold", threshold)
    check_here(machine)
    design = Design(seed=seed, metric=metric, pairing=pairing_on(machine), runs=runs_on(machine))
    design = with_range(design, layouts)
    from dataclasses import replace

    from kernsmith.cli.console import result_console
    from kernsmith.document.text import as_json
    from kernsmith.kernel.history import Repository
    from kernsmith.kernel.toolchain import default_compiler
    from kernsmith.report.bisect.terminal import print_bisect
    from kernsmith.study.file import located

    repository = Repository(source.expanduser().absolute())
    commits = repository.commit(good), repository.commit(bad)
    repository.check_ends(*commits)
    study = Study(
        name="bisect",
        source=str(repository.folder),
        config=config_on(machine, config),
        factors=(),
        workloads=workloads_on(machine, workload),
        root=str(root.absolute()) if root else "",
        machine=machine,
        cpu=cpu,
        settings=settings_on(machine, depth),
        # Named: the state of a bisection is of one compiler, whatever is installed meanwhile.
        compiler=compiler or default_compiler(),
        design=replace(design, until=read_percent("--until", until)),
    )
    document = _run(repository, commits, located(study, Path.cwd()), limit, output, ledger)
    if json:
        sys.stdout.write(as_json(document))
    else:
        print_bisect(document, result_console())
    return 0 if len(document.first_bad) == 1 else 1


def _run(
    repository: Repository,
    commits: tuple[Commit, Commit],
    study: Study,
    limit: float | None,
    output: Path | None,
    ledger: str | None,
) -> BisectDocument:
    """Bisect, and write the result's files."""
    from kernsmith.cli.outcome import write_bisect
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.bisect import Bisect, bisect_document, bisect_key
    from kernsmith.ledger import Ledger

    key = bisect_key(*commits, study, limit)
    folder = (output or Path("kernsmith-results") / f"bisect-{key}").absolute()
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            found = Bisect(
                repository, *commits, study, limit, folder / f"state-{key}", opened, display
            ).run()
    finally:
        opened.close()
    return write_bisect(bisect_document(found), found.verdict, folder)
