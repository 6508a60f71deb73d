# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the text of kernels ends: luck that no layout averages over.

x86-64 kernels have their text in pages of 2 MiB, but for the page that holds its end, which is
split (docs/model.md, "Pages"). So a few bytes more or less, anywhere, may put up to 2 MiB of code
into large pages or out of them, in every layout of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernsmith.document import TextEndView, VerdictView
from kernsmith.document.study import OVERALL
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import Symbol, read_system_map

LARGE = 2 << 20
"""Bytes of a large page."""

_MIB = 1 << 20
_MISSES = "itlb_misses"
_TOLD = 0.1
"""A ratio of misses that is so far from 1 is told."""


def find_text_ends(
    kernels: Mapping[str, Kernel], baseline: str, verdicts: Sequence[VerdictView]
) -> tuple[TextEndView, ...]:
    """Of each variant whose text reaches another large page than the baseline's, in the default
    layouts.

    kernels: by variant; programs have no such pages. verdicts: of the study, for what the
        instruction TLB makes of it.
    """
    sizes = {
        name: text_bytes(read_system_map(kernel.system_map))
        for name, kernel in kernels.items()
        if not kernel.program and kernel.system_map.exists()
    }
    if baseline not in sizes:
        return ()
    misses = {
        verdict.variant: verdict.ratio
        for verdict in verdicts
        if (verdict.metric, verdict.workload) == (_MISSES, OVERALL)
    }
    return tuple(
        _view(name, size, sizes[baseline], misses.get(name))
        for name, size in sizes.items()
        if size // LARGE != sizes[baseline] // LARGE
    )


def text_bytes(symbols: Sequence[Symbol]) -> int:
    """From `_text` to `_etext`; 0 where a kernel has no such symbols."""
    bounds = {s.name: s.address for s in symbols if s.name in ("_text", "_etext")}
    return bounds["_etext"] - bounds["_text"] if len(bounds) == 2 else 0


def _view(name: str, size: int, other: int, misses: float | None) -> TextEndView:
    more = size // LARGE - other // LARGE
    sentence = (
        f"its text has {size / _MIB:.2f} MiB and the baseline's {other / _MIB:.2f}: up to "
        f"the last 2 MiB boundary it is in large pages, so {2 * abs(more)} MiB "
        f"{'more' if more > 0 else 'less'} of it are, in every layout"
    )
    if misses is not None and abs(misses - 1) >= _TOLD:
        sentence += f"; {_MISSES} are {misses:.3g} of the baseline's"
    return TextEndView(name, size, other, sentence)
