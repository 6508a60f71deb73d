# SPDX-License-Identifier: GPL-2.0-or-later
"""Options with a grammar of their own: per cent (`0.5%`), ranges of layouts (`8..64`), `7d`."""

from __future__ import annotations

import re
from dataclasses import replace

from kernsmith.errors import UserError
from kernsmith.study import Design


def read_percent(option: str, text: str) -> float:
    """`0.5%` or `0.5`, not negative.

    Raises:
        UserError: anything else.
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*%?", text.strip())
    if not found or float(found[1]) >= 100:
        raise UserError(f"{option} takes per cent from 0 to 100, such as 0.5%, not {text!r}")
    return float(found[1])


def with_layouts(design: Design, text: str) -> Design:
    """A design with `8..64` (from 8 until it is clear, 64 at most) or `8` (exactly 8) layouts.

    Raises:
        UserError: anything else.
    """
    found = re.fullmatch(r"(\d{1,5})(?:\.\.(\d{1,5}))?", text.strip())
    if found:
        least, most = int(found[1]), int(found[2] or found[1])
        if found[2] is None and 1 <= least <= 10_000:
            return replace(design, layouts=least, until=0.0)
        if 2 <= least <= most <= 10_000:
            return replace(design, layouts=least, most_layouts=most)
    raise UserError(
        f"--layouts takes a number of layouts or a range of it from 2 on, such as 8..64, not "
        f"{text!r}"
    )


def with_range(design: Design, text: str) -> Design:
    """A design that is looked at while layouts are added: `8..64`, or `8` and no more.

    Raises:
        UserError: anything else, or a single layout.
    """
    try:
        return with_layouts(design, text if ".." in text else f"{text}..{text}")
    except UserError:
        raise UserError(
            f"--layouts takes 2 layouts or more, or a range such as 8..64, not {text!r}"
        ) from None


def read_days(option: str, text: str) -> float:
    """`7d` or `12h`, in days.

    Raises:
        UserError: anything else.
    """
    found = re.fullmatch(r"(\d{1,5})([dh])", text.strip())
    if not found:
        raise UserError(f"{option} takes days or hours, such as 7d or 12h, not {text!r}")
    return int(found[1]) / (24 if found[2] == "h" else 1)
