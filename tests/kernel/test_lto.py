# SPDX-License-Identifier: GPL-2.0-or-later
"""What LTO makes of profiles, by the real compiler and linker on two small files."""

from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.kernel.lto import lto_flags
from kernsmith.kernel.toolchain import Toolchain, find_toolchain
from kernsmith.study.steps import Told, step_kinds

# A local function of the same name in each of two files, and one that calls it.
SOURCE = """\
int g(int);
static int both(int x)
{
  int s = 0;
  for (int i = 0; i < x; i++) {
    if (g(i) == 77) {
      s += g(1); s *= g(2); s -= g(%d);
    } else
      s += i;
  }
  return s;
}
int caller%d(int x) { return both(x) + both(x + 1); }
int (*pointer%d)(int) = both;
"""
PROFILE = "both:100000:10000\n 2: 10000\n 3: 90000\n 4: 90000\n 7: 90000\n 9: 10000\n"
# scripts/Makefile.autofdo, with a profile and without CONFIG_DEBUG_INFO.
AUTOFDO = (
    "-fdebug-info-for-profiling", "-gmlt", "-mllvm", "-enable-fs-discriminator=true", "-mllvm",
    "-improved-fs-discriminator=true",
)  # fmt: skip
USE = ("-fprofile-sample-use=profile", "-ffunction-sections", "-fsplit-machine-functions")
CODE = step_kinds()["autofdo"].flags(Told(True))
SYMBOLS = {"AUTOFDO_CLANG": "y", "PROPELLER_CLANG": "y", "LTO_CLANG_FULL": "y"}
MAP = "-fbasic-block-address-map"


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        Path(f"file{number}.c").write_text(SOURCE % (number, number, number))
    Path("profile").write_text(PROFILE)
    return find_toolchain()


def compiled(toolchain: Toolchain, number: int, lto: str, *flags: str) -> bytes:
    name = f"file{number}"
    words = ["-O2", "-fno-lto", lto, *AUTOFDO, *flags, "-c", "-o", f"{name}.o", f"{name}.c"]
    process.run([toolchain.compiler.program, *words], timeout=60)
    return Path(f"{name}.o").read_bytes()


def linked(toolchain: Toolchain, *flags: str) -> tuple[set[str], list[str]]:
    """The sections of both files as one, and the names of its symbols."""
    command = [toolchain.linker.program, "-m", "elf_x86_64", *flags]
    process.run([*command, "-r", "-o", "all.o", "file1.o", "file2.o"], timeout=60)
    readelf = toolchain.tool("llvm-readelf")
    shown = process.run([readelf, "--sections", "--wide", "all.o"], timeout=60).output
    sections = {word for word in shown.split() if word.startswith((".text", ".llvm"))}
    symbols = process.run([toolchain.tool("llvm-nm"), "--format=just-symbols", "all.o"], timeout=60)
    return sections, symbols.output.split()


def full_lto(toolchain: Toolchain, **variables: str) -> tuple[str, ...]:
    return lto_flags(SYMBOLS, CODE, variables, *toolchain.linker.release[:1])


@pytest.mark.parametrize("lto", ["-flto", "-flto=thin"])
def test_bitcode_has_no_places_of_blocks(toolchain: Toolchain, lto: str) -> None:
    """So kbuild's compiler may leave Propeller's profile out where bitcode is made."""
    Path("clusters").write_text("v1\nm file1.c\nf both\nc 0\n")
    listed = ("-fbasic-block-sections=list=clusters", "-ffunction-sections")
    plain = compiled(toolchain, 1, lto, *USE, *CODE, MAP)
    assert compiled(toolchain, 1, lto, *USE, *CODE, *listed) == plain


def test_full_lto_has_a_map_of_blocks_and_hot_functions_apart(toolchain: Toolchain) -> None:
    for number in (1, 2):
        compiled(toolchain, number, "-flto", *USE, *CODE)
    sections, _ = linked(toolchain, *full_lto(toolchain, CLANG_AUTOFDO_PROFILE="profile"))
    assert {".llvm_bb_addr_map", ".text.hot.both", ".text.unlikely.caller1"} <= sections


def test_full_lto_takes_propellers_profile_for_each_of_two_functions_of_one_name(
    toolchain: Toolchain,
) -> None:
    """The linker numbers the second one."""
    for number in (1, 2):
        compiled(toolchain, number, "-flto")
    _, symbols = linked(toolchain, *full_lto(toolchain))
    both = [name for name in symbols if name.startswith("both")]
    assert len(both) == 2
    for files, parted in (("12", 2), ("1", 1), ("", 0)):
        lines = [f"m file{n}.c\nf {name}\nc 0\n" for n, name in zip(files, both, strict=False)]
        Path("p_cc_profile.txt").write_text("".join(["v1\n", *lines]))
        _, symbols = linked(toolchain, *full_lto(toolchain, CLANG_PROPELLER_PROFILE_PREFIX="p"))
        assert sum(name.endswith(".cold") for name in symbols) == parted


def test_thinlto_tells_functions_of_one_name_apart_by_their_files(toolchain: Toolchain) -> None:
    for number in (1, 2):
        compiled(toolchain, number, "-flto=thin", *USE, *CODE)
    for files, parted in (((1, 2), 2), ((2,), 1), ((3,), 0)):
        clusters = "".join(f"m file{number}.c\nf both\nc 0\n" for number in files)
        Path("clusters").write_text(f"v1\n{clusters}")
        _, symbols = linked(toolchain, "--lto-basic-block-sections=clusters")
        assert sum(name.endswith(".cold") for name in symbols) == parted


@pytest.mark.parametrize("lto", ["-flto", "-flto=thin"])
def test_an_object_without_the_profile_gets_none_when_it_is_linked(
    toolchain: Toolchain, lto: str
) -> None:
    compiled(toolchain, 1, lto, "-ffunction-sections")
    compiled(toolchain, 2, lto, *USE, *CODE)
    told = ("--lto-sample-profile=profile", "-mllvm", "-split-machine-functions")
    sections, _ = linked(toolchain, *told)
    assert {".text.caller1", ".text.unlikely.caller2"} <= sections
    assert ".text.both" in sections
    assert any(name.startswith(".text.hot.both") for name in sections)
