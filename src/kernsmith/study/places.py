# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a study's files lie, taken out of its words: digests and ledgers hold no absolute path.

A file is called by the end of its path: its name, with as many of its folders before it as tell it
from the study's other words. What is in it is told by digests (`engine.prepare.study_digest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from kernsmith.study.factors import find_factor
from kernsmith.study.study import Study


def paths_in(study: Study) -> tuple[str, ...]:
    """The absolute paths in a study's words, each once. The study is one that `check_study` takes.

    Relative ones mean the same in every copy of the folder that they are beside.
    """
    found = (find_factor(factor).path(word) for factor, word in words_of(study))
    named = (*found, study.cpu, study.profile, study.root)
    return tuple(dict.fromkeys(path for path in named if PurePath(path).is_absolute()))


def short_names(study: Study) -> dict[str, str]:
    """What each of `paths_in` is called."""
    found = paths_in(study)
    plain = {word for _, word in words_of(study)} | {study.cpu}
    tails = {path: PurePath(path).parts[1:] for path in found}

    def name(path: str) -> str:
        mine = tails[path]
        others = [tail for other, tail in tails.items() if other != path]
        for count in range(1, len(mine)):
            short = "/".join(mine[-count:])
            if short not in plain and all(tail[-count:] != mine[-count:] for tail in others):
                return short
        return "/".join(mine)

    return {path: name(path) for path in found}


def without_folders(study: Study) -> Study:
    """The study with short names in place of absolute paths: what ledgers keep of it."""
    names = short_names(study)
    return replace(
        study,
        source=short_level("source", study.source, names),
        config=short_level("config", study.config, names),
        compiler=short_level("compiler", study.compiler, names),
        linker=short_level("linker", study.linker, names),
        cpu=names.get(study.cpu, study.cpu),
        profile=names.get(study.profile, study.profile),
        root=names.get(study.root, study.root),
        factors=tuple(
            (factor, tuple(short_level(factor, level, names) for level in levels))
            for factor, levels in study.factors
        ),
        variants=tuple(
            (
                short_text(name, names),
                tuple((factor, short_level(factor, level, names)) for factor, level in levels),
            )
            for name, levels in study.variants
        ),
    )


def short_level(factor: str, level: str, names: Mapping[str, str]) -> str:
    """A factor's level with the short name of its path, if it has one."""
    path = find_factor(factor).path(level) if level else ""
    return level.replace(path, names[path], 1) if path in names else level


def short_text(text: str, names: Mapping[str, str]) -> str:
    """A name that a user may have written with paths in it."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return text


def words_of(study: Study) -> Iterator[tuple[str, str]]:
    """Factors with their levels, and what a study says for all variants in the same words."""
    for factor in ("source", "config", "compiler", "linker"):
        if word := getattr(study, factor):
            yield factor, word
    yield from ((factor, level) for factor, levels in study.factors for level in levels)
    yield from (pair for _, levels in study.variants for pair in levels)
