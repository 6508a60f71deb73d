# SPDX-License-Identifier: GPL-2.0-or-later
"""Where results are printed."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

from rich.console import Console

_LOG_WIDTH = 120
_LEAST_WIDTH, _TEXT_WIDTH = 40, 100


class _Console(Console):
    """One whose reader may go away: `main` knows what to do then; rich ends the program with 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def result_console(width: int = _LOG_WIDTH, *, markup: bool = True) -> Console:
    """Standard output; where it is no terminal, as wide as COLUMNS has it, or `width`."""
    console = _Console(highlight=False, markup=markup)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = width
    return console


def help_console() -> Console:
    """Standard output for help, as rich would have it."""
    return _Console()


def text_width() -> int:
    """Of paragraphs, in letters: that of the terminal or of COLUMNS, as far as it reads well."""
    columns = shutil.get_terminal_size((_TEXT_WIDTH, 0)).columns
    return min(max(columns, _LEAST_WIDTH), _TEXT_WIDTH)
