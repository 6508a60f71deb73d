# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of what was executed is hot."""

import tomllib
from dataclasses import replace

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.factors import LevelError, find_factor
from kernsmith.study.file import study_from_tables
from kernsmith.study.plan import repeated_variants
from kernsmith.study.steps import step_kinds

TRAIN = ("pipe", "fork")
STACKS = ("none", "autofdo", "autofdo+thinlto+propeller")


def asked(*hot: str) -> Study:
    factors = (("profile", STACKS), ("hot", hot)) if hot else (("profile", STACKS),)
    return Study("debian:7.3", "micro", factors)


def planned(*hot: str) -> dict[str, Variant]:
    return {variant.name: variant for variant in plan_variants(asked(*hot), TRAIN)}


def test_clang_is_told_where_hot_begins() -> None:
    narrow = planned("0.9", "0.8")["profile=autofdo hot=0.8"].steps[0]
    assert "-profile-summary-cutoff-hot=800000" in step_kinds()["autofdo"].flags(narrow.told)


def test_a_share_may_be_written_as_a_number() -> None:
    text = '[source]\nuse = "debian:7.3"\n[factors]\nprofile = ["none", "autofdo"]\nhot = [{}]\n'
    numbers, words = (
        study_from_tables(tomllib.loads(text.format(levels)), origin="s.toml", name="s")
        for levels in ("0.9, 0.99", '"0.9", "0.99"')
    )
    assert numbers == words
    with pytest.raises(UserError, match=r"factors\.hot: factor 'hot' has no level 'inf'"):
        study_from_tables(tomllib.loads(text.format("inf")), origin="s.toml", name="s")


def test_without_it_variants_are_what_they_were() -> None:
    told = planned("0.9", "0.99")
    usual = told["profile=autofdo hot=0.9"].identity()
    assert usual == planned()["profile=autofdo"].identity()
    assert "hot" not in str(usual)
    assert told["profile=autofdo hot=0.99"].identity() != usual


def test_only_steps_that_say_it_are_others() -> None:
    stack = planned("0.9", "0.99")["profile=autofdo+thinlto+propeller hot=0.99"]
    assert [step.hot for step in stack.steps] == [0.99, 0.9, 0.9]
    left_out = [again.name for again, _ in repeated_variants(asked("0.9", "0.99"), TRAIN)]
    assert left_out == ["profile=none hot=0.99"]


def test_kernels_of_all_cut_offs_are_trained_on_the_same() -> None:
    told = planned("0.8", "0.99")
    narrow, wide = (told[f"profile=autofdo hot={hot}"] for hot in ("0.8", "0.99"))
    assert narrow.trainer == wide.trainer
    assert replace(narrow.steps[0], hot=0.99) == wide.steps[0]


@pytest.mark.parametrize(
    "level", ["", "0", "1", "0.0", "1.0", ".9", "0.9999999", "90 %", "½", "1e-1", "0.\u0669"]
)
def test_what_is_no_share_is_refused(level: str) -> None:
    with pytest.raises(LevelError, match=r"factor 'hot' has no level .*: allowed are shares"):
        find_factor("hot").check(level)
