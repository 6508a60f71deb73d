# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests say of a mixed kernel, against what they say of the good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.engine.mix_tests import BAD, GOOD
from kernsmith.engine.oracles import Findings, cases_of_tests
from kernsmith.engine.unit_tests import Known

THREE = "TAP version 13\n1..3\nok 1 sort\nok 2 list\nnot ok 3 clock\n"


def shown(text: str, bad: str = "") -> Findings:
    return Findings(cases_of_tests(text), bad)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (THREE, ""),
        (THREE.replace("not ok 3", "ok 3"), ""),
        (THREE.replace("ok 1", "not ok 1"), "sort fails"),
        (THREE.replace("ok 2 list", "ok 2 list # SKIP no"), "list is skipped or missing"),
        ("1..1\nnot ok 1 clock\n", "list is skipped or missing and 1 more"),
    ],
)
def test_what_the_good_kernel_passes_must_pass(tmp_path: Path, text: str, why: str) -> None:
    Known.of(shown(THREE)).write(tmp_path / "kept.json")
    judged = Known.read(tmp_path / "kept.json").judge(shown(text), 2.0)
    assert (judged.verdict, judged.reason) == (BAD if why else GOOD, why)
    assert judged.seconds == 2.0


def test_a_boot_that_ends_badly_is_bad_whatever_has_passed() -> None:
    assert Known.of(shown(THREE)).judge(shown(THREE, "kernel panic"), 1.0).reason == "kernel panic"
