# SPDX-License-Identifier: GPL-2.0-or-later
"""KTAP: against the parser that the kernel has for it, on the logs that this is tested with."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from kernsmith.kernel.source import Source
from kernsmith.machine.ktap import FAILED, PASSED, SKIPPED, Case, read_ktap

BOOT = """[    0.050000] Freeing unused memory
[    0.060000] KTAP version 1
[    0.060000] 1..2
<6>[    0.060000]     KTAP version 1
[    0.061000]     # Subtest: sort
[    0.061000]     1..3
[    0.062000]     ok 1 small
[    0.062000] clocksource: tsc
[    0.062000]     # large: EXPECTATION FAILED at lib/sort_kunit.c:30
[    0.062000]     not ok 2 large
[    0.063000]         KTAP version 1
[    0.063000]         # Subtest: widths
[    0.063000]         ok 1 width 1
[    0.063000]         ok 2 width 2 # SKIP none
[    0.063000]     ok 3 widths
[    0.063000] # sort: pass:2 fail:1 skip:0 total:3
[    0.064000] not ok 1 sort
[    0.064000] ok 2 crc # SKIP no CRC
"""
# What no test of its own explains: logs of a program that says less than the format asks for.
UNLIKE = {"test_is_test_passed-failure-nested.log", "test_is_test_passed-no_tests_no_plan.log"}

THEIRS = """
import io, sys
sys.path.insert(0, sys.argv[1])
from kunit_parser import extract_tap_lines, parse_run_tests
from kunit_printer import Printer
for path in sys.argv[2:]:
    with open(path) as file:
        lines = extract_tap_lines(file)
        counts = parse_run_tests(lines, Printer(output=io.StringIO())).counts
    print("counts", counts.passed, counts.failed, counts.skipped, counts.crashed + counts.errors)
"""


def test_a_boot() -> None:
    read = read_ktap(BOOT)
    assert [(case.name, case.result) for case in read.cases] == [
        ("sort.small", PASSED),
        ("sort.large", FAILED),
        ("sort.widths.width 1", PASSED),
        ("sort.widths.width 2", SKIPPED),
        ("crc", SKIPPED),
    ]
    assert read.cases[1].said == ("large: EXPECTATION FAILED at lib/sort_kunit.c:30",)
    assert read.missing == 0


def test_a_boot_that_ends_in_the_middle_misses_results() -> None:
    cut = BOOT[: BOOT.index("[    0.062000]     not ok 2")]
    assert read_ktap(cut).missing == 4
    assert [case.name for case in read_ktap(cut).cases] == ["sort.small"]


def test_the_kernel_speaks_in_the_middle_of_a_programs_line() -> None:
    """As seen: it warns of a program that is started with no arguments, before the line ends."""
    told = "[   52.590537] process 'depth' launched '/tmp/1' with NULL argv: empty string added"
    whole = (
        "1..2\n    # Subtest: null-argv\n    1..2\n    ok 1 execve(str)\n"
        "    # [   51.000000] said\n    not ok 2 execve(NULL)\nnot ok 1 null-argv\nok 2 other\n"
    )
    expected = [("null-argv.execve(str)", PASSED), ("null-argv.execve(NULL)", FAILED)]
    for place in range(len(whole)):
        # Behind blanks it stands as a line of its own does, behind a mark as a quotation does.
        if whole[:place].rpartition("\n")[2].strip() not in ("", "#"):
            for times in (0, 1, 2):
                broken = whole[:place] + f"{told}\n" * times + whole[place:]
                read = read_ktap(broken)
                results = [(case.name, case.result) for case in read.cases]
                assert results == [*expected, ("other", PASSED)], broken
                assert read.missing == 0


def test_what_fails_beside_its_tests_has_failed() -> None:
    text = "1..1\n    # Subtest: list\n    1..1\n    ok 1 add\nnot ok 1 list\n"
    assert [case.name for case in read_ktap(text).of(FAILED)] == ["list"]


def test_what_is_expected_to_fail_has_not() -> None:
    text = "TAP version 13\n1..3\nok 1 - a # note\nnot ok 2 b # XFAIL known\nnot ok 3 c # TIMEOUT\n"
    assert [case.result for case in read_ktap(text).cases] == [PASSED, PASSED, FAILED]


def test_the_kernel_reads_the_same(source: Source) -> None:
    folder = source.path / "tools/testing/kunit"
    logs = sorted(folder.glob("test_data/*.log"))
    assert len(logs) > 15
    ran = subprocess.run(
        [sys.executable, "-c", THEIRS, str(folder), *map(str, logs)],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    lines = [line for line in ran.stdout.splitlines() if line.startswith("counts ")]
    theirs = dict(zip(logs, lines, strict=True))
    for log, counts in theirs.items():
        if log.name in UNLIKE:
            continue
        *words, trouble = map(int, counts.split()[1:])
        read = read_ktap(log.read_text(encoding="utf-8"))
        assert [len(read.of(each)) for each in (PASSED, FAILED, SKIPPED)] == words, log.name
        assert bool(trouble) == bool(read.missing or not read.cases), log.name


@given(st.integers(0, len(BOOT)))
def test_a_cut_log_has_no_result_that_the_whole_has_not(length: int) -> None:
    whole = {(case.name, case.result) for case in read_ktap(BOOT).cases}
    cut = read_ktap(BOOT[: BOOT.rfind("\n", 0, length) + 1])
    assert {(case.name, case.result) for case in cut.cases} <= whole


WORDS = ["ok", "not", "1", "..", "1..9", " ", "    ", "\t", "#", "# Subtest: x", "SKIP", "\n", "é"]


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS)).map("".join)))
def test_anything_can_be_read(text: str) -> None:
    read = read_ktap(text)
    assert read.missing >= 0


def test_a_heading_without_tests_below_it_is_of_a_test_itself() -> None:
    """What a selftest is that ends before it prints anything."""
    report = read_ktap("1..2\n    # Subtest: a\nok 1 a # SKIP\n    # Subtest: b\nok 2 b\n")
    assert report.cases == (Case("a", SKIPPED), Case("b", PASSED))
    assert report.missing == 0
