# SPDX-License-Identifier: GPL-2.0-or-later
"""How true a CPU model is: its `[silicon]` table, from holding it against a processor.

`kernsmith cpu calibrate` writes the table (docs/silicon.md). Figures do not depend on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernsmith.errors import UserError
from kernsmith.foreign import read_toml

TABLE = "silicon"


class Held(BaseModel):
    """A model's errors on programs that did not calibrate it.

    processor: what it was held against. measured: year and month. programs: how many; of: what
        they were, programs or a kernel's workloads. names: which; each was judged by figures that
        others had calibrated, but these have calibrated the file's own, or were in view when it
        was made.
    calibrated: how many of its figures were fitted; 0: none.
    cycles_percent: mean error of cycles. ratio_points, worst_points: mean and largest error of the
        ratio of two builds, in percentage points. sign_percent: of the pairs of builds that the
        processor tells apart, how many the model orders the same way; None without such a pair.
    rank_correlation: of layouts of one build; rank_allowed: what the noise of the times allows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    processor: str
    measured: str
    programs: int = Field(ge=1)
    of: Literal["programs", "workloads"] = "programs"
    calibrated: int = Field(ge=0)
    cycles_percent: float = Field(ge=0)
    ratio_points: float = Field(ge=0)
    worst_points: float = Field(ge=0)
    sign_percent: float | None = Field(None, ge=0, le=100)
    rank_correlation: float = Field(ge=-1, le=1)
    rank_allowed: float = Field(ge=0, le=1)
    names: tuple[str, ...] = ()


def read_held(cpu: Path | None) -> Held | None:
    """What a model's file says of its truth; None of a model that was never held against silicon.

    Raises:
        UserError: the file is no TOML, or the table is not one.
    """
    if cpu is None:
        return None
    table = read_toml(cpu, "the CPU model").get(TABLE)
    if table is None:
        return None
    try:
        return Held.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (TABLE, *first["loc"])))
        raise UserError(f"CPU model {cpu}: {where}: {first['msg']}") from None


def figures(cpu: Path) -> dict[str, object]:
    """A model file's tables but this one: all that a simulation depends on.

    Raises:
        UserError: the file is no TOML.
    """
    tables = read_toml(cpu, "the CPU model")
    return {name: value for name, value in tables.items() if name != TABLE}


def with_held(text: str, held: Held) -> str:
    """A model's file with this table in place of the one that it has, at its end."""
    document = tomlkit.parse(text)
    document.pop(TABLE, None)
    table = tomlkit.table()
    table.comment("how far off it is: written by `kernsmith`, docs/silicon.md")
    table.update(held.model_dump(exclude_none=True))
    return tomlkit.dumps(document).rstrip("\n") + "\n\n" + tomlkit.dumps({TABLE: table})
