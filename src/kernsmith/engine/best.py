# SPDX-License-Identifier: GPL-2.0-or-later
"""`best`, a level of the factor `profile`: the best stack that toolchain and tree can carry."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.engine.events import Events
from kernsmith.errors import UserError
from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.source import Source
from kernsmith.study import Study, plan_variants
from kernsmith.study.factors.profile import BEST, NONE
from kernsmith.study.factors.profile import FACTOR as PROFILE
from kernsmith.study.study import Named

# The better one first, by model_cycles of the micro kernel (docs/stacks.md, docs/instrumented.md);
# but counters, which cost one whole kernel more, only where no branch records can be used.
_STACKS = (
    "autofdo+thinlto+propeller+layout",
    "autofdo+propeller+layout",
    "autofdo+layout",
    "autofdo",
    "instrumented+layout",
    "instrumented",
    "layout",
)


def asks_for_best(study: Study) -> bool:
    """Whether a variant of a study has the best stack, whichever that is."""
    levels = [(name, level) for name, levels in study.factors for level in levels]
    levels += [pair for _, settings in study.variants for pair in settings]
    return (PROFILE.name, BEST) in levels


def with_best_stack(study: Study, source: Source, events: Events) -> Study:
    """The study with a stack in place of `best`; why it has no better one is told as a note.

    source: that of the study's `[source] use`. The stack is the first that this source, config,
    compiler and linker can carry: other factors of the study do not take part in the choice.
    Where they can carry none, it is the first, whose refusal the study tells.
    """
    chosen = _STACKS[0]
    for stack in _STACKS:
        reason = _reason(study, stack, source)
        if reason is None:
            chosen = stack
            break
        events.note(f"no {stack}: {reason}")
    events.note(f"the best stack here is {chosen}")
    return replace(
        study,
        factors=tuple(
            (name, tuple(_chosen(name, level, chosen) for level in levels))
            for name, levels in study.factors
        ),
        variants=_in_variants(study.variants, chosen),
    )


def _in_variants(variants: Named, stack: str) -> Named:
    return tuple(
        (given, tuple((name, _chosen(name, level, stack)) for name, level in settings))
        for given, settings in variants
    )


def _chosen(name: str, level: str, stack: str) -> str:
    return stack if (name, level) == (PROFILE.name, BEST) else level


def _reason(study: Study, stack: str, source: Source) -> str | None:
    alone = replace(study, factors=((PROFILE.name, (NONE, stack)),), variants=(), train=())
    try:
        variant = plan_variants(alone, study.workloads)[1]
    except UserError as error:  # of its own words: a pairing, a config symbol of another LTO
        return str(error)
    draws = bool(study.design.layouts or study.design.until)
    # Whether the compiler is new enough for the source is asked of the whole study.
    return refusal(variant, source, layouts=draws, look_only=True)
