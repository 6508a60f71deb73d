# SPDX-License-Identifier: GPL-2.0-or-later
"""What an oracle says of a variant: whether its kernel works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FaultView:
    """name: of a test, or the kind of a report. said: the kernel's words."""

    name: str
    said: tuple[str, ...]


@dataclass(frozen=True)
class VerifiedView:
    """passed, failed, skipped: tests; or workloads and reports, of an oracle that watches these.

    kernel: key of the twin with the oracle in it; empty when there is none. new: what fails, and in
    the baseline does not. reason: why there is no answer; empty when there is one.
    """

    variant: str
    oracle: str
    kernel: str
    passed: int
    failed: int
    skipped: int
    new: tuple[FaultView, ...]
    reason: str
    seconds: float

    @property
    def works(self) -> bool:
        """Whether it was asked, and does nothing wrong that the baseline does right."""
        return not self.new and not self.reason
