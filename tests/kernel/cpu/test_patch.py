# SPDX-License-Identifier: GPL-2.0-or-later
"""The patch of a small tree that is written like a kernel, and of trees that are not."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from taken import taken_by

from kernsmith.errors import UserError
from kernsmith.kernel.cpu.catalogue import FAMILIES, read_catalogue
from kernsmith.kernel.cpu.kconfig import symbol_of
from kernsmith.kernel.cpu.patch import KCONFIG, MAKEFILE, make_patch

KCONFIG_CPU = """\
choice
	prompt "Processor family"
	default GENERIC_CPU

config GENERIC_CPU
	bool "Generic-x86-64"

endchoice

config X86_GENERIC
	bool "Generic x86 support"
"""
ARCH_MAKEFILE = """\
ifeq ($(CONFIG_X86_32),y)
        BITS := 32
else
        BITS := 64

        KBUILD_RUSTFLAGS += $(rustflags-y)

        KBUILD_CFLAGS += -mno-red-zone
endif
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "linux"
    (tree / "arch/x86").mkdir(parents=True)
    (tree / "init").mkdir()
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
    (tree / "Kconfig").write_text("")
    (tree / "init/Kconfig").write_text("config RUSTC_LLVM_VERSION\n")
    (tree / KCONFIG).write_text(KCONFIG_CPU)
    (tree / MAKEFILE).write_text(ARCH_MAKEFILE)
    return tree


def _apply(tree: Path, text: str, *options: str) -> None:
    command = ["patch", "-p1", "--silent", *options]
    subprocess.run(command, cwd=tree, input=text, text=True, check=True)


def _content(tree: Path) -> dict[str, str]:
    return {str(path): path.read_text() for path in tree.rglob("*") if path.is_file()}


def test_making_a_patch_changes_nothing_and_taking_it_out_neither(tree: Path) -> None:
    before = _content(tree)
    made = make_patch(tree)
    assert _content(tree) == before
    _apply(tree, made.text)
    assert _content(tree) != before
    _apply(tree, made.text, "--reverse")
    assert _content(tree) == before


def test_a_patched_tree_is_told_so(tree: Path) -> None:
    made = make_patch(tree)
    _apply(tree, made.text)
    again = make_patch(tree)
    assert again.text == ""
    assert again.options == made.options


def test_every_word_but_the_kernels_own_can_be_chosen(tree: Path) -> None:
    made = make_patch(tree)
    words = {target.march for target in read_catalogue().targets()} - {"x86-64"} | {"native"}
    assert {option.march for option in made.options} == words
    for option in made.options:
        assert f"+config {option.symbol}\n" in made.text
        assert f'+	default "{option.march}" if {option.symbol}\n' in made.text


def test_a_tree_with_native_of_its_own_gets_none(tree: Path) -> None:
    text = KCONFIG_CPU.replace("config X86_GENERIC", "config X86_NATIVE_CPU\n\nconfig X86_GENERIC")
    (tree / KCONFIG).write_text(text)
    made = make_patch(tree)
    assert "native" not in {option.march for option in made.options}
    assert "depends on X86_64 && !UML && GENERIC_CPU && !X86_NATIVE_CPU" in made.text


def test_a_tree_without_rust_gets_nothing_for_it(tree: Path) -> None:
    (tree / MAKEFILE).write_text(ARCH_MAKEFILE.replace("KBUILD_RUSTFLAGS", "OTHER"))
    assert "RUST" not in make_patch(tree).text


def test_compilers_of_a_choice_are_those_of_the_catalogue(tree: Path) -> None:
    """Kconfig's condition and the catalogue agree on every release there was, and some more."""
    conditions = {option.symbol: option.depends for option in make_patch(tree).options}
    for target in read_catalogue().targets():
        if target.march == "x86-64":
            continue
        condition = conditions[symbol_of(target.march)]
        for family in FAMILIES:
            for major in range(9, 30):
                for minor in range(10):
                    chosen = _true(condition, family, major * 10000 + minor * 100)
                    assert chosen == taken_by(target, family, (major, minor)), (target.march, major)


def _true(condition: str, family: str, version: int) -> bool:
    values = {f"CC_IS_{name.upper()}": str(name == family) for name in FAMILIES}
    values |= {f"{name.upper()}_VERSION": str(version * (name == family)) for name in FAMILIES}
    text = re.sub(r"[A-Z_]{3,}", lambda match: values[match[0]], condition)
    assert re.fullmatch(r"[\d<>=&|() TrueFals]+", text)
    return bool(eval(text.replace("&&", "and").replace("||", "or")))


@pytest.mark.parametrize("quote", ["", '"'], ids=["as in auto.conf since 5.18", "as before"])
def test_what_the_makefile_makes_of_a_choice(tree: Path, quote: str) -> None:
    """Tuning belongs to a processor, not to a level; rustc gets a word of its own."""
    _apply(tree, make_patch(tree).text)
    level = _flags(tree, f"CONFIG_X86_MARCH={quote}x86-64-v3{quote}")
    assert level == ["-march=x86-64-v3", "-mtune=generic", "-mno-red-zone", "rust:"]
    both = [f"CONFIG_X86_MARCH{name}={quote}znver3{quote}" for name in ("", "_RUST")]
    assert _flags(tree, *both) == [
        "-march=znver3", "-mtune=znver3", "-mno-red-zone",
        "rust:", "-Ctarget-cpu=znver3", "-Ztune-cpu=znver3",
    ]  # fmt: skip
    assert _flags(tree) == ["-mno-red-zone", "rust:"]


def _flags(tree: Path, *variables: str) -> list[str]:
    show = "show: ; @echo '$(KBUILD_CFLAGS) rust: $(KBUILD_RUSTFLAGS)'"
    command = ["make", "--silent", f"--file={MAKEFILE}", f"--eval={show}", *variables, "show"]
    clean = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(command, cwd=tree, env=clean, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (KCONFIG, "config X86_GENERIC", "config X86_OTHER", "not written as in the kernels"),
        (MAKEFILE, "-mno-red-zone", "-mred-zone", "not written as in the kernels"),
        (MAKEFILE, "BITS := 64", "BITS := 128", "not written as in the kernels"),
        (KCONFIG, "endchoice", "config MZEN3\nendchoice", "from another patch (config MZEN3)"),
    ],
)
def test_an_unknown_structure_is_one_sentence(
    tree: Path, name: str, old: str, new: str, told: str
) -> None:
    (tree / name).write_text((tree / name).read_text().replace(old, new))
    with pytest.raises(UserError) as caught:
        make_patch(tree)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_choices_of_another_release_are_not_patched_over(tree: Path) -> None:
    _apply(tree, make_patch(tree).text)
    text = (tree / KCONFIG).read_text()
    (tree / KCONFIG).write_text(text.replace("Zen 3 (znver3)", "Zen III (znver3)"))
    with pytest.raises(UserError, match="choices of another release of kernsmith"):
        make_patch(tree)


@pytest.mark.parametrize("name", [KCONFIG, MAKEFILE, "init/Kconfig"])
def test_a_tree_without_x86(tree: Path, name: str) -> None:
    (tree / name).unlink()
    with pytest.raises(UserError, match=f"has no {name}: there is no x86 kernel to patch"):
        make_patch(tree)


def test_a_folder_that_is_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a kernel source"):
        make_patch(tmp_path)
