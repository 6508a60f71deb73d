# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest with many runs says over its serial line, whole and damaged."""

from __future__ import annotations

import re
from zlib import crc32

from kernsmith.machine.session_lines import SESSION, Answer, checked, end_of, order, read_answer


def said(*lines: str, number: int = 1, status: int = 0, count: int | None = None) -> list[str]:
    """As guest/timed/session.c says it."""
    last = f"kernsmith: ran {number} lines={len(lines) if count is None else count} status={status}"
    return [f"{line} #{crc32(line.encode()):08x}" for line in (*lines, last)]


WHOLE = (
    "kernsmith: begin pipe",
    "kernsmith: metric reference_cycles=162813742",
    "kernsmith: absent kernel_cycles: there is no PMU, or it has no such event",
    "kernsmith: chunks 81406871 81406870",
    "kernsmith: chunks 1",
    "kernsmith: end pipe status=0",
)


def answer(lines: list[str], number: int = 1) -> Answer:
    return read_answer(number, "\r\n".join(lines) + "\r\n")


def test_an_order_names_the_run_and_how_much_of_it() -> None:
    assert order(7, "pipe", 100, 10) == "run 7 pipe 100 10"


def test_a_checksum_is_of_all_before_it() -> None:
    assert checked("kernsmith: session clock=tsc #7c8fe3b9") is None
    # Of zlib's crc32: what the guest computes itself is in the test of a real boot.
    assert checked("kernsmith: x #cafebabe") is None
    (line,) = said()[:1]
    assert checked(line) == "kernsmith: ran 1 lines=0 status=0"
    assert checked(line.replace("status=0", "status=1")) is None


def test_a_run_that_came_whole_has_its_figures_and_what_is_absent() -> None:
    found = answer(said(*WHOLE))
    assert found.verdict("pipe") == ("ok", "")
    assert found.said.metrics == {"reference_cycles": 162813742}
    assert found.absent == {"kernel_cycles": "there is no PMU, or it has no such event"}
    assert found.chunks == (81406871, 81406870, 1)


def test_what_the_kernel_says_in_between_is_nobodys() -> None:
    lines = said(*WHOLE)
    found = answer(["[  1.0] some driver: woke up", *lines[:2], "random: done", *lines[2:]])
    assert found.verdict("pipe") == ("ok", "")


def test_a_line_that_the_kernel_has_written_into_fails_the_run() -> None:
    lines = said(*WHOLE)
    lines[1] = lines[1][:30] + "[  1.0] oops" + lines[1][30:]
    status, reason = answer(lines).verdict("pipe")
    assert status == "failed"
    assert reason == "of the 6 lines that the guest said, 5 came as they were said"


def test_a_last_line_that_the_kernel_has_written_into_is_said_again() -> None:
    whole = said(*WHOLE)
    damaged = whole[-1][:20] + "[  1.0] oops" + whole[-1][20:]
    text = "\r\n".join([*whole[:-1], damaged, whole[-1]]) + "\r\n"
    found = re.search(end_of(1), text)
    assert found
    assert read_answer(1, found[0]).verdict("pipe") == ("ok", "")
    after = "\r\n".join([whole[-1], *said(*WHOLE, number=2)])
    assert read_answer(2, after).verdict("pipe") == ("ok", "")


def test_a_figure_whose_digit_has_changed_is_no_figure() -> None:
    lines = said(*WHOLE)
    lines[1] = lines[1].replace("162813742", "162813743")
    assert answer(lines).said.metrics == {}
    assert answer(lines).verdict("pipe")[0] == "failed"


def test_an_end_of_another_run_is_none() -> None:
    found = answer(said(*WHOLE, number=2), number=3)
    assert found.verdict("pipe") == (
        "failed",
        "the last line of the guest did not come as it was said",
    )


def test_a_workload_that_a_signal_killed_is_told_so() -> None:
    found = answer(said("kernsmith: begin pipe", status=128 + 11))
    assert found.verdict("pipe") == ("failed", "the workload was killed by signal 11")


def test_a_workload_that_failed_says_why() -> None:
    found = answer(
        said(
            "kernsmith: begin pipe",
            "kernsmith: end pipe status=5 read: Input/output error",
            status=1,
        )
    )
    assert found.verdict("pipe") == (
        "failed",
        "the workload failed with errno 5 read: Input/output error",
    )


def test_patterns_wait_for_whole_lines() -> None:
    lines = "\n".join(said(*WHOLE)) + "\n"
    assert re.search(end_of(1), lines)
    assert not re.search(end_of(1), lines[:-4])
    assert not re.search(end_of(2), lines)
    found = re.search(SESSION, "kernsmith: session clock=kvm-clock #0badcafe\n")
    assert found and found[1] == "kvm-clock"
