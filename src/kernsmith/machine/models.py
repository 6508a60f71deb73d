# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU models that are shipped, and what is known of their truth."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from kernsmith import paths
from kernsmith.machine.held import Held, read_held
from kernsmith.study.study import FRONTEND, Depth


@dataclass(frozen=True)
class Model:
    """A CPU model.

    depths: how deep it can be simulated. in_time: its front end is simulated by clocks; else its
        cycles are a sum of penalties.
    held: how far off it was when it was held against a processor; None when nobody did that.
    """

    name: str
    description: str
    depths: tuple[Depth, ...]
    in_time: bool
    held: Held | None


def shipped_models() -> tuple[Model, ...]:
    """All of them, by name."""
    return tuple(_model(name) for name in shipped_names())


def shipped_names() -> tuple[str, ...]:
    """What `--cpu` takes beside a file, in order."""
    return tuple(sorted(path.stem for path in paths.shipped("cpus").glob("*.toml")))


def _model(name: str) -> Model:
    path = paths.shipped("cpus", f"{name}.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    depths: tuple[Depth, ...] = (FRONTEND, "core") if "data" in table else (FRONTEND,)
    return Model(name, table["description"], depths, "decoupled" in table, read_held(path))
