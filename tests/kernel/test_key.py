# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that were built stay valid: equal inputs have the key that they have always had."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.arch import find_arch
from kernsmith.kernel.lto import lto_flags
from kernsmith.kernel.make import make_command
from kernsmith.kernel.recipe import Recipe, StepProfile
from kernsmith.kernel.sections import SCRIPT
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import Compiler, Linker, Toolchain
from kernsmith.study import Step, Variant
from kernsmith.study.steps import Told, step_kinds

CLANG = Toolchain(
    compiler=Compiler(
        name="clang-22",
        program="clang-22",
        family="clang",
        release=(22, 1, 8),
        banner="Debian clang version 22.1.8 (1~deb12u1)",
        content="0a1b",
        target=find_arch().target,
    ),
    linker=Linker(
        program="ld.lld-22",
        family="lld",
        release=(22, 1, 8),
        banner="Debian LLD 22.1.8 (compatible with GNU linkers)",
        content="2c3d",
    ),
    own="ld.lld-22",
)
VARIANT = Variant(
    source="debian:7.3",
    config="micro",
    options=(("HZ", "100"),),
    flags=("-O3", "-march=x86-64-v3"),
)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))
    tree = tmp_path / "sources/debian-7.3/tree"
    script = tree / SCRIPT
    script.parent.mkdir(parents=True)
    script.write_text("#define TEXT_MAIN .text .text.[_0-9A-Za-z]*\n")
    source = Source("linux-7.3.4", tree, "7.3.4", "sha256:0123", "x")
    return Recipe(VARIANT, source, CLANG, {"64BIT": "y", "HZ": "100"}, False, 900)


def test_the_key_of_a_kernel(recipe: Recipe) -> None:
    """The figures are those of the first version that keyed kernels by their compilers' content. If
    this fails, every kernel that anyone has is built again: change RECIPE and these figures only if
    it must be so."""
    assert recipe.key == "b7d5b1c480d9ae940f861e6ecaac253d6fa107aff89aa59c42a100eeb62af28b"


def test_the_key_of_a_kernel_with_a_profile(recipe: Recipe, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("profile")
    asked = replace(VARIANT, steps=(Step("autofdo", ("pipe",)),))
    read = StepProfile(step_kinds()["autofdo"], (profile,), Told(unseen_is_cold=True))
    with_profile = replace(recipe, variant=asked, profiles=(read,))
    assert with_profile.key == "29c4b28fe7f0e1ff00c788deaa420f5ae4e5aa2f23bb4f7fd70eba58eb766a9a"


def test_a_step_that_is_made_again_replaces_its_own_profile(recipe: Recipe, tmp_path: Path) -> None:
    kind = step_kinds()["autofdo"]
    profiles = []
    for name in ("first", "second"):
        files = tuple(tmp_path / f"{name}{suffix}" for suffix in kind.suffixes)
        for file in files:
            file.write_text(name)
        profiles.append(StepProfile(kind, files))
    twice = replace(recipe, profiles=tuple(profiles))
    assert twice.read_profiles == (profiles[1],)
    assert twice.key == replace(recipe, profiles=(profiles[1],)).key != recipe.key
    assert f"CLANG_AUTOFDO_PROFILE={tmp_path / 'second.afdo'}" in make_command(twice, tmp_path)


def test_an_lto_linker_is_told_what_does_not_travel_in_bitcode(recipe: Recipe) -> None:
    flags = (*VARIANT.flags, "-mllvm", "-enable-ext-tsp-block-placement=true")
    variant = replace(VARIANT, flags=flags)
    assert replace(recipe, variant=variant).link_flags == ()
    lto = replace(recipe, variant=variant, requested={"LTO_CLANG_THIN": "y", "LTO_NONE": "n"})
    assert lto.link_flags == ("--lto-O3", "-mllvm", "-enable-ext-tsp-block-placement=true")
    told = make_command(lto, recipe.source.path)
    assert f"LD=ld.lld-22 {' '.join(lto.link_flags)}" in told


@pytest.mark.parametrize(
    ("symbols", "variables", "told"),
    [
        ({}, {}, ()),
        ({"LTO_CLANG_FULL": "y"}, {}, ()),
        ({"AUTOFDO_CLANG": "y", "LTO_CLANG_THIN": "y"}, {"CLANG_AUTOFDO_PROFILE": "/a.afdo"}, ()),
        (
            {"AUTOFDO_CLANG": "y", "LTO_CLANG_FULL": "y"},
            {"CLANG_AUTOFDO_PROFILE": "/a.afdo"},
            ("--lto-sample-profile=/a.afdo", "-mllvm", "-split-machine-functions"),
        ),
        (
            {"PROPELLER_CLANG": "y", "LTO_CLANG_FULL": "y"},
            {"CLANG_PROPELLER_PROFILE_PREFIX": "/p"},
            ("--lto-basic-block-sections=/p_cc_profile.txt",),
        ),
        ({"PROPELLER_CLANG": "y", "LTO_CLANG_FULL": "y"}, {}, ("--lto-basic-block-address-map",)),
    ],
)
def test_full_lto_is_told_of_profiles_what_kbuild_tells_thinlto_alone(
    symbols: dict[str, str], variables: dict[str, str], told: tuple[str, ...]
) -> None:
    flags = lto_flags(symbols, (), variables, 22)
    assert flags[-len(told) :] == told if told else not flags
    discriminators = ("-enable-fs-discriminator=true", "-improved-fs-discriminator=true")
    full = {"AUTOFDO_CLANG", "LTO_CLANG_FULL"} <= set(symbols)
    assert all((flag in flags) == full for flag in discriminators)


def test_a_kernel_with_counters_is_one_of_its_own(recipe: Recipe, tmp_path: Path) -> None:
    counting = replace(recipe, variant=replace(VARIANT, trains="instrumented"))
    told = make_command(counting, tmp_path / "out")
    assert counting.key != recipe.key
    assert "CONFIG_GCOV_PROFILE_ALL=y" in told
    assert "KERNSMITH_LINKED=counters.lds" in told
    (flags,) = (word for word in told if word.startswith("CFLAGS_GCOV="))
    assert flags.startswith("CFLAGS_GCOV=-fprofile-generate ")
    gcc = replace(CLANG, compiler=replace(CLANG.compiler, family="gcc"))
    told = make_command(replace(counting, toolchain=gcc), tmp_path / "out")
    assert any("-fprofile-info-section" in word for word in told)


def test_headers_are_made_by_the_same_awk_everywhere_it_is(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each awk has its own order of arrays, and kbuild writes headers in it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    without = make_command(recipe, tmp_path / "out")
    assert not [word for word in without if word.startswith("AWK=")]
    (tmp_path / "mawk").write_text("#!/bin/sh\n")
    (tmp_path / "mawk").chmod(0o755)
    assert set(make_command(recipe, tmp_path / "out")) - set(without) == {"AWK=mawk"}


def test_words_for_the_same_compiler_are_the_same_kernel(recipe: Recipe) -> None:
    named = replace(recipe, variant=replace(VARIANT, compiler="clang-22", linker="lld-22"))
    assert named.key == recipe.key


def test_another_linker_or_another_way_to_compile_is_another_kernel(
    recipe: Recipe, tmp_path: Path
) -> None:
    gnu = replace(CLANG, linker=replace(CLANG.linker, program="ld.bfd"))
    (tmp_path / "old" / SCRIPT).parent.mkdir(parents=True)
    (tmp_path / "old" / SCRIPT).write_text("#define TEXT_MAIN .text\n")
    old = replace(recipe.source, path=tmp_path / "old")
    elsewhere = replace(VARIANT, arch="riscv64")
    others = [
        replace(recipe, toolchain=gnu),
        replace(recipe, source=old),
        replace(recipe, variant=elsewhere),
    ]
    assert len({recipe.key, *(other.key for other in others)}) == 4
    assert "-ffunction-sections" in recipe.code_flags
    assert "-ffunction-sections" not in others[1].code_flags


def test_a_folder_of_the_users_is_told_by_its_content(recipe: Recipe, tmp_path: Path) -> None:
    """Wherever it lies, and also when a revision of a repository has the same content."""
    for name in ("here", "there"):
        shutil.copytree(recipe.source.path, tmp_path / name)
    folders = [replace(recipe.source, path=tmp_path / name) for name in ("here", "there")]
    assert {replace(recipe, source=each).key for each in folders} == {recipe.key}


def test_programs_are_told_by_their_content_and_name(recipe: Recipe) -> None:
    def under(folder: str) -> Recipe:
        compiler = replace(CLANG.compiler, name=f"{folder}/bin/clang")
        linker = replace(CLANG.linker, program=f"{folder}/bin/ld.lld")
        return replace(recipe, toolchain=replace(CLANG, compiler=compiler, linker=linker))

    assert under("/opt/a").key == under("/opt/b").key != recipe.key
