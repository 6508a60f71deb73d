# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules: which are kept, in which order they are loaded, and what is said of missing ones."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.kernel.config import read_fragment
from kernsmith.kernel.modules import (
    INSTALLED,
    TEXT_IN_GROUPS,
    built_modules,
    check_modules,
    load_order,
    module_name,
    module_objects,
    place_modules,
)
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.process import run
from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.factors import LevelError

NEEDS = {"crypto/twofish_generic": "twofish_common", "crypto/twofish_common": "", "fs/fat/fat": ""}


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """What kbuild leaves behind of three modules, two of which belong together."""
    folder = tmp_path / "out"
    for stem, needs in NEEDS.items():
        path = folder / stem
        path.parent.mkdir(parents=True, exist_ok=True)
        described = f'MODULE_INFO(intree, "Y");\n\nMODULE_INFO(depends, "{needs}");\n'
        path.with_name(f"{path.name}.mod.c").write_text(described)
        path.with_name(f"{path.name}.ko").write_bytes(b"\x7fELF " + stem.encode())
        path.with_name(f"{path.name}.mod").write_text(f"{stem}.o\n")
    (folder / "fs/fat/fat.mod").write_text("fs/fat/cache.o\nfs/fat/dir.o\n")
    (folder / "modules.order").write_text("".join(f"{stem}.o\n" for stem in NEEDS))
    (folder / "modules.builtin").write_text("kernel/lib/crypto/libsha-256.ko\n")
    return folder


def test_a_module_is_loaded_behind_what_it_needs(output: Path) -> None:
    order = load_order(["twofish-generic", "fat"], output)
    assert [module.name for module in order] == ["twofish_common", "twofish_generic", "fat"]
    assert order[-1].file == Path("fs/fat/fat.ko")


def test_what_is_built_in_is_there_already(output: Path) -> None:
    assert [module.name for module in load_order(["libsha_256", "fat"], output)] == ["fat"]


def test_a_module_that_the_build_has_not_is_named_with_those_that_it_has(output: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_order(["fat", "serpent_generic"], output)
    assert str(caught.value) == (
        "the kernel has no module 'serpent_generic': its modules are fat, twofish_common, "
        "twofish_generic"
    )
    (output / "modules.order").write_text("crypto/twofish_generic.o\n")
    with pytest.raises(UserError, match="'twofish_common', which twofish_generic needs"):
        load_order(["twofish_generic"], output)
    with pytest.raises(UserError, match="'fat': it has none"):
        load_order(["fat"], output / "nothing")


def never(folder: Path) -> None:
    """Modules that are named are not installed."""
    raise AssertionError(folder)


def test_all_are_installed_as_a_layer_with_who_loads_them(output: Path, tmp_path: Path) -> None:
    def install(folder: Path) -> None:
        modules = folder / "lib/modules/7.3.4"
        (modules / "kernel").mkdir(parents=True)
        (modules / "kernel/fat.ko").write_bytes(b"stripped")
        (modules / "build").symlink_to(output)

    noted = place_modules([INSTALLED], output, tmp_path, install)
    assert {each["name"] for each in noted} == {"fat", "twofish_common", "twofish_generic"}
    assert (tmp_path / "modules/fat.ko").read_bytes() == b"\x7fELF fs/fat/fat"
    archive = (tmp_path / "modules.cpio").read_bytes()
    for name in (b"usr/lib/modules/7.3.4/kernel/fat.ko", b"usr/lib/kernsmith/modprobe"):
        assert b"modules/layer/" + name + b"\0" in archive
    assert b"stripped" in archive and b"7.3.4/build" not in archive
    assert b"\x7fELF fs/fat" not in archive, "nothing is loaded before it is wanted"


def test_the_smallest_set_is_kept_with_what_loads_it(output: Path, tmp_path: Path) -> None:
    noted = place_modules(["twofish_generic"], output, tmp_path, never)
    assert [each["name"] for each in noted] == ["twofish_common", "twofish_generic"]
    assert noted[1]["file"] == "crypto/twofish_generic.ko"
    kept = sorted(path.name for path in (tmp_path / "modules").iterdir())
    assert kept == ["twofish_common.ko", "twofish_generic.ko"]
    archive = (tmp_path / "modules.cpio").read_bytes()
    assert b"twofish_common\ntwofish_generic\n" in archive
    assert b"\x7fELF crypto/twofish_generic" in archive
    again = tmp_path / "again"
    assert place_modules(["twofish_generic"], output, again, never) == noted
    assert (again / "modules.cpio").read_bytes() == archive


def test_objects_of_modules(output: Path) -> None:
    assert set(built_modules(output)) == {"fat", "twofish_common", "twofish_generic"}
    assert module_objects(output)["fat"] == ("fs/fat/cache.o", "fs/fat/dir.o")


def test_a_config_without_modules_cannot_load_any() -> None:
    check_modules((), {})
    check_modules(("fat",), {"MODULES": "y"})
    with pytest.raises(UserError, match=r"modules fat cannot be loaded: .* CONFIG_MODULES"):
        check_modules(("fat",), {"MODULES": "n"})


@given(st.text(max_size=80))
def test_any_word_is_a_name_or_one_sentence(word: str) -> None:
    try:
        assert module_name(word).isascii()
    except UserError as error:
        assert str(error).endswith("is not the name of a module")


def test_a_fragment_is_laid_over_another_and_names_modules(tmp_path: Path) -> None:
    micro, found = read_fragment("micro"), read_fragment("modules")
    assert found.symbols["CRYPTO_SERPENT"] == "m"
    assert micro.symbols["CRYPTO_SERPENT"] == "y"
    assert set(micro.symbols) | {"MODULES"} == set(found.symbols)
    assert found.older == micro.older
    assert found.modules == (
        "algif_skcipher", "camellia_generic", "serpent_generic", "twofish_generic",
    )  # fmt: skip
    own = tmp_path / "own.config"
    own.write_text("# over modules\n# loads: loop\n# loads: ext2 fat\nCONFIG_HZ_100=y\n")
    assert read_fragment(str(own)).modules == ("loop", "ext2", "fat")
    own.write_text("# over modules\nCONFIG_HZ_100=y\n")
    assert read_fragment(str(own)).modules == found.modules


def variants(*levels: str, config: str = "modules") -> tuple[Variant, ...]:
    factors = (("modules", levels),)
    return plan_variants(Study(source="debian:7.3", config=config, factors=factors), ())


def test_modules_are_part_of_a_kernels_key_and_nothing_else_changes(source: Source) -> None:
    of_config, none, one = variants("config", "none", "serpent-generic")
    recipes = [make_recipe(variant, source) for variant in (of_config, none, one)]
    assert [len(recipe.modules) for recipe in recipes] == [4, 0, 1]
    assert recipes[2].modules == ("serpent_generic",)
    assert len({recipe.key for recipe in recipes}) == 3
    assert [recipe.targets[-1] for recipe in recipes] == ["modules", "bzImage", "modules"]
    assert "modules" not in of_config.identity()
    assert one.identity()["modules"] == ("serpent-generic",)
    assert recipes[1].key == make_recipe(replace(of_config, modules=()), source).key


@pytest.mark.parametrize("level", ["", "a+", "../a", "a b", "x" * 56, "config+loop"])
def test_a_level_that_names_no_modules_is_told(level: str) -> None:
    with pytest.raises(LevelError, match="factor 'modules' has no level"):
        variants("none", level)


CODE = """
__attribute__((section(".text.plain"))) int plain(int x) { return x + 1; }
__attribute__((section(".text.hot.first"))) int first(int x) { return x + 2; }
__attribute__((section(".text.unlikely.seldom"))) int seldom(int x) { return x + 3; }
__attribute__((section(".text.split.first"))) int split(int x) { return x + 4; }
__attribute__((section(".text.hot.second"))) int second(int x) { return x + 5; }
"""


def test_hot_functions_of_a_module_lie_together(source: Source, tmp_path: Path) -> None:
    """Before the tree's own script, as kbuild links modules (scripts/Makefile.modfinal)."""
    clang = find_toolchain()
    (tmp_path / "code.c").write_text(CODE)
    (tmp_path / "groups.lds").write_text(TEXT_IN_GROUPS)
    tree = (source.path / "scripts/module.lds.S").read_text()
    (tmp_path / "tree.lds").write_text(re.sub(r"^#.*|^\s*MOD_\w+\(\)", "", tree, flags=re.M))
    words = [clang.compiler.program, "-O2", "-c", "-o", tmp_path / "code.o", tmp_path / "code.c"]
    run(words, timeout=60)

    def placed(*scripts: str) -> list[str]:
        words = [word for name in scripts for word in ("-T", tmp_path / name)]
        linked = tmp_path / "code.ko"
        run([clang.tool("ld.lld"), "-r", *words, "-o", linked, tmp_path / "code.o"], timeout=60)
        names = run([clang.tool("llvm-nm"), "--numeric-sort", linked], timeout=60).output
        return [line.split()[-1] for line in names.splitlines()]

    assert placed("tree.lds") == ["plain", "first", "seldom", "split", "second"]
    assert placed("groups.lds", "tree.lds") == ["seldom", "split", "first", "second", "plain"]
