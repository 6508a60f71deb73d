# SPDX-License-Identifier: GPL-2.0-or-later
"""Resolve every word of a study before anything is built: mistakes are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.source import Source, resolve_source
from kernsmith.kernel.toolchain import AUTOFDO_MINIMUM, find_toolchain
from kernsmith.machine import Machine, find_machine
from kernsmith.machine.metrics import METRICS
from kernsmith.study import Study, Trial, Variant, plan_trials, plan_variants


@dataclass(frozen=True)
class Prepared:
    """A study whose words are all resolved.

    sources: by the word for them in a variant.
    workloads: what is measured, in catalogue order. train: what profiles come from.
    trainer: the machine that training runs on (it must be able to write branch counts).
    """

    study: Study
    sources: Mapping[str, Source]
    workloads: tuple[Workload, ...]
    train: tuple[Workload, ...]
    machine: Machine
    trainer: Machine
    variants: tuple[Variant, ...]
    trials: tuple[Trial, ...]

    @property
    def source(self) -> Source:
        """The source of the baseline."""
        return self.source_of(self.variants[0])

    def source_of(self, variant: Variant) -> Source:
        """The source that a variant is built from."""
        return self.sources[variant.source]

    def workload(self, name: str) -> Workload:
        """The measured or training workload of this name."""
        return next(w for w in (*self.workloads, *self.train) if w.name == name)


def prepare(study: Study, events: Events) -> Prepared:
    """Resolve sources, configs, workloads, machine, compilers and factor levels.

    Raises:
        UserError: the first word that means nothing, with what is allowed in its place.
    """
    catalogue = load_catalogue()
    workloads = catalogue.select(study.workloads)
    train = catalogue.select(study.train) if study.train else workloads
    machine = find_machine(study.machine, study.cpu)
    trainer = machine if machine.profiles else find_machine("tcg", study.cpu)
    variants = plan_variants(study, [workload.name for workload in train])
    for variant in variants:
        read_fragment(variant.config)
        _check_compiler(variant)
    _check_metric(study.design.metric)
    sources: dict[str, Source] = {}
    for word in dict.fromkeys(variant.source for variant in variants):
        events.stage(f"source {word}")
        sources[word] = resolve_source(word, paths.sources(), progress=events.note)
    trials = plan_trials(study, variants, [workload.name for workload in workloads])
    return Prepared(
        study, sources, tuple(workloads), tuple(train), machine, trainer, variants, trials
    )


def _check_metric(name: str) -> None:
    known = [metric.name for metric in METRICS]
    if name and name not in known:
        raise UserError(f"there is no metric {name!r}: allowed are {', '.join(known)}")


def _check_compiler(variant: Variant) -> None:
    toolchain = find_toolchain(variant.compiler)
    if variant.profile is None:
        return
    if toolchain.family != "clang":
        raise UserError(
            f"profile={variant.profile.kind} needs clang: {variant.compiler} cannot read it"
        )
    if toolchain.version < AUTOFDO_MINIMUM:
        raise UserError(
            f"profile={variant.profile.kind} needs clang {AUTOFDO_MINIMUM} or newer, "
            f"{variant.compiler} is too old: get a newer one with make setup"
        )
