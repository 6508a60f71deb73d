# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel sources of before AutoFDO: used where they are unpacked; `make test-all` fetches them."""

from __future__ import annotations

import os

import pytest

from kernels import ALL
from kernsmith import paths
from kernsmith.kernel.source import Source, resolve_source

OLDER = ("debian:6.12", "debian:6.1")


def older_source(word: str) -> Source:
    """The source, or the test is skipped: each is some 140 MB to fetch."""
    if not (paths.sources() / word.replace(":", "-")).exists() and not os.environ.get(ALL):
        pytest.skip(f"{word} is not unpacked here; make test-all fetches it")
    return resolve_source(word, paths.sources())
