# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoFDO and Propeller in trees that do not know them: the same flags for the same objects."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.kernel.backports import backports, make_variables, not_carried
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.constraints import refusal
from kernsmith.kernel.lto import lto_flags
from kernsmith.kernel.make import make_command
from kernsmith.kernel.recipe import Recipe, StepProfile, make_recipe
from kernsmith.kernel.sections import SCRIPT
from kernsmith.kernel.source import Source
from kernsmith.study import Step, Study, Variant, plan_variants
from kernsmith.study.steps import Told, step_kinds
from older_sources import OLDER, older_source

AUTOFDO = step_kinds()["autofdo"]
PROPELLER = step_kinds()["propeller"]


@pytest.fixture(params=OLDER)
def older(request: pytest.FixtureRequest) -> Source:
    return older_source(request.param)


def variant(level: str) -> Variant:
    study = Study(source="x", config="micro", factors=(("profile", (level,)),))
    return plan_variants(study, ("pipe",))[0]


def with_profile(recipe: Recipe, folder: Path) -> Recipe:
    files = tuple(folder / f"trained{suffix}" for suffix in AUTOFDO.suffixes)
    for file in files:
        file.write_text("profile")
    asked = replace(recipe.variant, steps=(Step("autofdo", ("pipe",)),))
    return replace(recipe, variant=asked, profiles=(StepProfile(AUTOFDO, files),))


@pytest.mark.parametrize("profile", ["", "/a/trained.afdo"])
@pytest.mark.parametrize("debug_info", ["", "y"])
def test_flags_are_those_of_the_kernels_own_makefile(
    source: Source, profile: str, debug_info: str
) -> None:
    """scripts/Makefile.autofdo of a tree that has it, as make reads it."""
    text = (
        f"include {source.path}/scripts/Makefile.autofdo\nall: ; @echo '$(CFLAGS_AUTOFDO_CLANG)'\n"
    )
    said = [f"CLANG_AUTOFDO_PROFILE={profile}"] if profile else []
    said += [f"CONFIG_DEBUG_INFO={debug_info}"] if debug_info else []
    make = ["make", "-s", "-f", "-", *said]
    done = subprocess.run(make, input=text, capture_output=True, text=True, check=True)
    files = (profile, "/a/trained.idle") if profile else ()
    flags = backports()["AUTOFDO_CLANG"].flags(files, bool(debug_info))
    assert list(flags) == done.stdout.split()


@pytest.mark.parametrize("profile", ["", "/a/trained"])
def test_so_are_propellers(source: Source, profile: str) -> None:
    """scripts/Makefile.propeller, with a clang that is new enough."""
    text = (
        f"clang-min-version = y\ninclude {source.path}/scripts/Makefile.propeller\n"
        "all: ; @echo '$(CFLAGS_PROPELLER_CLANG)'\n"
    )
    said = [f"CLANG_PROPELLER_PROFILE_PREFIX={profile}"] if profile else []
    make = ["make", "-s", "-f", "-", "CONFIG_AUTOFDO_CLANG=y", *said]
    done = subprocess.run(make, input=text, capture_output=True, text=True, check=True)
    files = tuple(f"{profile}{suffix}" for suffix in PROPELLER.suffixes) if profile else ()
    flags = backports()["PROPELLER_CLANG"].flags(files, False)
    assert list(flags) == done.stdout.split()


KBUILD = """\
real-obj-y := fs/read_write.o
lib-y := lib/memcpy.o
modkern_cflags = $(if $(part-of-module),$(CFLAGS_MODULE),$(CFLAGS_KERNEL))
all: ; @$(MAKE) -s -f {file} fs/read_write.o lib/memcpy.o arch/x86/vdso/vgetcpu.o net/module.o
net/module.o: part-of-module = y
%.o: ; @echo $@ $(modkern_cflags)
"""


def test_flags_reach_objects_of_the_kernel_and_modules_and_nothing_else(tmp_path: Path) -> None:
    """By make itself, through a make that it starts, as kbuild does."""
    file = tmp_path / "Makefile"
    file.write_text(KBUILD.format(file=file))
    variables = make_variables(("-a,b", "-c=$d"))
    words = [f"{name}={value}" for name, value in variables.items()]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-s", "-f", str(file), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    told = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert told["fs/read_write.o"] == told["lib/memcpy.o"] == told["net/module.o"] != ""
    assert told["fs/read_write.o"].startswith("-a,b -c=")
    assert told["arch/x86/vdso/vgetcpu.o"] == ""


def test_an_older_tree_gets_flags_and_a_newer_one_its_symbol(
    older: Source, source: Source, tmp_path: Path
) -> None:
    recipe = make_recipe(variant("none"), older)
    assert recipe.backported == ("AUTOFDO_CLANG",)
    assert "AUTOFDO_CLANG" not in recipe.requested
    assert recipe.function_sections
    told = make_command(with_profile(recipe, tmp_path), tmp_path / "out")
    (flags,) = (word for word in told if word.startswith("KERNSMITH_OBJECT_FLAGS="))
    beside = " ".join(AUTOFDO.flags(Told()))
    assert flags.endswith(
        f"-gmlt -fprofile-sample-use={tmp_path}/trained.afdo -ffunction-sections "
        f"-fsplit-machine-functions {beside}"
    )
    (for_all,) = (word for word in told if word.startswith("KCFLAGS="))
    assert beside not in for_all
    assert f"KERNSMITH_IDLE_OBJECTS={tmp_path}/trained.idle" in told
    newer = make_recipe(variant("none"), source)
    assert newer.backported == ()
    assert newer.requested["AUTOFDO_CLANG"] == "y"
    assert not [word for word in make_command(newer, tmp_path) if word.startswith("CFLAGS_")]


def test_where_a_profile_lies_is_no_part_of_the_key(older: Source, tmp_path: Path) -> None:
    recipe = make_recipe(variant("none"), older)
    keys = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        keys.append(with_profile(recipe, tmp_path / name).key)
    assert keys[0] == keys[1] != recipe.key
    assert replace(recipe, backported=()).key != recipe.key


def test_a_config_asks_older_trees_for_what_they_have(older: Source, source: Source) -> None:
    micro = read_fragment("micro")
    assert micro.symbols_in(source.path) == dict(micro.symbols)
    asked = micro.symbols_in(older.path)
    assert "PREEMPT_LAZY" not in asked
    assert asked["PREEMPT_VOLUNTARY"] == "y"


def test_steps_that_a_tree_is_too_old_for_are_named_with_the_reason(
    older: Source, source: Source
) -> None:
    kinds = step_kinds()
    reasons = {name: not_carried(kind, older.path, older.name) for name, kind in kinds.items()}
    assert {name for name, reason in reasons.items() if reason} == {"thinlto-dist"}
    told = (
        f"the step thinlto-dist needs CONFIG_LTO_CLANG_THIN_DIST, which {older.name} does not have"
    )
    assert reasons["thinlto-dist"] == told
    assert not any(not_carried(kind, source.path, source.name) for kind in kinds.values())
    assert refusal(variant("autofdo"), older, layouts=True) is None
    assert refusal(variant("autofdo+propeller"), older, layouts=True) is None
    assert refusal(variant("autofdo+thinlto-dist"), older, layouts=True) == told


def test_propellers_map_has_a_section_and_its_order_reaches_the_linker(
    older: Source, tmp_path: Path
) -> None:
    recipe = make_recipe(variant("autofdo+propeller"), older)
    assert recipe.backported == ("AUTOFDO_CLANG", "PROPELLER_CLANG")
    assert "-fbasic-block-address-map" in recipe.object_flags
    assert recipe.patch is not None
    assert ".llvm_bb_addr_map 0 : { *(.llvm_bb_addr_map) }" in recipe.patch.diff
    files = tuple(tmp_path / f"trained{suffix}" for suffix in PROPELLER.suffixes)
    trained = replace(recipe, profiles=(StepProfile(PROPELLER, files),))
    assert f"-fbasic-block-sections=list={files[0]}" in trained.object_flags
    (linker,) = (word for word in make_command(trained, tmp_path) if word.startswith("LD="))
    assert linker.endswith(f" --symbol-ordering-file={files[1]} --no-warn-symbol-ordering")


def test_a_linker_script_that_cannot_be_patched_takes_no_profile(
    older: Source, tmp_path: Path
) -> None:
    (tmp_path / SCRIPT).parent.mkdir(parents=True)
    own = "#if defined(CONFIG_X)\n#define TEXT_MAIN .text .text.[a-z]*\n#endif\n"
    (tmp_path / SCRIPT).write_text(own)
    (tmp_path / "Kconfig").write_text("config HZ\n")
    other = replace(older, path=tmp_path)
    told = f"{older.name} has no CONFIG_AUTOFDO_CLANG, and its {SCRIPT} is not one that kernsmith"
    assert str(refusal(variant("autofdo"), other, layouts=False)).startswith(told)
    assert refusal(variant("none"), other, layouts=False) is None


def test_the_linker_of_a_backported_thinlto_kernel_is_told_of_the_profile() -> None:
    variables = {"CLANG_AUTOFDO_PROFILE": "/a.afdo"}
    thin = {"LTO_CLANG_THIN": "y"}
    flags = lto_flags(thin, (), variables, 22, backported=("AUTOFDO_CLANG",))
    assert "--lto-sample-profile=/a.afdo" in flags
    assert lto_flags({}, (), variables, 22, backported=("AUTOFDO_CLANG",)) == ()
