# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of one boot, kernel, layout and workload say together what each part takes at least."""

from __future__ import annotations

from kernsmith.ledger import RunRow
from kernsmith.ledger.least import with_least


def run(chunks: list[int], *, boot: int = 1, status: str = "ok") -> RunRow:
    figures = {"reference_cycles": (float(sum(chunks)), "cycles")}
    told = {"chunks": chunks} if chunks else {}
    return RunRow("t", 1, status, "", "", "", 1.0, figures, told, boot)


def test_every_second_run_of_a_boot_has_the_estimate_of_its_half() -> None:
    rows = [
        ("pipe", 2, run([6, 1])),
        ("pipe", 0, run([5, 9])),
        ("file", 0, run([70, 70])),
        ("pipe", 1, run([8, 8])),
        ("pipe", 3, run([2, 2], boot=2)),
        ("pipe", 4, None),
        ("pipe", 5, run([1, 1], status="failed")),
        ("pipe", 6, run([])),
    ]
    found = with_least(rows)
    least = [each and each.metrics.get("least_cycles", (None, ""))[0] for each in found]
    assert least == [6, 6, 140, 16, 4, None, None, None]
    assert found[0] is not None
    assert found[0].metrics["reference_cycles"] == (7.0, "cycles")
    assert found[0].metrics["least_cycles"] == (6, "cycles")
