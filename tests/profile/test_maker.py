# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of profile that a study may name can be made, and is told to a build."""

import pytest

from kernsmith.profile import ProfileMaker, find_profile_maker
from kernsmith.study.factors import find_factor
from kernsmith.study.profiles import ProfileKind, profile_kinds


@pytest.mark.parametrize("kind", profile_kinds().values(), ids=lambda kind: kind.name)
def test_a_kind_has_a_maker_and_words_for_kbuild(kind: ProfileKind) -> None:
    assert isinstance(find_profile_maker(kind.name), ProfileMaker)
    assert kind.name in find_factor("profile").levels
    assert any("/a/profile" in value for _, value in kind.make_variables("/a/profile"))
    assert kind.symbols


def test_exact_profiles_are_told_apart_from_samples() -> None:
    autofdo = profile_kinds()["autofdo"]
    assert set(autofdo.flags(True)) - set(autofdo.flags(False)) == {"-fprofile-sample-accurate"}
