# SPDX-License-Identifier: GPL-2.0-or-later
"""A text that ends behind another 2 MiB boundary is told; one that does not is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents import verdict
from kernsmith.engine.text_ends import LARGE, find_text_ends, text_bytes
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.symbols import read_system_map
from made_trace import make_kernel

START = 0xFFFF_FFFF_8100_0000


def kernel(folder: Path, size: int) -> Kernel:
    """One whose text has so many bytes."""
    make_kernel(folder)
    made = load_kernel(folder)
    assert made is not None
    made.system_map.write_text(f"{START:x} T _text\n{START + size:x} T _etext\n")
    return made


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (2 * LARGE - 1, ""),
        (2 * LARGE, "4.00 MiB and the baseline's 3.70: up to the last 2 MiB boundary it is in "
         "large pages, so 2 MiB more of it are, in every layout"),
        (LARGE - 4096, "so 2 MiB less of it are"),
    ],
)  # fmt: skip
def test_what_lies_behind_another_border_is_told(tmp_path: Path, size: int, told: str) -> None:
    kernels = {"A": kernel(tmp_path / "a", 0x3B4268), "B": kernel(tmp_path / "b", size)}
    ends = find_text_ends(kernels, "A", [])
    assert [end.variant for end in ends] == (["B"] if told else [])
    assert all(told in end.sentence and "itlb" not in end.sentence for end in ends)


def test_misses_are_told_beside_it(tmp_path: Path) -> None:
    kernels = {"A": kernel(tmp_path / "a", LARGE - 1), "B": kernel(tmp_path / "b", LARGE)}
    of_all = verdict(0.0142, metric="itlb_misses")
    (end,) = find_text_ends(kernels, "A", [of_all])
    assert end.sentence.endswith("; itlb_misses are 0.0142 of the baseline's")
    (end,) = find_text_ends(kernels, "A", [replace(of_all, ratio=1.05)])
    assert "itlb" not in end.sentence


def test_a_kernel_without_marks_has_no_end(tmp_path: Path) -> None:
    path = tmp_path / "System.map"
    path.write_text("0 T start\n")
    assert text_bytes(read_system_map(path)) == 0
    assert find_text_ends({}, "A", []) == ()
