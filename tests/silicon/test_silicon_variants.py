# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants of a study as builds of a program that is a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.kernel.toolchain import default_compiler
from kernsmith.silicon.builds import find_builds
from kernsmith.silicon.variants import build_of, refusal
from kernsmith.study import Study, Variant, plan_variants


def variants(*factors: tuple[str, tuple[str, ...]]) -> tuple[Variant, ...]:
    study = Study(source="x", config="uml", factors=factors, compiler=default_compiler())
    return plan_variants(study, ["uml"])


@pytest.mark.parametrize(
    ("level", "shipped"), [("O2", "O2"), ("O3", "O3"), ("Os", "Os")],
)  # fmt: skip
def test_levels_are_told_as_the_bench_tells_them(level: str, shipped: str) -> None:
    (variant,) = variants(("optimisation", (level,)))
    known = {build.name: build for build in find_builds()}
    assert build_of(variant).flags == known[shipped].flags
    assert build_of(variant).family == "clang"


def test_other_flags_stand_behind_the_level() -> None:
    (variant,) = variants(
        ("flags", ("-fno-inline",)), ("optimisation", ("O3",)), ("alignment", ("64",))
    )
    assert build_of(variant).flags == ("-O3", "-fno-inline", "-falign-functions=64")
    (aligned,) = variants(("alignment", ("64",)))
    known = {build.name: build for build in find_builds()}
    assert build_of(aligned).flags == known["align64"].flags


def test_profiles_are_stacks_that_train_on_the_load() -> None:
    none, autofdo, both = variants(("profile", ("none", "autofdo", "autofdo+propeller")))
    assert [refusal(each) for each in (none, autofdo, both)] == [None, None, None]
    profiles = [build_of(each).profile for each in (none, autofdo, both)]
    assert profiles == ["", "autofdo", "autofdo+propeller"]


@pytest.mark.parametrize(
    ("factor", "level", "said"),
    [
        ("config", "lab", "config 'lab': uml has a config of its own"),
        ("CONFIG_X86_5LEVEL", "n", "CONFIG_X86_5LEVEL: uml has a config of its own"),
        ("lto", "thin", "CONFIG_LTO_CLANG_THIN: kernsmith links the objects"),
        ("profile", "instrumented", "profile=instrumented: a kernel has no run-time library"),
        ("profile", "autofdo+layout", "profile=autofdo+layout: its order is found with traces"),
        ("profile", "bolt", "profile=bolt: BOLT rewrites kernels that boot"),
        ("profile", "autofdo+thinlto", "profile=autofdo+thinlto: "),
        ("profile", "propeller", "profile=propeller: uml has none, autofdo, autofdo+propeller"),
        ("linker", "bfd", "linker bfd: all layouts of uml are linked by the newest lld"),
        ("modules", "nf_tables", "modules nf_tables: uml is one static program"),
        ("layout", "profile", "layout profile: uml has its default layout and random ones"),
        ("flags", "-fno-such-flag", "does not take -fno-such-flag"),
    ],
)
def test_what_such_a_program_cannot_have_is_refused_with_the_reason(
    factor: str, level: str, said: str
) -> None:
    (variant,) = variants((factor, (level,)))
    reason = refusal(variant)
    assert reason is not None
    assert said in reason
    assert "\n" not in reason


def test_profiles_that_are_sampled_or_read_otherwise_are_refused() -> None:
    for factor, level in (("period", "100000"), ("hot", "0.5"), ("unseen", "cold")):
        (variant,) = variants(("profile", ("autofdo",)), (factor, (level,)))
        assert "no factors period, hot and unseen" in (refusal(variant) or "")


def test_gcc_has_no_autofdo_here() -> None:
    (variant,) = variants(("compiler", ("gcc",)), ("profile", ("autofdo",)))
    assert refusal(variant) == "profile=autofdo needs clang, and the compiler is gcc"
    (plain,) = variants(("compiler", ("gcc",)))
    assert refusal(plain) is None
    assert build_of(plain).family == "gcc"


def test_no_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "an.order").write_text("vfs_read\n")
    (variant,) = variants(("layout", (f"order:{tmp_path}/an.order",)))
    assert "random ones" in (refusal(variant) or "")
