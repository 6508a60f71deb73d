# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds are compared by a mean over draws of names; between their layouts nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import tomlkit

from cpu_models import PENALTIES
from kernsmith import paths
from kernsmith.engine import draws
from kernsmith.engine.events import Silent
from kernsmith.engine.silicon import Row, Simulated
from kernsmith.kernel.artifact import file_digest
from kernsmith.machine.tcg import Tcg, open_machine
from kernsmith.silicon.binaries import Binary


def _model(name: str) -> str:
    return paths.shipped("cpus", f"{name}.toml").read_text()


def test_each_draw_is_a_model_of_its_own() -> None:
    text = _model("emeraldrapids")
    models = [tomlkit.parse(model).unwrap() for model in draws.drawn_models(text)]
    numbers = [model["decoupled"]["predictor"].pop("draw") for model in models]
    assert numbers == [1, 2, 3, 4]
    assert all(model == tomlkit.parse(text).unwrap() for model in models)


def test_by_address_nothing_is_drawn() -> None:
    assert draws.drawn_models(_model("zen5")) == ()
    assert draws.drawn_models(PENALTIES.read_text()) == ()


def _binary(folder: Path, build: str, layout: str) -> Binary:
    file = folder / f"{build}-{layout.replace(':', '-')}"
    file.write_text(file.name)
    return Binary("lua", build, layout, file)


def test_builds_stand_at_their_mean_and_layouts_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts = ("default", "random:1")
    binaries = [_binary(tmp_path, build, layout) for build in ("O2", "Os") for layout in layouts]
    digests = [file_digest(one.path) for one in binaries]
    cycles = dict(zip(digests, (100, 110, 90, 120), strict=True))
    figures = {
        digest: Simulated({"model_cycles": float(value)}, None) for digest, value in cycles.items()
    }
    asked = []

    def simulated(
        machine: Tcg, kernel: Path, made: Sequence[Binary], events: object
    ) -> Mapping[str, Simulated]:
        """By the draw, `Os` has better luck and worse, `O2` always the same."""
        draw = tomlkit.parse(machine.cpu.read_text())["decoupled"]["predictor"]["draw"]
        asked.append((draw, [(one.build, one.layout) for one in made]))
        luck = {"O2": 1.0, "Os": 1.1**draw}
        return {
            file_digest(one.path): Simulated(
                {"model_cycles": cycles[file_digest(one.path)] * luck[one.build]}, None
            )
            for one in made
        }

    monkeypatch.setattr(draws, "simulated", simulated)
    rows = [
        Row("lua", one.build, one.layout, file_digest(one.path), 1, 1, 1.0, 1.0, 1.0)
        for one in binaries
    ]
    machine = open_machine("emeraldrapids")
    found = draws.over_draws(machine, Path("vmlinux"), rows, binaries, figures, Silent())
    # 1.1 to the power of the mean of 0, 1, 2, 3 and 4.
    assert found == pytest.approx([100, 110, 90 * 1.21, 120 * 1.21])
    defaults = [("O2", "default"), ("Os", "default")]
    assert asked == [(draw, defaults) for draw in (1, 2, 3, 4)]
