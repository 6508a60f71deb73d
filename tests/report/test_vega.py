# SPDX-License-Identifier: GPL-2.0-or-later
"""What draws charts is bundled once for all pages, and pages need no cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from kernsmith.report.vega import vega_bundle


def bundled(*_: object) -> str:
    raise AssertionError("it is bundled again")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    vega_bundle.cache_clear()
    yield tmp_path
    vega_bundle.cache_clear()


def test_it_is_bundled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = vega_bundle()
    assert "window.vegaEmbed" in first
    vega_bundle.cache_clear()
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundled)
    assert vega_bundle() == first


@pytest.mark.parametrize("damage", [b"", b"cut off", b"\xff\n"])
def test_what_is_damaged_is_bundled_anew(
    damage: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: "whole")
    assert vega_bundle() == "whole"
    (kept,) = cache.rglob("*.js")
    kept.write_bytes(damage)
    vega_bundle.cache_clear()
    assert vega_bundle() == "whole"
    assert kept.read_text().endswith("\nwhole")


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda snippet: "whole")
    (cache / "scripts").write_text("no folder")
    assert vega_bundle() == "whole"
