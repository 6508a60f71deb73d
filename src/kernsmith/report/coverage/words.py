# SPDX-License-Identifier: GPL-2.0-or-later
"""How pages of coverage show figures, and where they are."""

from __future__ import annotations

from urllib.parse import quote

_STEPS = 7
_LEAST = 0.5e-4


def share_text(share: float) -> str:
    """In per cent, with as many digits as say something; empty for what shows none of them."""
    if share < _LEAST:
        return ""
    return f"{share:.1%}" if share >= 0.1 else f"{share:.2%}"


def heat(share: float) -> int:
    """From 0, nothing, to 7, at least a tenth of the run; each step is ten times the one before."""
    level, limit = _STEPS, 0.1
    while level > 1 and share < limit:
        level, limit = level - 1, limit / 10
    return level if share > 0 else 0


def page_path(source: str) -> str:
    """The page of a source file, from the index; never outside of its folder."""
    words = ["up" if word == ".." else word for word in source.split("/") if word]
    return "/".join(["files", *words]) + ".html"


def page_link(source: str, line: int = 0) -> str:
    """The same as a link, to a line."""
    return quote(page_path(source)) + (f"#L{line}" if line else "")
