# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's console lines, among everything else that a kernel prints."""

from hypothesis import given
from hypothesis import strategies as st

from kernsmith.machine.console import read_console

GOOD = """[    0.1] Linux version 7.3.4\r
kernsmith: begin pipe\r
kernsmith: metric seconds=0.051200000\r
kernsmith: metric sys_seconds=0.048\r
kernsmith: end pipe status=0\r
[    0.9] reboot: Restarting system\r
"""


def test_a_good_run() -> None:
    said = read_console(GOOD)
    assert said.verdict("pipe") == ("ok", "")
    assert said.metrics == {"seconds": 0.0512, "sys_seconds": 0.048}


def test_what_can_go_wrong() -> None:
    assert read_console("").verdict("pipe") == ("failed", "the guest did not start")
    begun = "kernsmith: begin pipe\n"
    assert read_console(begun).verdict("pipe")[1] == "the workload did not end"
    panic = f"{begun}[ 1.0] Kernel panic - not syncing: Attempted to kill init!\n"
    assert read_console(panic).verdict("pipe")[0] == "panic"
    failed = f"{begun}kernsmith: end pipe status=28 No space left on device\n"
    assert "errno 28 No space left" in read_console(failed).verdict("pipe")[1]
    other = "kernsmith: end fork status=0\n"
    assert "'fork'" in read_console(other).verdict("pipe")[1]


@given(st.text())
def test_any_text_is_a_verdict(text: str) -> None:
    assert read_console(text).verdict("pipe")[0] in {"ok", "failed", "panic"}
