# SPDX-License-Identifier: GPL-2.0-or-later
"""How true a CPU model is stands in its file, and changes no figure."""

from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.machine.held import Held, figures, read_held, with_held
from kernsmith.machine.tcg import open_machine

MODEL = paths.shipped("cpus/skylake.toml").read_text()
HELD = Held(
    processor="Some Processor", measured="2026-11", programs=5, calibrated=6, cycles_percent=9.1,
    ratio_points=2.0, worst_points=8.5, sign_percent=93, rank_correlation=0.5, rank_allowed=0.97,
)  # fmt: skip


def test_it_is_read_as_it_was_written_and_written_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(with_held(with_held(MODEL, HELD), HELD))
    assert read_held(file) == HELD
    assert file.read_text().count("[silicon]") == 1


def test_a_model_that_nobody_held_says_nothing() -> None:
    assert read_held(paths.shipped("cpus/skylake.toml")) is None
    assert read_held(None) is None


def test_no_figure_depends_on_it(tmp_path: Path) -> None:
    plain, held = tmp_path / "plain.toml", tmp_path / "held.toml"
    plain.write_text(MODEL)
    held.write_text(with_held(MODEL, HELD))
    assert figures(plain) == figures(held)
    one, other = (open_machine(str(file)).fingerprint() for file in (plain, held))
    assert one == other


def test_a_table_that_is_none_is_refused_by_its_key(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(with_held(MODEL, HELD).replace("ratio_points = 2.0", "ratio_points = -1"))
    with pytest.raises(UserError, match=r"silicon\.ratio_points: .*greater than or equal to 0"):
        open_machine(str(file))
