# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds that are compared without one draw's luck.

A predictor that knows branches by function has them meet in its tables by chance, the same in all
layouts of a build and another one in each build (docs/silicon.md, "What a predictor knows a branch
by"). So each build is simulated by several draws of the names (`decoupled.predictor.draw`), and
stands at their mean. Between layouts of one build nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from kernsmith.engine.events import Events
from kernsmith.engine.silicon import Row, Simulated, simulated
from kernsmith.foreign import read_text
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.pinned import pin
from kernsmith.machine.tcg import Tcg
from kernsmith.silicon.binaries import DEFAULT, Binary

DRAWS = 5
"""Of a program that mispredicts much, one draw is 0.7 points of a ratio away from their mean."""


def over_draws(
    machine: Tcg,
    kernel: Path,
    rows: Sequence[Row],
    binaries: Sequence[Binary],
    figures: Mapping[str, Simulated],
    events: Events,
) -> list[float]:
    """Modelled cycles of each row's binary, builds at their means over draws.

    binaries, figures: of all rows, the latter by digest. What draws change, each build's default
    layout tells: predictors say (with histories of directions, nearly) the same in all of them.
    """
    known = [figures[row.digest].counters[MODEL_CYCLES] for row in rows]
    models = drawn_models(read_text(machine.cpu, "the CPU model"))
    defaults = [binary for binary in binaries if binary.layout == DEFAULT]
    if not models:
        return known
    digest_of = {(row.program, row.build, row.layout): row.digest for row in rows}
    digests = [digest_of[one.program, one.build, one.layout] for one in defaults]
    logs = [[figures[digest].counters[MODEL_CYCLES] for digest in digests]]
    for number, model in enumerate(models, start=1):
        events.note(f"names of functions, draw {number + 1} of {DRAWS}")
        drawn = replace(machine, model=pin(model.encode(), "drawn.toml"))
        found = simulated(drawn, kernel, defaults, events)
        logs.append([found[digest].counters[MODEL_CYCLES] for digest in digests])
    ratios = np.exp((np.log(logs) - np.log(logs[0])).mean(axis=0))
    of_build = {
        (binary.program, binary.build): float(ratio)
        for binary, ratio in zip(defaults, ratios, strict=True)
    }
    return [one * of_build[row.program, row.build] for one, row in zip(known, rows, strict=True)]


def drawn_models(text: str) -> tuple[str, ...]:
    """A model's file by each of the other draws; none where branches are known by address."""
    document: Any = tomlkit.parse(text)
    predictor = document.get("decoupled", {}).get("predictor", {})
    if predictor.get("known_by") != "function":
        return ()
    found = []
    for draw in range(1, DRAWS):
        predictor["draw"] = draw
        found.append(tomlkit.dumps(document))
    return tuple(found)
