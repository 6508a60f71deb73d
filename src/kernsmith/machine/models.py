# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU models that are shipped, and what is known of their truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith import paths
from kernsmith._native import cpu_model_check
from kernsmith.errors import UserError
from kernsmith.foreign import read_toml
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


def model_path(cpu: str) -> Path:
    """The file of a CPU model.

    cpu: the name of a shipped one (`emeraldrapids`), or the path of a TOML file.

    Raises:
        UserError: there is none.
    """
    path = Path(cpu) if cpu.endswith(".toml") else paths.shipped("cpus", f"{cpu}.toml")
    if not path.is_file():
        known = ", ".join(shipped_names())
        raise UserError(f"there is no cpu model {cpu!r}: allowed are {known}, or a .toml file")
    return path


def check_model(path: Path) -> dict[str, Any]:
    """What the tracer says of a model's file.

    Raises:
        UserError: it is not a valid model.
    """
    try:
        model = cpu_model_check(path)
    except ValueError as error:
        raise UserError(str(error)) from None
    read_held(path)
    return model


def _model(name: str) -> Model:
    path = paths.shipped("cpus", f"{name}.toml")
    table = read_toml(path, "the CPU model")
    depths: tuple[Depth, ...] = (FRONTEND, "core") if "data" in table else (FRONTEND,)
    return Model(name, table["description"], depths, "decoupled" in table, read_held(path))
