# SPDX-License-Identifier: GPL-2.0-or-later
"""Resolve the words of a study whose images are programs with a kernel in them (machine `uml`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernsmith.engine.asked_metric import check_metric
from kernsmith.engine.events import Events
from kernsmith.engine.prepare import (
    Prepared,
    left_out,
    resolve_sources,
    study_digest,
)
from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine import Machine
from kernsmith.machine.conditions import conditions
from kernsmith.silicon.variants import refusal
from kernsmith.study import Study, plan_trials, plan_variants
from kernsmith.study.factors.profile import BEST
from kernsmith.study.plan import repeated_variants


def prepare_programs(study: Study, machine: Machine, events: Events) -> Prepared:
    """As `prepare`: what such a machine cannot do is told at once, in a sentence each.

    Raises:
        UserError: the first word that means nothing here.
    """
    study = replace(study, cpu="")  # it simulates none
    for condition in conditions():
        if condition.warning:
            events.note(f"{condition.name}: {condition.warning}")
    (workload,) = machine.workloads
    _check_words(study, machine, workload.name)
    check_metric(study, machine)
    names = [workload.name]

    def select(words: Sequence[str]) -> list[str]:
        _check_workloads(words, machine, workload.name)
        return names

    variants = plan_variants(study, names, select)
    for repeated, first in repeated_variants(study, names, select):
        events.note(f"{repeated.name} is the same kernel as {first.name}: it is left out")
    for variant in variants:
        find_toolchain(variant.compiler, variant.linker, variant.arch)
    refused = left_out(variants, [refusal(variant) for variant in variants])
    for each in refused:
        events.note(each.sentence)
    variants = tuple(v for v in variants if v not in [each.variant for each in refused])
    sources = resolve_sources((variant.source for variant in variants), events)
    return Prepared(
        study, study_digest(study, sources), sources, (workload,), (workload,), machine, machine,
        variants, plan_trials(study, variants, names), refused,
    )  # fmt: skip


def _check_words(study: Study, machine: Machine, workload: str) -> None:
    """What is said for all variants."""
    for words in (study.workloads, study.train):
        _check_workloads(words, machine, workload)
    named = [level for _, levels in study.factors for level in levels]
    named += [level for _, levels in study.variants for _, level in levels]
    own = f"the machine {machine.name}"
    if BEST in named:
        raise UserError(
            f"profile={BEST}: {own} has none, autofdo and autofdo+propeller: name one of these"
        )
    if study.profile:
        raise UserError(f"workloads.profile: {own} trains on its own load: leave it out")
    if study.root:
        raise UserError(f"workloads.root: {own} runs no programs in a file system: leave it out")
    if study.folds:
        raise UserError(f"workloads.folds: {own} has one workload, and nothing to hold out of it")
    if study.design.pairing == "place":
        raise UserError(
            f"design.pairing: {own} has no paddings that put functions at one place: allowed is "
            '"seed"'
        )
    if study.design.data:
        raise UserError(
            f"design.data: the data of {machine.name}'s programs lie at the same addresses in all "
            "layouts: leave it out"
        )
    if study.design.layouts_by != "boot":
        raise UserError(
            f"design.layouts_by: {own} writes no traces to replay: allowed is boot, which runs "
            "each layout"
        )


def _check_workloads(words: Sequence[str], machine: Machine, workload: str) -> None:
    other = next((word for word in words if word != workload), None)
    if other is not None:
        raise UserError(
            f"the machine {machine.name} runs the load that is linked into its kernel and no "
            f"workload {other!r}: leave workloads out, or write {workload!r}"
        )
