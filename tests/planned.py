# SPDX-License-Identifier: GPL-2.0-or-later
"""A study that is planned, and others like it."""

from kernsmith.study import Study

BASE = Study(source="debian:7.3", config="lab", factors=(("profile", ("none", "autofdo")),))
WORKLOADS = ("pipe", "fork", "mmap")


def study(**changes: object) -> Study:
    fields = {name: getattr(BASE, name) for name in BASE.__dataclass_fields__}
    return Study(**(fields | changes))  # type: ignore[arg-type]
