# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith optimize`: write the study "without and with a profile" and run it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import read_percent
from kernsmith.cli.output import OutputFolder
from kernsmith.cli.package import Format
from kernsmith.errors import UserError
from kernsmith.study import Design, Study
from kernsmith.study.config_word import parse_config_word
from kernsmith.study.factors.profile import BEHIND, BEST, NONE
from kernsmith.study.factors.unseen import COLD
from kernsmith.study.factors.unseen import FACTOR as UNSEEN
from kernsmith.study.steps import step_kinds
from kernsmith.study.study import (
    DEFAULT_CPU,
    DEFAULT_LAYOUTS,
    FRONTEND,
    MOST_LAYOUTS,
    Depth,
    LayoutsBy,
    default_layouts_by,
)
from kernsmith.study.unsaid import (
    check_here,
    config_on,
    oracles_on,
    runs_on,
    settings_on,
    workloads_on,
)


def optimize(
    *,
    source: str,
    config: str = "",
    workload: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    train: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    folds: int = 0,
    only_trained: Annotated[bool, Parameter(negative=())] = False,
    machine: str = "tcg",
    cpu: str = DEFAULT_CPU,
    depth: Depth = FRONTEND,
    layouts: int | None = None,
    layouts_by: LayoutsBy | None = None,
    keep_traces: Annotated[bool, Parameter(negative=())] = False,
    until: str | None = None,
    seed: int = 1,
    compiler: str = "",
    steps: Annotated[str, Parameter(name="--with")] = BEST,
    profile: Path | None = None,
    root: Annotated[Path | None, Parameter(name="--root")] = None,
    suffix: str = "",
    package: Format | None = None,
    proof: bool = True,
    oracle: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    output: OutputFolder | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Build a kernel for a workload and prove that it is faster.

    Builds the kernel, runs the workloads on it, rebuilds it with their exact branch profile, links
    both kernels in random layouts, and measures all of them. By default the new kernel has the
    best stack of profile-guided steps that the compiler and the source can carry: with clang 22
    and Linux 7.3 AutoFDO, ThinLTO, Propeller and the best order of functions. With steps that are
    named, each is measured beside those before it. Asking again takes everything from the caches;
    a run that was killed goes on where it stopped.

    Examples:

        kernsmith optimize --source debian:7.3 --config lab --workload lab

        kernsmith optimize --source debian:7.3 --config lab --with autofdo

        kernsmith optimize --source git:~/linux@v7.3 --config my.config --workload pipe --train file

        kernsmith optimize --source debian:7.3 --config micro --with autofdo,propeller

        kernsmith optimize --source debian:7.3 --with instrumented --compiler gcc-12

        kernsmith optimize --source debian:7.3 --with instrumented,propeller,layout

        kernsmith optimize --source debian:7.3 --config micro --folds 3

        kernsmith optimize --source debian:7.3 --config micro --workload pipe --only-trained

        kernsmith optimize --source debian:7.3 --with autofdo --profile web.afdo

        kernsmith optimize --source debian:6.12 --config micro --with autofdo

        kernsmith optimize --source debian:7.3 --config debian:cloud-amd64 --workload net

        kernsmith optimize --source debian:7.3 --config lab --suffix web --package deb

    Parameters
    ----------
    source
        A kernel tree: a folder, a tarball, git:FOLDER@REVISION, or debian:VERSION. One that is too
        old for AutoFDO (before Linux 6.13) gets it by flags and a patch that is shown; steps that
        it cannot have are left out and named.
    config
        A shipped config (lab, the default; micro, modules), a fragment over tinyconfig, or a
        complete .config. A comment in it, `# loads: NAME NAME`, names modules that the guest loads.
        Or a kernel's that people run: debian:FLAVOUR (debian:cloud-amd64, of the source's version),
        or running (this host's kernel); behind these two, +lsmod:FILE builds no modules but those
        in a list as /proc/modules is one. What must be set besides for such a kernel to be measured
        is told.
    workload
        Workloads or sets of them to measure; may be given several times. Default: lab; on the
        machine uml its own load.
    train
        Workloads to train on; default: all that are measured.
    folds
        Also build so many kernels more, each trained without some of the workloads, and judge them
        by these: what the profile is worth to a workload that it has not seen.
    only_trained
        The kernel will do nothing but what it was trained on: what no training workload has run is
        compiled for size and put far away. By default it is compiled as without a profile.
    machine
        Where kernels boot: tcg; kvm, on this processor, in time; ssh:HOST, a real machine that ssh
        leads to, likewise; or uml, where kernel code runs as a program on this processor.
    cpu
        CPU model of the tcg machine: a shipped one (`kernsmith cpu models`) or a TOML file. By
        default emeraldrapids, the one that was held against a processor.
    depth
        How deep the tcg machine simulates it: frontend (what code costs), or core (loads and
        stores, too: a model with [data], such as emeraldrapids; layouts are booted).
    layouts
        Random layouts that each kernel is measured in; default: 64 where they are replayed, 8
        where they are booted.
    layouts_by
        How random layouts are measured: replay (one boot of each kernel and workload serves all of
        them; two are linked and booted to check it) or boot (each is linked and booted).
    keep_traces
        Keep the traces that layouts are replayed from (some MB to hundreds each), for other
        studies of the same kernels and for `kernsmith layout`; `kernsmith prune traces` frees them.
    until
        Go on with more layouts until the overall interval is narrower than this many per cent, such
        as 0.5% (512 layouts at most where they are replayed, else 64).
    seed
        Seed of the layouts and of the order of trials.
    compiler
        The compiler's program (clang-22, gcc-12, or a path); default: the newest installed clang.
    steps
        best, or profile-guided steps with commas between them, the first one first: autofdo;
        instrumented (by counters in the kernel; in place of autofdo, also with gcc 12 or newer);
        thinlto, thinlto-dist or full-lto (optimised across files when linking); propeller (needs
        clang 19 or newer); splitting (as propeller, but blocks keep the compiler's order); layout
        (the best order of functions that `kernsmith layout optimize` finds; the last step); bolt
        (rewritten by llvm-bolt, with --layouts-by boot; in place of layout).
    profile
        Use this profile (kernsmith's counts of the baseline, or an AutoFDO profile) instead of
        training.
    root
        A folder or an image that workloads with a root file system run in, in place of the roots
        that their files ask for (docs/root.md).
    suffix
        A word behind the kernel's release, as in 7.3.4-web: what `uname -r` says, and what packages
        and folders of modules are called. It is in the kernels' images, so it comes first.
    package
        End with packages of the last kernel that was built, in packages/ beside the report: deb,
        rpm, pacman or tar, see `kernsmith package --help`.
    proof
        Have the deb proved: installed in a fresh Debian, booted from a disk by firmware, and asked
        what it is, see `kernsmith prove --help`. What cannot be asked, such as a kernel without a
        disk's drivers, is told, and is no failure.
    oracle
        Ask this oracle whether the new kernel works, if it is better: kunit, selftests, lockdep,
        ubsan or kasan, see `kernsmith verify --help`; may be given several times. Default:
        selftests, on tcg and kvm; none asks nothing.
    output
        Folder for report.html, report.md, study.json and study.toml; default: one that is
        named after the study, in kernsmith-results.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    check_here(machine)
    if layouts is not None and layouts < 0:
        raise UserError(f"--layouts must not be negative, it is {layouts}")
    if folds < 0 or folds == 1:
        raise UserError(f"--folds must be 0 or at least 2, it is {folds}")
    study = Study(
        name=f"optimize-{parse_config_word(config_on(machine, config)).short}",
        source=source,
        config=config_on(machine, config),
        factors=(("profile", stacks_of(steps)), *_UNSEEN_COLD[only_trained]),
        workloads=workloads_on(machine, workload),
        train=train,
        folds=folds,
        machine=machine,
        cpu=cpu,
        settings=settings_on(machine, depth),
        compiler=compiler,
        options=release_options(suffix),
        profile=str(profile.absolute()) if profile else "",
        root=str(root.absolute()) if root else "",
        design=_design(
            layouts_by or default_layouts_by(machine, "seed", settings_on(machine, depth)),
            layouts,
            seed,
            0.0 if until is None else read_percent("--until", until),
            runs_on(machine),
        ),
    )
    from kernsmith.cli.outcome import run_and_show
    from kernsmith.engine.oracles import select_oracles
    from kernsmith.kernel.package_kind import DEB, KINDS
    from kernsmith.study.file import located

    return run_and_show(
        located(study, Path.cwd()),
        output=output,
        ledger=ledger,
        as_json=json,
        keep_traces=keep_traces,
        package=KINDS[package] if package else None,
        proved=proof and package == DEB,
        oracles=select_oracles(oracles_on(machine, oracle)),
        unasked=not oracle,
    )


# The kernel's release may have 64 characters (scripts/utsrelease.sh, UTS_LEN).
_SUFFIX = re.compile(r"[a-z0-9]([a-z0-9.-]{0,30}[a-z0-9])?")
_UNSEEN_COLD: dict[bool, tuple[tuple[str, tuple[str, ...]], ...]] = {
    False: (),
    True: ((UNSEEN.name, (COLD,)),),
}


def release_options(suffix: str) -> tuple[tuple[str, str], ...]:
    """The config symbol that puts a word behind the kernel's release; none without a word.

    Raises:
        UserError: no package may be called so (Debian Policy, 5.6.7, is the narrowest), or one with
            debugging information would be.
    """
    if suffix == "dbg" or suffix.endswith("-dbg"):
        raise UserError(f"--suffix {suffix!r}: packages with debugging information end with -dbg")
    if suffix and not _SUFFIX.fullmatch(suffix):
        raise UserError(
            f"--suffix {suffix!r}: allowed are up to 32 small letters, digits, dots and hyphens, "
            "the first and the last a letter or a digit"
        )
    return (("LOCALVERSION", f'"-{suffix}"'),) if suffix else ()


def stacks_of(steps: str) -> tuple[str, ...]:
    """The levels of `profile` that show what each of some steps adds to those before it.

    steps: names with commas between them, or `best`: one stack, whose parts are not measured.

    Raises:
        UserError: an unknown step, or none.
    """
    if steps == BEST:
        return NONE, BEST
    names = [name.strip() for name in steps.split(",")]
    unknown = [name for name in names if name not in step_kinds()]
    if unknown:
        raise UserError(
            f"--with has no step {unknown[0]!r}: allowed are {BEST}, {', '.join(step_kinds())}, "
            "and several with commas between them"
        )
    stacks = (BEHIND.join(names[:count]) for count in range(1, len(names) + 1))
    return (NONE, *stacks)


def _design(way: LayoutsBy, layouts: int | None, seed: int, until: float, runs: int) -> Design:
    chosen = DEFAULT_LAYOUTS[way] if layouts is None else layouts
    return Design(
        layouts=chosen,
        seed=seed,
        until=until,
        most_layouts=max(chosen, MOST_LAYOUTS[way]),
        runs=runs,
        layouts_by=way,
    )
