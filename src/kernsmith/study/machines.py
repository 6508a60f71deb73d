# SPDX-License-Identifier: GPL-2.0-or-later
"""A study on two machines: the same kernels and layouts on each."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.errors import UserError
from kernsmith.study.study import TRACING, UML, Place, Study


def on_each_machine(study: Study) -> tuple[Study, ...]:
    """A study for each of its machines, the same but for what is the machine's own."""
    if not study.beside:
        return (study,)
    first = Place(study.machine, study.cpu, study.settings, study.design.metric)
    return tuple(_on(study, place) for place in (first, *study.beside))


def _on(study: Study, place: Place) -> Study:
    design, exact = study.design, place.machine in TRACING
    return replace(
        study,
        name=f"{study.name}-{place.machine}",
        machine=place.machine,
        cpu=place.cpu,
        settings=place.settings,
        beside=(),
        design=replace(
            design,
            metric=place.metric,
            # Where nothing scatters one run says it all, and only what writes traces replays them.
            runs=1 if exact else design.runs,
            replicates=1 if exact else design.replicates,
            layouts_by=design.layouts_by if exact else "boot",
        ),
    )


def on_machine(study: Study, machine: str) -> Study:
    """The study on another machine alone, without settings; its own where that is the same one."""
    for place in on_each_machine(study):
        if place.machine == machine:
            return replace(place, name=study.name)
    exact = machine in TRACING
    design = replace(study.design, metric="", layouts_by="boot", boots=1)
    if exact:
        design = replace(design, runs=1, replicates=1)
    cpu = study.cpu if exact else ""
    return replace(study, machine=machine, cpu=cpu, settings=(), beside=(), design=design)


def check_pair(study: Study) -> None:
    """That the machines of a study can share its kernels and its layouts.

    Raises:
        UserError: they cannot; with the reason.
    """
    if not study.beside:
        return
    (place,) = study.beside
    if UML in (study.machine, place.machine):
        raise UserError(
            f"machine: {UML} cannot be one of two: its kernels are programs of an architecture of "
            "their own (ARCH=um), which no other machine boots; run a study of its own"
        )
    if study.machine == place.machine:
        raise UserError(f"machine: both are {place.machine}; a study is on one of a kind")
    if study.design.boots > 1:
        raise UserError(
            "design.boots: two machines are compared layout by layout, each of which has one boot "
            "on either: allowed is 1"
        )
    if study.design.until:
        raise UserError(
            "design.until: with two machines the number of layouts is fixed: on both they are the "
            "same; say it by design.layouts"
        )
