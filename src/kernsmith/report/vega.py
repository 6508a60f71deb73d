# SPDX-License-Identifier: GPL-2.0-or-later
"""What draws the charts of pages: Vega, Vega-Lite and Vega-Embed, bundled by vl-convert.

Bundling takes seconds and makes the same text each time, so it is kept in the cache, for each
version of vl-convert, behind its digest: what is damaged is bundled anew.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from kernsmith import paths
from kernsmith.errors import DiskFull
from kernsmith.files import write_text

# What vl-convert bundles, with the licences of their packages.
_HEAD = """\
// SPDX-License-Identifier: BSD-3-Clause AND ISC
// Vega, Vega-Lite and Vega-Embed (https://vega.github.io) with D3 (https://d3js.org).
"""


def charts_script() -> str:
    """What draws the charts of pages, as a script of its own: no module, which a page that was
    opened as a file may not load."""
    return f"{_HEAD}(() => {{\n{vega_bundle()}\n}})();\n"


@cache
def vega_bundle() -> str:
    """A JavaScript module that sets `window.vegaEmbed`."""
    kept = paths.scripts() / f"vega-{version('vl-convert-python')}.js"
    if code := _read(kept):
        return code
    code = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    with suppress(OSError, DiskFull):  # a page can be written where the cache cannot
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, f"// {_digest(code)}\n{code}")
    return code


def _read(kept: Path) -> str:
    """What is kept; nothing when it is not there, or damaged."""
    try:
        first, _, code = kept.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return ""
    return code if first == f"// {_digest(code)}" else ""


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
