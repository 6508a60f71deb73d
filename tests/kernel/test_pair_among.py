# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects of two kernels are suspects, where a user has named some."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair

NAMES = ("fs/pipe.o", "fs/proc/base.o", "kernel/fork.o", "kernel/sched/fair.o")
SAME = "kernel/fork.o"


@dataclass(frozen=True)
class NamedPair(Pair):
    """Of objects that are text."""

    objects = NAMES


def pair(folder: Path, *among: str) -> Pair:
    kernels = []
    for side in ("good", "bad"):
        kernel = Kernel(side * 10, folder / side, {"variant": {"name": side}})
        for name in NAMES:
            path = kernel.output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("" if name == SAME else side)
        kernels.append(kernel)
    return NamedPair(*kernels, among)


@pytest.mark.parametrize(
    ("among", "suspects"),
    [
        ((), ("fs/pipe.o", "fs/proc/base.o", "kernel/sched/fair.o")),
        (("fs/*.o",), ("fs/pipe.o",)),
        (("fs/**",), ("fs/pipe.o", "fs/proc/base.o")),
        (("kernel/**", "fs/pipe.o"), ("fs/pipe.o", "kernel/sched/fair.o")),
    ],
)
def test_suspects_are_the_objects_that_differ_and_fit(
    among: tuple[str, ...], suspects: tuple[str, ...], tmp_path: Path
) -> None:
    assert pair(tmp_path, *among).suspects == suspects


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("fs/pipes.o", "no object of the kernels is called fs/pipes.o"),
        ("kernel/*.o", "both kernels have the same objects for kernel/*.o"),
    ],
)
def test_a_pattern_without_suspects_is_told(pattern: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=told.replace("*", r"\*")):
        pair(tmp_path, "fs/**", pattern).check_among()
