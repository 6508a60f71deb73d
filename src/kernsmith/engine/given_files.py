# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that the user brings to a study: read when it is planned, not when their turn comes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.guest.workloads import Catalogue
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.layout.order import order_names
from kernsmith.profile import find_profile_maker
from kernsmith.profile.counts import is_counts
from kernsmith.study import Study, Variant
from kernsmith.study.layout import PROFILE
from kernsmith.study.steps import find_step_kind


def check_readable(study: Study) -> None:
    """That what a study names besides its variants is there.

    Raises:
        UserError: it is not.
    """
    if study.profile:
        is_counts(Path(study.profile))
    if study.root and not Path(study.root).exists():
        raise UserError(f"workloads.root: there is no {study.root}")


def check_given(variants: Sequence[Variant]) -> None:
    """That order files and profiles are some, as far as no kernel is needed to say so.

    Raises:
        UserError: one is not.
    """
    profiles = set()
    for variant in variants:
        if variant.layout.named not in ("", PROFILE):
            _check_order(variant, variant.layout.named)
        for step in variant.steps:
            if step.files and find_step_kind(step.kind).relinks:
                _check_order(variant, step.files[0])
            elif step.files:
                tools = variant.compiler, variant.linker, variant.arch
                profiles.add((step.kind, step.files, tools))
    for kind, files, tools in sorted(profiles):
        find_profile_maker(kind).check(tuple(map(Path, files)), find_toolchain(*tools))


def _check_order(variant: Variant, file: str) -> None:
    try:
        order_names(Path(file))
    except UserError as error:
        raise UserError(f"{variant.name}: {error}") from None


def check_root(study: Study, catalogue: Catalogue) -> None:
    """That a workload of a study runs in the root that it names.

    Raises:
        UserError: none does.
    """
    if study.root and not any(workload.root for workload in catalogue):
        raise UserError(
            f"workloads.root names {study.root}, and no workload of the study runs in a root file "
            "system: leave it out, or add a workload with [root] (docs/root.md)"
        )
