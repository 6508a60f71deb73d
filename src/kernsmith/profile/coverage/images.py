# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts by source of several images that ran together: a kernel, and its modules where they were.

Each image has numbers of its own for files, functions and copies of functions. A file of which code
is in several (a header) is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernsmith import _native
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import load_kernel
from kernsmith.kernel.module_code import module_image
from kernsmith.profile.counts import BranchCounts

Told = Mapping[str, Any]
"""What `_native.source_coverage` tells."""


def cover_images(counts: BranchCounts, vmlinux: Path) -> Told:
    """What counts say of the source of a kernel, and of those modules that lie beside it.

    Raises:
        UserError: no vmlinux, or one without line tables or symbols.
    """
    told = [_cover(counts.of_kernel(), vmlinux)]
    kernel = load_kernel(vmlinux.parent) if counts.modules else None
    for name, spans in counts.modules.items():
        part = counts.of_module(name)
        if kernel is not None and name in kernel.modules and part.ranges:
            told.append(_cover(part, module_image(kernel, name, spans)))
    return joined(told)


def _cover(counts: BranchCounts, image: Path) -> Told:
    ranges = [(first, last, count) for (first, last), count in counts.ranges.items()]
    try:
        return _native.source_coverage(image, ranges)
    except ValueError as error:
        raise UserError(str(error)) from None


def joined(told: list[Told]) -> Told:
    """As if all were of one image, whose build id is that of the first."""
    if len(told) == 1:
        return told[0]
    files: dict[str, int] = {}
    functions: list[tuple[Any, ...]] = []
    instances: list[tuple[Any, ...]] = []
    samples: list[tuple[Any, ...]] = []
    lines: dict[tuple[int, int], tuple[int, int, int, int]] = {}
    for one in told:
        number = [files.setdefault(path, len(files)) for path in one["files"]]
        before, copies = len(functions), len(instances)
        for file, line, times, executed, function in one["lines"]:
            key = number[file], line
            own = lines.get(key, (0, 0, function + before, -1))
            most = max((own[3], own[2]), (executed, function + before), key=lambda pair: pair[0])
            lines[key] = own[0] + times, own[1] + executed, most[1], most[0]
        functions += [
            (name, None if file is None else number[file], *rest)
            for name, file, *rest in one["functions"]
        ]
        instances += [
            (function + before, None if parent is None else parent + copies, line)
            for function, parent, line in one["instances"]
        ]
        samples += [(instance + copies, *rest) for instance, *rest in one["samples"]]
    return {
        "files": list(files),
        "lines": [(*key, *lines[key][:3]) for key in sorted(lines)],
        "functions": functions,
        "instances": instances,
        "samples": samples,
        "executed": sum(one["executed"] for one in told),
        "build_id": told[0]["build_id"],
    }
