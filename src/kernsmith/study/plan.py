# SPDX-License-Identifier: GPL-2.0-or-later
"""From a study to the trials it consists of, in the order in which they run."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from kernsmith.errors import UserError
from kernsmith.study.check import check_study
from kernsmith.study.factors import Factor, find_factor
from kernsmith.study.factors.compiler import is_gcc
from kernsmith.study.layout import Layout
from kernsmith.study.links import links_of
from kernsmith.study.objects import rules_of
from kernsmith.study.places import short_level, short_names, short_text
from kernsmith.study.steps import find_step_kind, line_table_symbols, step_symbols
from kernsmith.study.study import Design, Named, Study
from kernsmith.study.variant import Variant, digest_of

MOST_TRIALS = 1_000_000
Select = Callable[[Sequence[str]], Sequence[str]]
"""What words of a study for workloads and sets mean: names of workloads, in catalogue order."""


@dataclass(frozen=True)
class Trial:
    """One planned run.

    block: trials of one block run next to each other, in random order; 0 holds the layouts that
        are not drawn, the others one random layout of every variant each.
    position: place in the order of the whole study, from 0.
    replicate: counts the runs of this layout and workload, in all boots.
    cpu: the CPU model's name, not where its file lies.
    layout_number: which of the study's layouts this is; 0 is the one that is not drawn.
    boot: the one that it is replayed from, of all of its kernel and workload (see `Design.boots`),
        from 0; the layout that is not drawn is of the first.
    """

    variant: Variant
    layout: Layout
    workload: str
    machine: str
    cpu: str
    replicate: int
    block: int
    position: int
    layout_number: int
    boot: int = 0


def plan_variants(
    study: Study, train: Sequence[str], select: Select = tuple
) -> tuple[Variant, ...]:
    """The named variants, or all combinations of factor levels; the first is the baseline.

    train: names of the workloads that profiles are trained on. select: the factor `train` names
        others in words of its own; by default these are names already.

    Combinations of levels that are the same kernel as one before them are left out (see
    `repeated_variants`): `mtune = "march"` changes nothing where `march` is `default`.

    Raises:
        LevelError: unknown factor or level, or another word that no study may have.
        UserError: two named variants, or all combinations, are the same kernel.
    """
    variants = _all_variants(study, train, select)
    distinct = tuple(dict.fromkeys(variants))
    if len(distinct) < len(variants) and (study.variants or len(distinct) == 1):
        first, second = _first_equals(variants)
        raise UserError(
            f"{first.name!r} and {second.name!r} are the same kernel; to compare a kernel "
            "with itself, name two levels of the factor label"
        )
    return distinct


def repeated_variants(
    study: Study, train: Sequence[str], select: Select = tuple
) -> tuple[tuple[Variant, Variant], ...]:
    """Combinations that `plan_variants` leaves out, each with the equal one that stays."""
    first: dict[Variant, Variant] = {}
    repeated = []
    for variant in _all_variants(study, train, select):
        if first.setdefault(variant, variant) is not variant:
            repeated.append((variant, first[variant]))
    return tuple(repeated)


def _first_equals(variants: Sequence[Variant]) -> tuple[Variant, Variant]:
    return next(pair for pair in combinations(variants, 2) if pair[0] == pair[1])


def _all_variants(study: Study, train: Sequence[str], select: Select) -> list[Variant]:
    check_study(study)
    base = Variant(
        source=study.source,
        config=study.config,
        compiler=study.compiler,
        linker=study.linker,
        options=study.options,
        flags=study.flags,
    )
    variants = []
    names = short_names(study)
    for given_name, levels in study.variants or _combinations(study):
        shown = tuple((factor, short_level(factor, level, names)) for factor, level in levels)
        variant = replace(base, levels=shown, given_name=short_text(given_name, names))
        for factor, level in _in_order_of_effect(levels):
            variant = factor.apply(variant, level)
        rules = rules_of(study.objects, dict(levels).get("objects", ""))
        links = links_of(study.links, dict(levels).get("links", ""))
        variant = replace(variant, objects=rules, links=links)
        variants.append(_with_profile(variant, study.profile, train, select))
    return _as_trained_on(variants)


def _as_trained_on(variants: Sequence[Variant]) -> list[Variant]:
    """Variants that others are trained on, with the config symbols that training needs; and those
    without a profile, by the same compiler, with the line tables that the others have.

    One kernel is measured and trained on, instead of two that differ in what tools read. Line
    tables are not for tools alone: clang optimises a little differently where it makes them
    (`-fdebug-info-for-profiling`; docs/autofdo.md), so kernels are compared that all have them. A
    variant that says `n` of one of these symbols stays without. One that asks gcc for what only
    clang has is never built, and decides nothing of the others.
    """
    trainers: dict[Variant, None] = {}
    for variant in variants:
        asked = {symbol for symbol, value in variant.options if value == "y"}
        trainer = variant.trainer
        if is_gcc(variant.compiler) and asked.intersection(line_table_symbols()):
            continue
        while trainer is not None:
            trainers[trainer] = None
            trainer = trainer.trainer
    alike = {_without_step_symbols(trainer): trainer for trainer in trainers}
    tables: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for trainer in trainers:
        tables[trainer.compiler] |= {
            symbol: value for symbol, value in trainer.options if symbol in line_table_symbols()
        }

    def shared(variant: Variant) -> Variant:
        refused = {symbol for symbol, value in variant.options if value == "n"} & step_symbols()
        if refused or variant.unnamed in trainers:
            return variant
        same = alike.get(_without_step_symbols(variant.unnamed))
        if same is not None:
            return replace(variant, options=same.options)
        if variant.last_trained is not None:
            return variant
        options = tables[variant.compiler] | dict(variant.options)
        return replace(variant, options=tuple(sorted(options.items())))

    return [shared(variant) for variant in variants]


def _without_step_symbols(variant: Variant) -> Variant:
    symbols = step_symbols()
    return replace(variant, options=tuple(o for o in variant.options if o[0] not in symbols))


def _combinations(study: Study) -> Named:
    names = [name for name, _ in study.factors]
    combined = product(*(levels for _, levels in study.factors))
    return tuple(("", tuple(zip(names, levels, strict=True))) for levels in combined)


def _in_order_of_effect(levels: Sequence[tuple[str, str]]) -> list[tuple[Factor, str]]:
    """Factors with their levels, those that look at what others did behind these others."""
    pairs = [(find_factor(name), level) for name, level in levels]
    return sorted(pairs, key=lambda pair: pair[0].rank)


def _with_profile(variant: Variant, file: str, train: Sequence[str], select: Select) -> Variant:
    """The variant with its training named. A file of the user's is the profile of the first step
    that has one."""
    steps = list(variant.steps)
    for place, step in enumerate(steps):
        if not find_step_kind(step.kind).trained:
            continue
        names = () if file else tuple(select(step.train) if step.train else train)
        period = 0 if file else step.period
        steps[place] = replace(step, files=(file,) if file else (), train=names, period=period)
        file = ""
    return replace(variant, steps=tuple(steps))


def plan_trials(
    study: Study, variants: Sequence[Variant], workloads: Sequence[str]
) -> tuple[Trial, ...]:
    """The trials in the order in which they run: randomised blocks, reproducible by the seed.

    Each replicate of the undrawn layouts is a block, and so is each replicate of each random
    layout. Several runs of a replicate go round by round, each in an order of its own. Variants
    are paired in a block: the same seed shuffles the functions that two variants have in common
    into the same order. Labels draw layouts of their own, and where there are several boots they
    have these for themselves, too.

    Raises:
        UserError: more than `MOST_TRIALS`; or some variants have random layouts and others have
            not: there are no pairs; or none has, and they are to be replayed from several boots.
    """
    drawn = _are_drawn(variants)
    if study.design.boots > 1 and variants and not drawn:
        raise UserError(
            "design.boots: no variant has random layouts, which are what is dealt out to boots: "
            "allowed is 1, or levels of the factor layout that draw some (random, +random)"
        )
    layouts = study.design.layouts if drawn else 0
    repeated = study.design.replicates * study.design.runs
    count = (layouts + 1) * repeated * len(variants) * len(workloads)
    if count > MOST_TRIALS:
        raise UserError(
            f"{count} trials are more than the {MOST_TRIALS} that a study may have: take fewer "
            "design.layouts, replicates or runs, variants, or workloads"
        )
    shuffle = random.Random(f"order:{study.design.seed}")
    cpu = short_names(study).get(study.cpu, study.cpu)
    labels = _labels_before(variants)
    trials: list[Trial] = []
    block = 0
    for index in range(layouts + 1):
        for replicate in range(study.design.replicates):
            members = [
                Trial(
                    variant=variant,
                    layout=_layout(study.design, variant, index),
                    workload=workload,
                    machine=study.machine,
                    cpu=cpu,
                    replicate=replicate * study.design.runs,
                    block=block,
                    position=0,
                    layout_number=index,
                    boot=_boot(study.design, labels[variant], index),
                )
                for variant in variants
                for workload in workloads
                if variant.is_judged_by(workload)
            ]
            for run in range(study.design.runs):
                shuffle.shuffle(members)
                trials += [replace(each, replicate=each.replicate + run) for each in members]
            block += 1
    return tuple(replace(trial, position=position) for position, trial in enumerate(trials))


def _are_drawn(variants: Sequence[Variant]) -> bool:
    drawn = [variant for variant in variants if variant.layout.drawn]
    fixed = [variant for variant in variants if not variant.layout.drawn]
    if drawn and fixed:
        raise UserError(
            f"{drawn[0].name!r} has random layouts and {fixed[0].name!r} has one layout: there "
            "are no pairs to compare; +random behind order:FILE or profile shuffles the others"
        )
    return bool(drawn)


def _labels_before(variants: Sequence[Variant]) -> dict[Variant, int]:
    """How many other labels the kernel of each variant has before: theirs are its first boots."""
    labels: defaultdict[str, dict[str, None]] = defaultdict(dict)
    found = {}
    for variant in variants:
        of_kernel = labels[digest_of(variant.identity())]
        of_kernel.setdefault(variant.label)
        found[variant] = list(of_kernel).index(variant.label)
    return found


def _boot(design: Design, labels_before: int, index: int) -> int:
    """Layouts are dealt out to the boots of a label, one after the other."""
    if index == 0 or design.boots == 1:
        return 0
    return labels_before * design.boots + index % design.boots


def _layout(design: Design, variant: Variant, index: int) -> Layout:
    if index == 0:
        return variant.layout.undrawn
    prefix = f"{variant.label}." if variant.label else ""
    return replace(variant.layout.draw(f"{prefix}{design.seed}.{index}"), data=design.data)
