# SPDX-License-Identifier: GPL-2.0-or-later
"""[machine] and [[machine]] of a study file: from tables to machines, and the way back."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from kernsmith.study.study import DEFAULT_CPU, Place, Setting
from kernsmith.study.unsaid import cpu_on

quote = partial(json.dumps, ensure_ascii=False)


class MachineTable(BaseModel):
    """[machine]: where kernels boot; [[machine]] twice: on which two machines."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    use: str = "tcg"
    """The machine."""
    cpu: str = DEFAULT_CPU
    """A shipped CPU model, or the path of one (TOML); of machines that measure time: none."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """What this kind of machine takes besides: of tcg, depth, time_limit, slots, vcpus and
    snapshots; of kvm, processor, time_limit and accel; of uml, runs, processor and time_limit; of
    ssh, these, boot_seconds, power_cycle, ssh_options and others; of self, enter, go_on, host and
    others."""

    metric: str = ""
    """What the study is about on this machine; default: that of [design]."""


def _listed(value: object) -> object:
    """One table, [machine], or two, [[machine]]."""
    return value if isinstance(value, list) else [value]


Machines = Annotated[
    list[MachineTable],
    BeforeValidator(_listed),
    Field(min_length=1, max_length=2),
]


def place_of(table: MachineTable, metric: str) -> Place:
    """A machine that is not the study's first. metric: of the design, where the table has none."""
    cpu = table.cpu if "cpu" in table.model_fields_set else cpu_on(table.use)
    return Place(
        table.use,
        cpu,
        tuple(sorted(table.settings.items())),
        table.metric or metric,
    )


def machine_lines(place: Place, *, one_of_two: bool) -> list[str]:
    """A machine's table; of two, in the form that may be repeated."""
    name = "[[machine]]" if one_of_two else "[machine]"
    lines = ["", name, f"use = {quote(place.machine)}", f"cpu = {quote(place.cpu)}"]
    if one_of_two and place.metric:
        lines.append(f"metric = {quote(place.metric)}")
    if place.settings:
        lines += ["", "[machine.settings]"]
        lines += [f"{key} = {quote(value)}" for key, value in place.settings]
    return lines
