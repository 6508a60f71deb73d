# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/silicon.md and the model's file say of `emeraldrapids` what docs/silicon.csv says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from kernsmith import paths
from kernsmith.machine.held import Held, read_held
from kernsmith.report.silicon import points_table
from kernsmith.stats.agreement import Agreement, Point, Ranks


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("judged", paths.shipped("bench/judged.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def judged(bench: ModuleType) -> Agreement:
    found: Agreement = bench.judged()
    return found


@pytest.fixture(scope="module")
def page() -> str:
    """What it says of the model that is judged, and not of others."""
    text = paths.shipped("docs/silicon.md").read_text(encoding="utf-8")
    begin = text.index("\n## What it says: `emeraldrapids`")
    return text[begin : text.index("\n## ", begin + 1)]


@pytest.fixture(scope="module")
def baseline(judged: Agreement) -> list[Ranks]:
    return [each for each in judged.ranks if each.layouts == 17]


def test_the_page_has_the_sums(judged: Agreement, baseline: list[Ranks], page: str) -> None:
    signs = judged.builds
    correlation, allowed = (
        np.mean([getattr(each, what) for each in baseline]) for what in ("correlation", "allowed")
    )
    error, apart = (
        np.mean([getattr(each, what) for each in baseline]) for what in ("error", "difference")
    )
    for figure in (
        f"**{100 * judged.cycles:.1f} %**",
        f"**{judged.mean_error:.1f} and {judged.worst_error:.1f}**",
        f"**{100 * signs.right / signs.pairs:.0f} %** ({signs.right} of {signs.pairs})",
        f"**{correlation:.2f} of {allowed:.2f}**",
        f"**{error:.2f}**; {apart:.2f}",
    ):
        assert figure in page


def test_the_page_has_every_build_and_every_program(
    judged: Agreement, baseline: list[Ranks], page: str
) -> None:
    for ratio in judged.ratios:
        assert f" {ratio.measured:.3f} | {ratio.modelled:.3f} |" in page or ratio.group == "uml"
    for each in baseline:
        (row,) = (
            line
            for line in page.splitlines()
            if line.startswith(f"| `{each.group}` |") and line.endswith(f" {each.error:.2f} |")
        )
        assert f"| {each.correlation:.2f} |" in row
        assert f"| {each.spread:.2f} % | {each.modelled_spread:.2f} % |" in row
        assert f"| {each.difference:.2f} |" in row


def test_the_models_file_says_the_same(judged: Agreement, baseline: list[Ranks]) -> None:
    held = read_held(paths.shipped("cpus/emeraldrapids.toml"))
    assert isinstance(held, Held)
    assert held.cycles_percent == round(100 * judged.cycles, 1)
    assert (held.ratio_points, held.worst_points) == (
        round(judged.mean_error, 1),
        round(judged.worst_error, 1),
    )
    assert held.sign_percent == round(100 * (judged.builds.share or 0))
    assert held.rank_correlation == round(np.mean([each.correlation for each in baseline]), 2)
    assert set(held.names) == {each.group for each in baseline}
    assert held.programs == len(held.names)


def test_what_calibrate_writes_is_what_is_judged_here(bench: ModuleType, tmp_path: Path) -> None:
    judged = [
        Point("lua", "O2", "default", 39_345_115, 39_445_696, 39_421_482, 39_861_878),
        Point("uml", "gcc-O2", "random:1", 45_000_001, 45_000_002.0, 45_000_003, 0.125),
    ]
    file = tmp_path / "judged.csv"
    file.write_text(points_table(judged))
    assert file.read_text().splitlines()[0] == bench.TABLE.read_text().splitlines()[0]
    assert list(bench.points(file)) == judged
