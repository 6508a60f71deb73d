# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith blame`: the objects and functions that make a kernel bad, found by linking alone."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import with_range
from kernsmith.cli.blame_tests import (
    BOOT,
    KUNIT,
    LEAST,
    SELFTESTS,
    mix_test,
    read_test,
    replayed_measures,
)
from kernsmith.cli.output import OutputFolder
from kernsmith.errors import UserError
from kernsmith.study import Design, Study
from kernsmith.study.study import DEFAULT_CPU
from kernsmith.study.unsaid import check_here
from kernsmith.study.words import Levels, read_variant

if TYPE_CHECKING:
    from kernsmith.document import BlameDocument, SharesDocument
    from kernsmith.engine.events import Events
    from kernsmith.engine.mix_replay import ReplaysMixes
    from kernsmith.engine.mix_tests import MixTest
    from kernsmith.kernel.artifact import Kernel
    from kernsmith.kernel.mixed import Pair


def blame(
    *,
    good: str,
    bad: str,
    source: str | None = None,
    config: str = "lab",
    compiler: str = "",
    test: Annotated[tuple[str, ...], Parameter(negative=())] = (BOOT,),
    metric: str = "",
    top: int = 0,
    among: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts: str = "",
    seed: int = 1,
    repeat: int = 1,
    functions: bool = True,
    train: Annotated[tuple[str, ...], Parameter(negative=())] = ("lab",),
    machine: str = "tcg",
    cpu: str = DEFAULT_CPU,
    output: OutputFolder | None = None,
    json: bool = False,
) -> int:
    """Find the smallest set of objects, then functions, whose exchange makes a good kernel bad.

    Both kernels are of one source and config, built by two compilers, with other flags, or with and
    without a profile. Nothing is compiled but these two: each test links the objects of the good
    kernel with some of the bad one's (delta debugging), several at once, and judges what comes out.
    Then functions of the objects that were found are exchanged likewise, as far as each has a
    section of its own (CONFIG_AUTOFDO_CLANG=y sees to that). Killed at any moment, the same command
    goes on where it stopped.

    With --top N the question is another one: which N objects bring most of what the kernels differ
    by in a metric, each by how much, and all of them together.

    The exit code is 0 when objects were found, 1 when the bad kernel is good, or bad by its link
    alone, or the test is flaky, 2 for bad input.

    Examples:

        kernsmith blame --source debian:7.3 --good default --bad optimisation=O3 --test lab

        kernsmith blame --good 8cbd96d6c2a2 --bad ~/kernels/odd/vmlinux --test ./check.sh

        kernsmith blame --good 1f0c2a --bad 77d1e9 --test kunit

        kernsmith blame --source debian:7.3 --config micro --good default --bad profile=autofdo
        --test pipe --metric kernel_instructions

        kernsmith blame --source debian:7.3 --config micro --good default --bad profile=autofdo
        --test lab --metric model_cycles --top 10

        kernsmith blame --source debian:7.3 --config micro --good default --bad profile=autofdo
        --test lab --metric model_cycles --among kernel/sched/fair.o

    Parameters
    ----------
    good
        A variant that works, in the words of `kernsmith compare` (`default`, FACTOR=LEVEL with
        commas between them), or a kernel that is built: its folder, its vmlinux, or its key.
    bad
        A variant or a kernel that does not.
    source
        A kernel tree: a folder, a tarball, git:FOLDER@REVISION, or debian:VERSION.
    config
        A shipped config (lab, micro), a fragment over tinyconfig, or a complete .config.
    compiler
        The compiler's program (clang-22, gcc-12, or a path); default: the newest installed clang.
    test
        What a good kernel passes: boot; kunit, of kernels with unit tests, those that the good one
        passes; selftests, likewise of the kernel's own ones; a workload, a set of them or a file of
        your own, each of which checks what it did (may be given several times); or a command, which
        gets the path of the mixed vmlinux in the place of {} or behind it, and ends with 0 for
        good, 125 for "cannot tell", and any other code below 128 for bad; 128 and above (a
        signal) ends the search.
    metric
        Bad is a kernel whose metric changes over layouts, by half of what it does in the bad kernel
        or more, in the workloads that --test names.
    top
        So many objects that bring most of the difference in --metric, each measured alone in the
        good kernel; 0: the smallest set that is bad.
    among
        Objects that may be to blame (fs/pipe.o, fs/*.o, fs/**); all others stay the good kernel's.
        May be given several times. Default: all that differ.
    layouts
        Random layouts in which a mixed kernel is measured: a number, or a range that is gone
        through while it is not clear. A metric of the CPU model is replayed in all of them at once.
        Only with --metric. Default: 4..16; with --top a number, 16.
    seed
        Seed of the layouts.
    repeat
        How often a test runs on each mixed kernel, which is bad when it is bad once.
    functions
        Whether to go on to the functions of the objects; without, those are named whose code
        differs.
    train
        Workloads or sets of them that the profiles of variants are trained on.
    machine
        Where kernels boot.
    cpu
        CPU model of the tcg machine.
    output
        Folder for the state, blame.json, blame.md and blame.html, or shares.* with --top; default:
        kernsmith-results/blame-… or shares-…, by what is asked.
    json
        Print the result as JSON instead of tables.
    """
    check_here(machine)
    if repeat < 1:
        raise UserError(f"--repeat takes a number from 1 on, not {repeat}")
    if repeat > 1 and metric:
        raise UserError("--repeat is of tests: a metric is measured in more layouts instead")
    if good == bad:
        raise UserError(f"--good and --bad are both {good!r}")
    _check_top(top, metric, layouts)
    layouts = layouts or ("16" if top else "4..16")
    design = Design(seed=seed, metric=metric)
    design = with_range(design, layouts)
    from kernsmith.cli.console import result_console
    from kernsmith.document.text import as_json
    from kernsmith.report.blame.terminal import print_blame
    from kernsmith.report.shares.terminal import print_shares

    kernels = {word: _built(word) for word in (good, bad)}
    named = tuple((word, _read_words(word, source)) for word in kernels if kernels[word] is None)
    workloads, command = read_test(test)
    if metric and command:
        raise UserError("--metric is measured in workloads: --test names these, and no command")
    if metric and test in ((KUNIT,), (SELFTESTS,)):
        raise UserError(f"--metric is measured in workloads: --test names these, and not {test[0]}")
    study = Study(
        name="blame",
        source=_source_of(named, source),
        config=config,
        factors=(),
        variants=named,
        workloads=tuple(each.file or each.name for each in workloads) or (LEAST,),
        train=train,
        machine=machine,
        cpu=cpu,
        compiler=compiler,
        design=design if metric else replace(design, layouts=0),
    )
    if top:
        measures = replayed_measures(study, workloads)
        shares = _share_out(study, kernels, among, measures, top, output)
        if json:
            sys.stdout.write(as_json(shares))
        else:
            print_shares(shares, result_console())
        return 0 if shares.top else 1
    asked = mix_test(study, workloads, command, " ".join(test), repeat)
    document = _run(study, kernels, among, asked, output, functions=functions)
    if json:
        sys.stdout.write(as_json(document))
    else:
        print_blame(document, result_console())
    return 0 if document.blamed else 1


def _check_top(top: int, metric: str, layouts: str) -> None:
    if top < 0:
        raise UserError(f"--top takes a number of objects, not {top}")
    if top and not metric:
        raise UserError("--top asks for the objects that bring most of a metric: give --metric")
    if top and ".." in layouts:
        raise UserError(f"--layouts takes one number with --top, not {layouts!r}")
    if top and layouts in ("0", "1"):
        raise UserError("--top needs two layouts or more: one has no spread")


def _run(
    study: Study,
    kernels: dict[str, Kernel | None],
    among: tuple[str, ...],
    test: MixTest,
    output: Path | None,
    *,
    functions: bool,
) -> BlameDocument:
    """Build what is not built, search, and write the result's files."""
    from kernsmith.cli.outcome import write_blame
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.blame import Blame, blame_key

    with ProgressDisplay() as display:
        pair = _pair(study, kernels, among, display)
        key = blame_key(pair, test)
        folder = (output or Path("kernsmith-results") / f"blame-{key}").absolute()
        asked = Blame(pair, test, folder / f"state-{key}", display, functions=functions)
        document = asked.run()
    return write_blame(document, folder)


def _share_out(
    study: Study,
    kernels: dict[str, Kernel | None],
    among: tuple[str, ...],
    measures: ReplaysMixes,
    top: int,
    output: Path | None,
) -> SharesDocument:
    """Build what is not built, measure, and write the result's files."""
    from kernsmith.cli.outcome import write_shares
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.shares import Shares, shares_key

    with ProgressDisplay() as display:
        pair = _pair(study, kernels, among, display)
        key = shares_key(pair, measures)
        folder = (output or Path("kernsmith-results") / f"shares-{key}").absolute()
        asked = Shares(pair, measures, top, folder / f"state-{key}", display, study.cpu)
        document = asked.run()
    return write_shares(document, folder)


def _pair(
    study: Study, kernels: dict[str, Kernel | None], among: tuple[str, ...], events: Events
) -> Pair:
    """The two kernels; those that are not built are."""
    from kernsmith.engine.sides import built_variants
    from kernsmith.kernel.mixed import Pair
    from kernsmith.study.file import located

    missing = {}
    if study.variants:
        known = [kernel for kernel in kernels.values() if kernel]
        missing = built_variants(located(study, Path.cwd()), events, beside=known)
    good, bad = (kernel or missing[word] for word, kernel in kernels.items())
    return Pair(good, bad, among)


def _built(word: str) -> Kernel | None:
    """The kernel that a word names; None for the words of a variant."""
    from kernsmith.kernel.artifact import DamagedKernel, named_kernel

    try:
        return named_kernel(word)
    except DamagedKernel:
        raise
    except UserError:
        return None


def _read_words(word: str, source: str | None) -> Levels:
    """The levels of a variant that is to be built.

    Raises:
        UserError: these are no words of one, nor does one that may be meant for a kernel name any.
    """
    try:
        return read_variant(word, source)
    except UserError:
        if "=" not in word and ":" not in word and (reason := _not_built(word)):
            told = f"{reason}; a variant is written as default or FACTOR=LEVEL"
            raise UserError(told) from None
        raise


def _not_built(word: str) -> str:
    """Why a word names no kernel that is built."""
    from kernsmith.kernel.artifact import named_kernel

    try:
        named_kernel(word)
    except UserError as error:
        return str(error)
    return ""


def _source_of(named: tuple[tuple[str, Levels], ...], source: str | None) -> str:
    """The source of the variants that are to be built; what was named when there are none."""
    sources = [source or dict(levels).get("source", "") for _, levels in named]
    if "" in sources:
        raise UserError("which source? give --source, or name two kernels that are built")
    return sources[0] if sources else source or ""
