# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study becomes on a source that is too old for a part of it, told in remarks.

A step that a tree cannot have is left out of the stacks that kernsmith makes of steps, and the
rest goes on. What can be had by other means than the tree's own is had so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import write_text
from kernsmith.kernel.backports import not_carried
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.sections import SCRIPT
from kernsmith.kernel.source import Source
from kernsmith.study import Study, Variant, digest_of
from kernsmith.study.factors.profile import BEHIND, NONE
from kernsmith.study.factors.profile import FACTOR as PROFILE
from kernsmith.study.steps import find_step_kind


def without_absent_steps(
    study: Study, sources: Mapping[str, Source]
) -> tuple[Study, tuple[str, ...]]:
    """The study without the steps that its source cannot have, and a sentence for each of these.

    It stays as it is where it has several sources, or its baseline has such a step: these levels
    are somebody's own words, and refused as such.

    Raises:
        UserError: no level is left that could be compared with another.
    """
    levels = dict(study.factors).get(PROFILE.name, ())
    if not levels or len(sources) != 1:
        return study, ()
    (source,) = sources.values()
    named = dict.fromkeys(step for level in levels for step in _steps(level))
    told = {step: not_carried(find_step_kind(step), source.path, source.name) for step in named}
    absent = {step: reason for step, reason in told.items() if reason}
    if not absent or any(step in absent for step in _steps(levels[0])):
        return study, ()
    stacks = (_without(absent, level) for level in levels)
    left = tuple(dict.fromkeys(stack for stack in stacks if stack))
    others = [each for each in study.factors if each[0] != PROFILE.name]
    if len(left) == 1 and all(len(values) == 1 for _, values in others):
        raise UserError(f"nothing remains to be compared: {'; '.join(absent.values())}")
    factors = tuple(
        (name, left if name == PROFILE.name else values) for name, values in study.factors
    )
    remarks = tuple(f"{reason}: it is left out" for reason in absent.values())
    return replace(study, factors=factors), remarks


def changes(variants: Iterable[Variant], sources: Mapping[str, Source]) -> tuple[str, ...]:
    """What is done otherwise in sources that are too old for it, in sentences.

    Patches are written into the cache, for people to read.
    """
    found: dict[str, None] = {}
    for variant in variants:
        source = sources[variant.source]
        recipe = make_recipe(variant, source)
        for symbol in recipe.backported:
            found[
                f"{source.name} has no CONFIG_{symbol}: kernsmith gives its flags to every object "
                "of the kernel"
            ] = None
        if recipe.patch:
            name = f"{source.name}-{digest_of(recipe.patch.diff)[:8]}.patch"
            path = paths.patches() / name
            if not path.exists():
                write_text(path, recipe.patch.diff)
            found[
                f"{SCRIPT} of {source.name} is patched, so that functions have sections of their "
                f"own: {path}"
            ] = None
    return tuple(found)


def _steps(level: str) -> list[str]:
    return [] if level == NONE else level.split(BEHIND)


def _without(absent: Iterable[str], level: str) -> str:
    """The level without steps; empty when nothing is left of it."""
    if level == NONE:
        return level
    gone = set(absent)
    return BEHIND.join(step for step in _steps(level) if step not in gone)
