# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith compare`: write the study "A and B over random layouts" and run it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import read_percent, with_layouts
from kernsmith.cli.output import OutputFolder
from kernsmith.document import StudyDocument
from kernsmith.document.study import OVERALL
from kernsmith.errors import UserError
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
from kernsmith.study.words import read_variant

REGRESSION = 3


def compare(
    a: str,
    b: str,
    /,
    *,
    source: str | None = None,
    config: str = "",
    workload: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    root: Annotated[Path | None, Parameter(name="--root")] = None,
    machine: str = "tcg",
    cpu: str = DEFAULT_CPU,
    depth: Depth = FRONTEND,
    layouts: str = "8..64",
    until: str | None = None,
    metric: str = "",
    fail_above: str | None = None,
    seed: int = 1,
    compiler: str = "",
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Compare two variants: the change itself, apart from where the code happened to land.

    A and B are measured in the same random layouts: functions that are equally long in both lie
    at the same addresses. The verdict is about B against A. It stands beside what the single
    default binaries would have said.

    A variant is a list of settings with commas between them, over what the options say:
    FACTOR=LEVEL (source, revision, config, compiler, march, optimisation, alignment, flags,
    profile, CONFIG_…), or first a source or a git revision alone; `default` changes nothing.

    The exit code is 0 whatever the verdict, 1 when a variant or a trial failed, 2 for bad input,
    and 3 for a regression above --fail-above.

    Examples:

        kernsmith compare --source ~/linux v7.2 v7.3

        kernsmith compare --source . HEAD . --workload pipe --fail-above 0.5%

        kernsmith compare --source debian:7.3 default CONFIG_PSI=n

        kernsmith compare --source debian:7.3 default march=x86-64-v3,optimisation=O3

        kernsmith compare --source debian:7.3 default optimisation=O3 --machine kvm

        kernsmith compare git:~/linux@v7.2 debian:7.3,config=my.config,flags=-fno-inline

    Parameters
    ----------
    a
        The variant that B is compared with.
    b
        The variant that is judged.
    source
        A kernel tree: a folder, a tarball, git:FOLDER@REVISION, or debian:VERSION. May be left
        out when A and B name theirs.
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
        Random layouts that each kernel is measured in: a number, or a range such as 8..64 that
        --until goes through.
    until
        Go on with more layouts until the overall interval is narrower than this; default 0.5%
        with a range of layouts.
    metric
        What the verdict is about; default: model_cycles, or cycles or seconds on a machine without
        a model. Kernel instructions are shown beside it.
    fail_above
        Exit code 3 when B is significantly worse than A and the change is above this many per
        cent: 0% fails on any regression.
    seed
        Seed of the layouts and of the order of trials.
    compiler
        The compiler's program (clang-22, gcc-12, or a path); default: the newest installed clang.
    output
        Folder for report.html, report.md, study.json and study.toml; default: one that is
        named after the study, in kernsmith-results.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    limit = None if fail_above is None else read_percent("--fail-above", fail_above)
    check_here(machine)
    if a == b:
        raise UserError(
            f"A and B are both {a!r}; to compare a kernel with itself write label=a and label=b"
        )
    sides = [(text, read_variant(text, source)) for text in (a, b)]
    sources = [dict(levels).get("source", source) for _, levels in sides]
    if sources[0] is None or sources[1] is None:
        raise UserError("which source? give --source, or name one in both variants")
    study = Study(
        name="compare",
        source=source or sources[0],
        config=config_on(machine, config),
        factors=(),
        variants=tuple(sides),
        workloads=workloads_on(machine, workload),
        root=str(root.absolute()) if root else "",
        machine=machine,
        cpu=cpu,
        settings=settings_on(machine, depth),
        compiler=compiler,
        design=_design(layouts, until, metric, seed, machine),
    )
    from kernsmith.cli.outcome import exit_code, run_and_write, show
    from kernsmith.study.file import located

    document = run_and_write(located(study, Path.cwd()), output=output, ledger=ledger)
    show(document, as_json=json)
    if limit is not None and is_regression(document, limit):
        return REGRESSION
    return exit_code(document)


def _design(layouts: str, until: str | None, metric: str, seed: int, machine: str) -> Design:
    width = 0.5 if until is None else read_percent("--until", until)
    design = Design(
        seed=seed,
        until=width,
        metric=metric,
        pairing=pairing_on(machine),
        runs=runs_on(machine),
    )
    design = with_layouts(design, layouts)
    if until is not None and width and not design.until:
        raise UserError(f"--until needs a range of layouts, such as 8..64, and not {layouts!r}")
    return design


def is_regression(document: StudyDocument, limit: float) -> bool:
    """Whether the study's own metric is significantly worse, by more than `limit` per cent."""
    metric = document.study.metric
    sign = 1 if document.lower_is_better(metric) else -1
    return any(
        verdict.significant and sign * (verdict.ratio - 1) > limit / 100
        for verdict in document.verdicts
        if verdict.workload == OVERALL and verdict.metric == metric
    )
