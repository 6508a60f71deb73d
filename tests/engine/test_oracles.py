# SPDX-License-Identifier: GPL-2.0-or-later
"""What an oracle reads off a console, and which answers it gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from documents import study_document, verdict
from kernsmith.cli.outcome import exit_code
from kernsmith.document import FaultView, VerifiedView
from kernsmith.engine.oracles import (
    ORACLES,
    Oracle,
    cases_of_reports,
    cases_of_tests,
    select_oracles,
)
from kernsmith.errors import UserError
from kernsmith.kernel.config import kconfig_symbols
from kernsmith.kernel.source import Source
from kernsmith.machine.ktap import FAILED, PASSED
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.verified import verified_lines

REPORTS = """[    1.0] UBSAN: array-index-out-of-bounds in ../source/net/core/dev.c:10:12
[    1.0] index 7 is out of range for type 'int [4]'
[    1.1] WARNING: possible circular locking dependency detected
[    1.1] kernsmith/31 is trying to acquire lock:
[    1.2] BUG: KASAN: slab-out-of-bounds in memcmp+0x12/0x90
[    1.2] Read of size 1 at addr ffff888001234567 by task kernsmith/31
[    1.3] BUG: KASAN: slab-out-of-bounds in memcmp+0x44/0x98
"""


# What a kernel printed of whose fs/pipe.c two lines were made wrong on purpose (docs/verify.md).
SEEN = [
    (
        """Run /init as init process
------------[ cut here ]------------
UBSAN: shift-out-of-bounds in ../source/fs/pipe.c:910:24
shift exponent 36 is too large for 32-bit type 'unsigned int'
CPU: 0 UID: 0 PID: 1 Comm: init Not tainted 7.3.4 #1 PREEMPTLAZY
Call Trace:
 <TASK>
 dump_stack_lvl+0x42/0x60
 ubsan_epilogue+0x5/0x30
 __ubsan_handle_shift_out_of_bounds+0x276/0x290
 alloc_pipe_info+0x205/0x210
---[ end trace ]---
""",
        (
            "UBSAN: shift-out-of-bounds in ../source/fs/pipe.c:910:24",
            "shift exponent 36 is too large for 32-bit type 'unsigned int'",
        ),
    ),
    (
        """kernsmith: metric sys_seconds=0.000236198
==================================================================
BUG: KASAN: slab-out-of-bounds in free_pipe_info+0xd2/0x190
Read of size 8 at addr ffff888000a5f268 by task init/29

CPU: 0 UID: 0 PID: 29 Comm: init Not tainted 7.3.4 #1 PREEMPTLAZY
Call Trace:
 <TASK>
 dump_stack_lvl+0x42/0x60
 kasan_report+0x112/0x140
 free_pipe_info+0xd2/0x190
 </TASK>

Allocated by task 1:
 __kmalloc_noprof+0x1d2/0x2d0
""",
        (
            "BUG: KASAN: slab-out-of-bounds in free_pipe_info+0xd2/0x190",
            "Read of size 8 at addr ffff888000a5f268 by task init/29",
        ),
    ),
]


def test_reports_are_told_once_without_what_differs_from_kernel_to_kernel() -> None:
    cases = cases_of_reports(REPORTS, "pipe")
    assert [case.name for case in cases] == [
        "UBSAN: array-index-out-of-bounds in ../source/net/core/dev.c:N:N",
        "WARNING: possible circular locking dependency detected",
        "BUG: KASAN: slab-out-of-bounds in memcmp",
    ]
    assert {case.result for case in cases} == {FAILED}
    assert cases[2].said == (
        "BUG: KASAN: slab-out-of-bounds in memcmp+0x12/0x90",
        "Read of size 1 at addr ffff888001234567 by task kernsmith/31",
    )


@pytest.mark.parametrize(("console", "said"), SEEN)
def test_what_kernels_have_printed_is_read(console: str, said: tuple[str, ...]) -> None:
    (case,) = cases_of_reports(console, "pipe")
    assert (case.result, case.said) == (FAILED, said)


def test_a_kernel_that_reports_nothing_has_passed() -> None:
    (case,) = cases_of_reports(
        "[    0.1] Linux version 7.3.4\n[    1.0] random: crng init done\n", "pipe"
    )
    assert (case.name, case.result) == ("pipe", PASSED)


def test_no_tests_are_no_success() -> None:
    (case,) = cases_of_tests("[    0.1] Linux version 7.3.4\n")
    assert (case.name, case.result) == ("no test has run", FAILED)
    *_, last = cases_of_tests("1..2\nok 1 sort\n")
    assert (last.name, last.said) == ("tests without a result", ("1 that were planned",))


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_its_symbols_are_the_kernels(oracle: Oracle, source: Source) -> None:
    (chosen,) = select_oracles([oracle.name])
    assert chosen.options or chosen.selftests
    assert {symbol for symbol, _ in chosen.options} <= kconfig_symbols(source.path)


def test_an_unknown_oracle_is_told() -> None:
    with pytest.raises(UserError, match="no oracle 'kmsan': allowed are kunit, selftests, lockdep"):
        select_oracles(["kunit", "kmsan"])


WORKS = VerifiedView("B", "kunit", "12ab", 812, 1, 30, (), "", 3.0)
FAULT = FaultView("int_sqrt.sqrt_test", ("Expected 3 == 9",))


def test_reports_say_it() -> None:
    document = replace(study_document([verdict(0.9)]), verified=(WORKS,))
    (line,) = verified_lines(document)
    assert line == (
        "B: kunit: works (812 passed, 1 failed, 30 skipped, all of which the baseline fails, too)"
    )
    assert line in study_markdown(document)
    assert exit_code(document) == 0


def test_the_baseline_is_what_others_are_held_against() -> None:
    document = study_document([verdict(0.9)], "A faster one")
    (name,) = (each.name for each in document.variants if each.baseline)
    (line,) = verified_lines(replace(document, verified=(replace(WORKS, variant=name),)))
    assert line == (
        f"{name}: kunit: 812 passed, 1 failed, 30 skipped, which others are held against"
    )


def test_a_kernel_that_does_not_work_ends_with_1() -> None:
    broken = replace(WORKS, new=(FAULT,), failed=2)
    unasked = replace(WORKS, reason="the kernel does not link")
    for answer, words in (
        (broken, "does not work: int_sqrt.sqrt_test, which the baseline does not fail"),
        (unasked, "no answer: the kernel does not link"),
    ):
        document = replace(study_document([verdict(0.9)]), verified=(answer,))
        (line,) = verified_lines(document)
        assert words in line
        assert exit_code(document) == 1
        page, markdown = study_page(document), study_markdown(document)
        assert f"</strong> {line}</p>" in page
        assert markdown.index("B: kunit: ") < markdown.index("|"), "before all tables"


def test_a_better_variant_of_which_nothing_was_asked_is_told() -> None:
    better = study_document([verdict(0.9, (0.88, 0.92))], "A faster one")
    (line,) = verified_lines(better)
    assert line.startswith("A faster one: it boots, and its workloads check what they did; no ora")
    assert line in study_markdown(better)
    assert line in study_page(better)
    assert exit_code(better) == 0
    asked = replace(better, verified=(replace(WORKS, variant="A faster one"),))
    assert "no oracle" not in study_markdown(asked)
    worse = study_document([verdict(1.1, (1.08, 1.12))])
    assert not verified_lines(worse)
