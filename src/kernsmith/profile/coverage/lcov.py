# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage as lcov's tracefile, which genhtml, editors and services of CI read (`man geninfo`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kernsmith.profile.coverage.coverage import Coverage


def lcov_text(coverage: Coverage, path_of: Callable[[str], Path | None]) -> str:
    """All files of which something ran.

    path_of: where the text of a file is; None: it keeps the name that line tables have for it.
    """
    return "".join(f"{line}\n" for line in _lines(coverage, path_of))


def _lines(coverage: Coverage, path_of: Callable[[str], Path | None]) -> Iterator[str]:
    for number, file in enumerate(coverage.files):
        yield "TN:"
        yield f"SF:{path_of(file.path) or file.path}"
        functions = [coverage.functions[each] for each in coverage.functions_of.get(number, ())]
        functions.sort(key=lambda function: (function.line, function.name))
        for function in functions:
            yield f"FN:{function.line},{function.name}"
        for function in functions:
            yield f"FNDA:{function.entered},{function.name}"
        yield f"FNF:{len(functions)}"
        yield f"FNH:{sum(function.entered > 0 for function in functions)}"
        for line in file.lines:
            yield f"DA:{line.line},{line.times}"
        yield f"LF:{len(file.lines)}"
        yield f"LH:{file.ran}"
        yield "end_of_record"
