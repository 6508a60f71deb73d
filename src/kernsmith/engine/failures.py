# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study could not make, and whether that says something of what was asked for."""

from __future__ import annotations

from kernsmith.errors import KernsmithError

Key = tuple[str, str]


class Failures(dict[Key, str]):
    """Why something could not be made, by a kernel's identity and a layout of it; the layout is
    empty for the kernel itself."""

    def __init__(self) -> None:
        super().__init__()
        self._of_host: set[Key] = set()

    def note(self, key: Key, error: KernsmithError) -> None:
        """Add an error; whether this computer is its reason stays known."""
        self[key] = str(error)
        if error.of_host:
            self._of_host.add(key)

    def is_of_host(self, key: Key) -> bool:
        """Whether this computer is the reason (a compiler was killed), and not what was made."""
        return key in self._of_host

    @property
    def of_host(self) -> tuple[str, ...]:
        """All such reasons."""
        return tuple(self[key] for key in self if key in self._of_host)
