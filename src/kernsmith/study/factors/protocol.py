# SPDX-License-Identifier: GPL-2.0-or-later
"""What a factor is: a name, its levels, and what a level does to a variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernsmith.errors import UserError
from kernsmith.study.variant import Variant


class LevelError(UserError):
    """A factor or a level that does not exist; the message says what is allowed."""


@dataclass(frozen=True)
class Factor:
    """One thing that a study varies.

    check: raises LevelError for a level that is not allowed.
    apply: the variant with this level in effect.
    rank: factors are applied by rank, then in the order of the study file; one that looks at what
        others did to the variant has a higher rank than they.
    """

    name: str
    description: str
    apply: Callable[[Variant, str], Variant]
    check: Callable[[str], None] = lambda level: None
    rank: int = 0


def one_of(name: str, allowed: tuple[str, ...]) -> Callable[[str], None]:
    """A check for factors with a closed list of levels."""

    def check(level: str) -> None:
        if level not in allowed:
            raise LevelError(
                f"factor {name!r} has no level {level!r}: allowed are {', '.join(allowed)}"
            )

    return check
