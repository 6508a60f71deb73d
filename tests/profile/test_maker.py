# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of profile that a study may name can be made, and is told to a build."""

from pathlib import Path

import pytest

from kernsmith.kernel.recipe import StepProfile
from kernsmith.profile import ProfileMaker, find_profile_maker
from kernsmith.study.factors import find_factor
from kernsmith.study.steps import StepKind, Told, step_kinds


@pytest.mark.parametrize("kind", step_kinds().values(), ids=lambda kind: kind.name)
def test_a_kind_has_a_maker_and_words_for_kbuild(kind: StepKind) -> None:
    find_factor("profile").check(kind.name)
    if not kind.trained:
        assert kind.options
        assert not kind.suffixes
        return
    if kind.relinks:
        assert kind.symbol_order is not None
        return
    assert isinstance(find_profile_maker(kind.name), ProfileMaker)
    if kind.rewrites:
        assert len(kind.suffixes) == 1
        return
    files = tuple(f"/a/profile{suffix}" for suffix in kind.suffixes)
    paths = tuple(map(Path, files))
    for cold in (False, True):
        profile = StepProfile(kind, paths, Told(cold))
        told = [value for _, value in profile.variables]
        assert all(any(str(file).startswith(value) for value in told) for file in profile.read)
    ways = {StepProfile(kind, paths, Told(cold)).read for cold in (False, True)}
    assert set().union(*ways) == set(paths)
    # Instrumented kernels are asked for by variables, and gcc has no symbols of profiles.
    assert kind.symbols or kind.instrument


def test_what_was_not_seen_is_cold_only_on_request() -> None:
    autofdo = step_kinds()["autofdo"]
    cold, plain = autofdo.flags(Told(True)), autofdo.flags(Told())
    assert set(cold) - set(plain) == {"-fprofile-sample-accurate"}
    instrumented = step_kinds()["instrumented"]
    files = (Path("x.instrumented"), Path("x.seen"), Path("x.objects"))
    assert StepProfile(instrumented, files, Told()).read == (files[1], files[2])
    assert StepProfile(instrumented, files, Told(True)).read == (files[0], files[2])
    assert instrumented.is_told_of_unseen
