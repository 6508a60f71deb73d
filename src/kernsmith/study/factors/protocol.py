# SPDX-License-Identifier: GPL-2.0-or-later
"""What a factor is: a name, its levels, and what a level does to a variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.study.source_word import is_there, path_beside
from kernsmith.study.variant import Variant

# The path of a program as make and its shells can be given it: they quote nothing.
PROGRAM_PATH = r"/[\w.+@,/-]+"


class LevelError(UserError):
    """A factor or a level that does not exist; the message says what is allowed."""


@dataclass(frozen=True)
class Factor:
    """One thing that a study varies.

    apply: the variant with this level in effect.
    levels: all levels of a factor with a closed list; empty if `allow` decides.
    allow: raises LevelError for a level that is not allowed.
    rank: factors are applied by rank, then in the order of the study file; one that looks at what
        others did to the variant has a higher rank than they.
    locate: the level with the path in it, if there is one, made absolute: those in a study file are
        relative to its folder, which is the second argument.
    path: the path in a level, as written; empty for a level that has none.
    """

    name: str
    description: str
    apply: Callable[[Variant, str], Variant]
    levels: tuple[str, ...] = ()
    allow: Callable[[str], None] = lambda level: None
    rank: int = 0
    locate: Callable[[str, Path], str] = lambda level, folder: level
    path: Callable[[str], str] = lambda level: ""

    def check(self, level: str) -> None:
        """That the factor has this level.

        Raises:
            LevelError: it has not; the message says what is allowed.
        """
        if self.levels and level not in self.levels:
            raise LevelError(
                f"factor {self.name!r} has no level {level!r}: allowed are {', '.join(self.levels)}"
            )
        self.allow(level)


def file_beside(level: str, folder: Path) -> str:
    """The absolute path of a level that names a file beside a study, else the level as it is."""
    path = path_beside(folder, level)
    return str(path.resolve()) if is_there(path) and path.is_file() else level


def not_empty(name: str) -> Callable[[str], None]:
    """What allows levels that are resolved later, when the study is prepared."""

    def allow(level: str) -> None:
        if not level:
            raise LevelError(f"factor {name!r} has an empty level")

    return allow
