# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoFDO: how often what was executed, by functions and lines (scripts/Makefile.autofdo)."""

from __future__ import annotations

from kernsmith.study.steps.kind import IDLE, Backport, StepKind, Told


def _flags(told: Told) -> tuple[str, ...]:
    """What clang is told beside the profile.

    By default clang compiles a function that the profile does not name as without a profile: who
    runs what nobody trained on, has the kernel that there was before. `unseen_is_cold`: it is cold.

    Of what was executed, the functions with the hot blocks go to `.text.hot`; clang's own 99 %
    takes in nearly all of an exact profile, and then a workload finds its own functions spread over
    the code of all the others. To workloads that were held out, 80, 90 and 99 % are equally good
    (docs/autofdo.md, `studies/hot.toml`).
    """
    accurate = ("-fprofile-sample-accurate",) if told.unseen_is_cold else ()
    return (
        *accurate,
        *("-mllvm", "-enable-ext-tsp-block-placement=true"),
        *("-mllvm", f"-profile-summary-cutoff-hot={hot_cutoff(told.hot)}"),
    )


def hot_cutoff(hot: float) -> int:
    """A share of the execution as clang wants it, in millionths."""
    return round(1e6 * hot)


def _object_flags(files: tuple[str, ...], has_debug_info: bool) -> tuple[str, ...]:
    """What scripts/Makefile.autofdo (Linux 7.3) gives objects, in that order."""
    discriminators = ("-enable-fs-discriminator=true", "-improved-fs-discriminator=true")
    used: tuple[str, ...] = ()
    if files:
        sample = f"-fprofile-sample-use={files[0]}"
        used = (sample, "-ffunction-sections", "-fsplit-machine-functions")
    return (
        "-fdebug-info-for-profiling",
        *(word for option in discriminators for word in ("-mllvm", option)),
        *(() if has_debug_info else ("-gmlt",)),
        *used,
    )


KIND = StepKind(
    name="autofdo",
    title="AutoFDO",
    description="compiled with the exact branch profile of the training runs",
    symbols=("AUTOFDO_CLANG",),
    oldest_clang=19,
    suffixes=(".afdo", IDLE),
    spares_idle=True,
    make_variables=lambda files: (
        ("CLANG_AUTOFDO_PROFILE", files[0]),
        # kbuild knows nothing of it; its compiler (native/compiler) does.
        ("KERNSMITH_IDLE_OBJECTS", files[1]),
    ),
    flags=_flags,
    backport=Backport("AUTOFDO_CLANG", _object_flags),
)
