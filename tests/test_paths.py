# SPDX-License-Identifier: GPL-2.0-or-later
"""Which folder the caches are in."""

from pathlib import Path

import pytest

from kernsmith import paths


def test_the_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("KERNSMITH_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert paths.cache_root() == Path("/home/someone/.cache/kernsmith")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert paths.sources() == Path("/var/cache/kernsmith/sources")
    monkeypatch.setenv("KERNSMITH_CACHE", "~/fast")
    assert paths.ledger() == Path("/home/someone/fast/ledger.sqlite")
