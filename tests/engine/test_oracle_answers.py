# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of variants, from what consoles of their twins and of the baseline's show."""

from __future__ import annotations

import pytest

from kernsmith.document import VerifiedView
from kernsmith.engine.oracle_answers import Heard, answers
from kernsmith.engine.oracles import Findings, cases_of_reports, cases_of_tests, select_oracles

(SELFTESTS, LOCKDEP) = select_oracles(["selftests", "lockdep"])
TWO = "TAP version 13\n1..2\nok 1 sort\nnot ok 2 clock\n"
PANIC = "selftests: panic: kernel panic: Attempted to kill init!"


def heard(text: str, bad: str = "", *, alike: bool = True, name: str = "A") -> Heard:
    return Heard(name, "12ab", (Findings(cases_of_tests(text), bad),), alike=alike)


def judged(baseline: Heard | None, variant: Heard) -> VerifiedView:
    *_, answer = answers(SELFTESTS, baseline, [variant])
    return answer


def test_what_the_baseline_fails_is_no_fault() -> None:
    of_baseline, answer = answers(SELFTESTS, heard(TWO, name="base"), [heard(TWO)])
    assert of_baseline.works and answer.works
    assert (of_baseline.variant, answer.variant) == ("base", "A")
    assert (answer.passed, answer.failed, answer.oracle) == (1, 1, "selftests")


def test_what_fails_in_a_variant_alone_is_named() -> None:
    answer = judged(heard(TWO), heard(TWO.replace("ok 1 sort", "not ok 1 sort")))
    assert [fault.name for fault in answer.new] == ["sort"]
    assert not answer.works


@pytest.mark.parametrize("text", ["1..1\nnot ok 1 clock\n", TWO.replace("sort", "sort # SKIP x")])
def test_what_the_baseline_has_passed_must_have_a_good_end(text: str) -> None:
    answer = judged(heard(TWO), heard(text))
    assert [fault.name for fault in answer.new] == ["sort"]
    assert "passed in the baseline" in answer.new[0].said[0]


def test_what_another_config_has_not_is_no_fault() -> None:
    assert judged(heard(TWO), heard("1..1\nok 1 other\n", alike=False)).works


def test_more_tests_without_a_result_are_told() -> None:
    one, three = "1..3\nok 1 a\nok 2 b\n", "1..5\nok 1 a\nok 2 b\n"
    assert judged(heard(one), heard(one)).works
    (fault,) = judged(heard(one), heard(three)).new
    assert (fault.name, fault.said) == ("tests without a result", ("3 that were planned",))


def test_a_bad_end_where_the_baseline_has_a_good_one_is_a_fault() -> None:
    answer = judged(heard(TWO), heard(TWO, PANIC))
    assert [fault.name for fault in answer.new] == [PANIC]
    assert not answer.reason


@pytest.mark.parametrize(
    ("baseline", "why"),
    [
        (None, "it could not be built"),
        (Heard("base", "", reason="there is no gcc"), "there is no gcc"),
        (heard(TWO, PANIC, name="base"), "Attempted to kill init"),
        (heard("[    0.1] Linux version 7.3.4\n", name="base"), "no test has passed"),
    ],
)
def test_a_baseline_that_shows_nothing_leaves_nothing_to_say(
    baseline: Heard | None, why: str
) -> None:
    answer = judged(baseline, heard(TWO.replace("not ok", "ok").replace("ok", "not ok")))
    assert "the baseline could not be asked: " in answer.reason and why in answer.reason
    assert not answer.new and not answer.works


def test_a_variant_of_which_no_test_has_passed_has_not_answered() -> None:
    nothing = heard("[    0.1] Linux version 7.3.4\n", alike=False)
    assert not judged(heard(TWO), nothing).works
    assert judged(heard(TWO), Heard("A", "", reason="does not link")).reason == "does not link"


def test_reports_of_watchdogs_are_compared_by_their_kind() -> None:
    splat = "[    1.1] WARNING: possible circular locking dependency detected\n"
    quiet, loud = (
        Heard(name, "12ab", (Findings(cases_of_reports(text, "pipe")),))
        for name, text in (("quiet", ""), ("loud", splat))
    )
    *_, silent = answers(LOCKDEP, loud, [quiet])
    assert silent.works
    *_, worse = answers(LOCKDEP, quiet, [loud])
    assert [fault.name for fault in worse.new] == [
        "WARNING: possible circular locking dependency detected"
    ]
