# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions a study's training was about: out of the counts beside its first profile."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kernsmith.document import HotFunctionView
from kernsmith.engine.hottest import find_hottest
from kernsmith.engine.verdicts import StudyResult
from kernsmith.profile import BranchCounts, write_counts
from kernsmith.study import Study, plan_variants
from whole_provenance import put_kernel

COUNTS = BranchCounts(
    {(0x1000, 0x1009): 3, (0x2000, 0x2009): 1}, {(1, 0x1000): 3}, "ab" * 20, ("pipe",)
)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A kernel that was trained on, as far as this looks at it."""
    put_kernel(tmp_path, "k" * 64, build_id="ab" * 20)
    lines = ["1000 T write", "1800 d data", "2000 t read", "3000 T _etext"]
    (tmp_path / "System.map").write_text("\n".join(lines) + "\n")
    (tmp_path / "profiles").mkdir()
    write_counts(COUNTS, tmp_path / "profiles/5a.counts")
    return tmp_path / "profiles/5a.afdo"


def _result(profile: Path) -> StudyResult:
    study = Study(source="debian:7.3", config="micro", factors=(("profile", ("none", "autofdo")),))
    variants = plan_variants(study, ("pipe",))
    profiles = {variants[1].name: (profile,)}
    prepared = SimpleNamespace(variants=variants)
    return cast(StudyResult, SimpleNamespace(prepared=prepared, profiles=profiles))


def test_the_counts_beside_the_profile(profile: Path) -> None:
    found = find_hottest(_result(profile))
    assert found is not None
    assert found.functions == (HotFunctionView("write", 0.75, 3), HotFunctionView("read", 0.25, 0))
    assert (found.ran, found.workloads, found.build_id) == (2, ("pipe",), "ab" * 20)
    assert found.counts == str(profile.with_suffix(".counts"))


def test_no_counts(profile: Path) -> None:
    profile.with_suffix(".counts").write_text("something else")
    assert find_hottest(_result(profile)) is None
    profile.with_suffix(".counts").unlink()
    assert find_hottest(_result(profile)) is None
    (profile.parent.parent / "provenance.json").unlink()
    assert find_hottest(_result(profile)) is None
