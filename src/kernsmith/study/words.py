# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants in a few words: `v7.3,CONFIG_HZ=1000` → factor levels. What `compare` is given."""

from __future__ import annotations

import re

from kernsmith.errors import UserError
from kernsmith.study.factors import find_factor
from kernsmith.study.source_word import parse_source

DEFAULT = "default"
_SETTING = re.compile(r",(?=[A-Za-z_]\w*=)")

Levels = tuple[tuple[str, str], ...]


def read_variant(text: str, source: str | None) -> Levels:
    """The factor levels that a variant's words name.

    text: settings `FACTOR=LEVEL` with commas between them. The first may be a source without
        `source=`, or a revision of the repository in `source`; `default` changes nothing. A comma
        that no `NAME=` follows belongs to the level.
    source: the folder or `git:FOLDER@REVISION` that revisions are taken from.

    Raises:
        UserError: an unknown factor or level, a revision without a repository, a factor twice.
    """
    levels: dict[str, str] = {}
    for place, word in enumerate(_SETTING.split(text.strip())):
        name, equals, level = word.partition("=")
        if place == 0 and (not equals or not re.fullmatch(r"[A-Za-z_]\w*", name)):
            levels |= _bare(word, source)
            continue
        if name == "revision":
            name, level = "source", _revision(level, source)
        if name in levels:
            raise UserError(f"{text!r} names {name} twice")
        find_factor(name).check(level)
        levels[name] = level
    return tuple(levels.items())


def _bare(word: str, source: str | None) -> dict[str, str]:
    if word == DEFAULT:
        return {}
    if not word:
        raise UserError(f"a variant must not be empty; one that changes nothing is {DEFAULT!r}")
    named = word.startswith(("git:", "debian:", "/", "~", "./", "../")) or word in (".", "..")
    if named or parse_source(word).kind == "tarball":
        return {"source": word}
    return {"source": _revision(word, source)}


def _revision(revision: str, source: str | None) -> str:
    repository = parse_source(source) if source is not None else None
    if repository is None or repository.kind not in ("folder", "git"):
        raise UserError(
            f"{revision!r} is read as a git revision, which needs --source FOLDER with the "
            f"repository; other variants are written as {DEFAULT!r}, FACTOR=LEVEL, or "
            "git:FOLDER@REVISION"
        )
    if not revision:
        raise UserError("revision= needs a git revision")
    return str(repository.at(revision))
