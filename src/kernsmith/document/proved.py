# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of a variant's package where it was installed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FactView:
    """One thing that the booted system was asked. expected: empty where anything is right."""

    what: str
    seen: str
    expected: str
    holds: bool


@dataclass(frozen=True)
class ProvedView:
    """package, console: paths. facts: in the order in which they were asked.

    failed: why it was not installed or did not boot; empty when it did. reason: why nothing was
    tried; empty when it was. seconds: from power on to the login.
    """

    variant: str
    package: str
    facts: tuple[FactView, ...]
    failed: str
    reason: str
    seconds: float
    console: str

    @property
    def holds(self) -> bool:
        """Whether nothing was found that is not as the package says."""
        return not self.failed and all(fact.holds for fact in self.facts)
