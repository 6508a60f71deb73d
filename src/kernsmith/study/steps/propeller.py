# SPDX-License-Identifier: GPL-2.0-or-later
"""Propeller: the order of basic blocks and of functions (scripts/Makefile.propeller)."""

from __future__ import annotations

from kernsmith.study.steps.kind import Backport, StepKind

# kbuild is told with what the names of both files begin.
CLUSTERS = "_cc_profile.txt"
SYMBOLS = "_ld_profile.txt"


def make_variables(files: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The common beginning of the files' names."""
    return (("CLANG_PROPELLER_PROFILE_PREFIX", files[0].removesuffix(CLUSTERS)),)


def _object_flags(files: tuple[str, ...], has_debug_info: bool) -> tuple[str, ...]:
    """What scripts/Makefile.propeller (Linux 7.3) gives objects; AutoFDO's symbol has line tables
    written."""
    if not files:
        return ("-fbasic-block-address-map",)
    return (f"-fbasic-block-sections=list={files[0]}", "-ffunction-sections")


# AutoFDO's symbol brings line tables, which tell local functions of one name apart.
KIND = StepKind(
    name="propeller",
    title="Propeller",
    description="blocks and functions put in an order by the exact branch counts of the machine "
    "code below",
    symbols=("AUTOFDO_CLANG", "PROPELLER_CLANG"),
    oldest_clang=19,
    suffixes=(CLUSTERS, SYMBOLS),
    spares_idle=True,
    make_variables=make_variables,
    symbol_order=1,
    # Before clang 20 the map had a flag of another name.
    backport=Backport("PROPELLER_CLANG", _object_flags, ".llvm_bb_addr_map", oldest_clang=20),
)
