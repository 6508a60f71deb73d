# SPDX-License-Identifier: GPL-2.0-or-later
"""`best`, a level of the factor `profile`: the best stack that toolchain and tree can carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from kernsmith.engine.events import Events
from kernsmith.errors import UserError
from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.source import Source
from kernsmith.study import Study, plan_variants
from kernsmith.study.factors.profile import BEST, NONE
from kernsmith.study.factors.profile import FACTOR as PROFILE

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
    compiler and linker can carry. Compiler and linker are the study's or a named variant's own;
    other factors take no part in the choice, nor do compilers that are a factor, for a level of
    `profile` is one for all of them. Where nothing can be carried, it is the first stack, whose
    refusal the study tells.
    """

    @cache
    def best(compiler: str, linker: str) -> str:
        of = f" of {compiler}" if compiler != study.compiler else ""
        told = replace(study, compiler=compiler, linker=linker)
        chosen = _STACKS[0]
        for stack in _STACKS:
            reason = _reason(told, stack, source)
            if reason is None:
                chosen = stack
                break
            events.note(f"no {stack}: {reason}")
        events.note(f"the best stack{of} here is {chosen}")
        return chosen

    def resolved(name: str, level: str, own: Mapping[str, str]) -> str:
        if (name, level) != (PROFILE.name, BEST):
            return level
        return best(own.get("compiler", study.compiler), own.get("linker", study.linker))

    return replace(
        study,
        factors=tuple(
            (name, tuple(resolved(name, level, {}) for level in levels))
            for name, levels in study.factors
        ),
        variants=tuple(
            (given, tuple((name, resolved(name, level, dict(own))) for name, level in own))
            for given, own in study.variants
        ),
    )


def _reason(study: Study, stack: str, source: Source) -> str | None:
    alone = replace(study, factors=((PROFILE.name, (NONE, stack)),), variants=(), train=())
    try:
        variant = plan_variants(alone, study.workloads)[1]
    except UserError as error:  # of its own words: a pairing, a config symbol of another LTO
        return str(error)
    draws = bool(study.design.layouts or study.design.until)
    # Whether the compiler is new enough for the source is asked of the whole study.
    return refusal(variant, source, layouts=draws, look_only=True)
