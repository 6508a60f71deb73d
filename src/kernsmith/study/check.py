# SPDX-License-Identifier: GPL-2.0-or-later
"""Every word of a study that reaches make, a shell or a compiler is looked at here first.

`[source]` takes what the factors of the same names take, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kernsmith.errors import UserError
from kernsmith.study.factors import LevelError, find_factor
from kernsmith.study.factors.profile import BEHIND, BEST, NONE
from kernsmith.study.flags import check_flags
from kernsmith.study.links import check_links, links_of
from kernsmith.study.machines import check_pair
from kernsmith.study.objects import check_rules, rules_of
from kernsmith.study.steps import find_step_kind
from kernsmith.study.study import FRONTEND, SEEDS, Design, Study

_PROGRAMS = ("compiler", "linker")


def check_study(study: Study) -> None:
    """That the words of a study are harmless by themselves, whoever wrote them.

    Raises:
        UserError: the first that is not; one sentence with its key.
    """
    for where, text in _texts(study):
        if not text.isprintable():
            raise UserError(f"{where}: {_short(text)} has characters that cannot be printed")
    checks = [("source.use", "source", study.source), ("source.config", "config", study.config)]
    checks += [
        (f"source.{name}", name, word)
        for name, word in zip(_PROGRAMS, (study.compiler, study.linker), strict=True)
        if word
    ]
    checks += [
        (f"source.options.{symbol}", f"CONFIG_{symbol}", value) for symbol, value in study.options
    ]
    checks += [
        (f"factors.{factor}", factor, level) for factor, levels in study.factors for level in levels
    ]
    checks += [
        (f"variants.{name}.{factor}", factor, level)
        for name, levels in study.variants
        for factor, level in levels
    ]
    for where, factor, level in checks:
        try:
            find_factor(factor).check(level)
        except UserError as error:
            raise LevelError(f"{where}: {error}") from None
    check_rules(study.objects)
    check_links(study.links)
    for where, factor, level in checks:
        try:
            if factor == "objects":
                rules_of(study.objects, level)
            elif factor == "links":
                links_of(study.links, level)
        except UserError as error:
            raise LevelError(f"{where}: {error}") from None
    levels = [level for _, factor, level in checks if factor == "profile"]
    steps = [step for level in levels if level not in (NONE, BEST) for step in level.split(BEHIND)]
    trained = BEST in levels or any(find_step_kind(step).trained for step in steps)
    if study.profile and not trained:
        raise UserError(
            "workloads.profile names a profile, and no variant has a step that reads one"
        )
    _check_design(study, steps)
    check_pair(study)
    try:
        check_flags(study.flags)
    except UserError as error:
        raise LevelError(f"source.flags: {error}") from None


def _check_design(study: Study, steps: Sequence[str]) -> None:
    """That layouts are drawn and measured in ways that go together. steps: of all variants.

    Raises:
        UserError: they do not.
    """
    design = study.design
    if design.seed not in SEEDS:
        raise UserError(
            "design.seed (--seed): allowed are whole numbers from -2^63 to 2^63 - 1, which ledgers "
            "can hold"
        )
    if design.until and design.layouts > design.most_layouts:
        raise UserError(
            f"design.layouts: a study that begins with {design.layouts} layouts is beyond its "
            f"design.most_layouts, {design.most_layouts}, to which until goes on: take fewer, or "
            "leave until out"
        )
    if design.layouts_by == "replay" and design.pairing == "place":
        raise UserError(
            'design.layouts_by: layouts with pairing = "place" have paddings and must be linked: '
            'allowed is "boot", or pairing = "seed"'
        )
    if design.pairing == "place" and any(find_step_kind(step).relinks for step in steps):
        raise UserError(
            'design.pairing: "place" puts functions where other kernels have them, which leaves '
            'nothing of the order of the step layout: allowed is "seed"'
        )
    if design.layouts_by == "replay" and any(find_step_kind(step).rewrites for step in steps):
        raise UserError(
            "design.layouts_by: BOLT puts the cold parts of each layout's functions where there is "
            'room, and replays do not know where that is: allowed is "boot" for the step bolt'
        )
    if design.layouts_by == "replay" and study.depth != FRONTEND:
        raise UserError(
            f"design.layouts_by: loads and stores are in no trace, so the depth {study.depth} "
            'cannot be replayed: allowed is "boot", or the depth frontend'
        )
    if design.layouts_by == "replay" and study.vcpus > 1:
        raise UserError(
            f"design.layouts_by: a trace is of one vCPU, and machine.settings asks for "
            f'{study.vcpus}: allowed is "boot"'
        )
    if design.boots > 1:
        _check_boots(design)
    if design.layouts_by == "replay" and design.data:
        raise UserError(
            "design.data: loads and stores are in no trace, so a replay says nothing of where data "
            'lie: allowed is false, or layouts_by = "boot"'
        )


def _check_boots(design: Design) -> None:
    if design.layouts_by != "replay":
        raise UserError(
            "design.boots: where every layout is booted, each has a boot of its own already: "
            "allowed is 1"
        )
    if design.boots > design.layouts:
        raise UserError(
            f"design.boots: {design.boots} boots are more than there are random layouts to replay "
            f"from them, design.layouts, {design.layouts}"
        )
    if design.until:
        raise UserError(
            "design.boots: a study that goes on until its interval is narrow takes more layouts, "
            "and not more boots: allowed is 1, or a fixed number of layouts"
        )


def programs_by_path(study: Study) -> tuple[str, ...]:
    """The compilers and linkers that a study names by their paths, each once."""
    words = [study.compiler, study.linker]
    for factor, levels in study.factors:
        words += levels if factor in _PROGRAMS else ()
    for _, settings in study.variants:
        words += [level for factor, level in settings if factor in _PROGRAMS]
    return tuple(dict.fromkeys(word for word in words if word.startswith("/")))


def check_trust(study: Study, trusted: Collection[str]) -> None:
    """That the user himself has named every program that a study file names by its path.

    Raises:
        UserError: one that was not named.
    """
    for program in programs_by_path(study):
        if program not in trusted:
            raise UserError(
                f"the study names the program {program}, and running the study would start it: "
                f"if that is meant, say --trust {program}"
            )


def _texts(study: Study) -> Iterator[tuple[str, str]]:
    """All texts of a study with their places."""
    yield from (("source.use", study.source), ("source.config", study.config))
    yield from (("source.compiler", study.compiler), ("source.linker", study.linker))
    yield from (("source.options", text) for option in study.options for text in option)
    yield from (("source.flags", flag) for flag in study.flags)
    yield from (("machine.use", study.machine), ("machine.cpu", study.cpu))
    yield from (("workloads.use", name) for name in study.workloads)
    yield from (("workloads.train", name) for name in study.train)
    yield from (("workloads.profile", study.profile), ("design.metric", study.design.metric))
    for factor, levels in study.factors:
        yield "factors", factor
        yield from ((f"factors.{factor}", level) for level in levels)
    for name, settings in study.variants:
        yield from (
            ("variants", text) for text in (name, *(t for level in settings for t in level))
        )


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}…")
